# rustc 1.95.0 (59807616e 2026-04-14)
 pushq %r15
 pushq %r14
 pushq %rbx
 movq _ZN5calls6events7CONTROLE@GOTPCREL(%rip), %rax
 movq 8(%rax), %rax
 testb $1, %al
 jne L2
 xorl %ebx, %ebx
 xorl %r14d, %r14d
L0:
 callq *%rdi
 testq %r14, %r14
 jne L3
L1:
 incq %rax
 popq %rbx
 popq %r14
 popq %r15
 retq
L2:
 leaq _ZN6traced7calling4SITEE(%rip), %rax
 movq %rdi, %rbx
 movq %rax, %rdi
 callq *_ZN5calls5guard5beginE@GOTPCREL(%rip)
 movq %rbx, %rdi
 movq %rax, %r14
 movq %rdx, %rbx
 jmp L0
L3:
 leaq _ZN6traced7calling4SITEE(%rip), %rdi
 movq %r14, %rsi
 movq %rbx, %rdx
 movq %rax, %rbx
 callq *_ZN5calls5guard3endE@GOTPCREL(%rip)
 movq %rbx, %rax
 jmp L1
L4:
 movq %rax, %r15
 testq %r14, %r14
 jne L6
L5:
 movq %r15, %rdi
 callq _Unwind_Resume@PLT
L6:
 leaq _ZN6traced7calling4SITEE(%rip), %rdi
 movq %r14, %rsi
 movq %rbx, %rdx
 callq *_ZN5calls5guard3endE@GOTPCREL(%rip)
 jmp L5
L7:
 callq *_RNvNtCsgEmfK2I1SDS_4core9panicking16panic_in_cleanup@GOTPCREL(%rip)

# rustc 1.95.0 (59807616e 2026-04-14)
 pushq %rbx
 movq %rdi, %rax
 movq _ZN5calls6events7CONTROLE@GOTPCREL(%rip), %rcx
 movq 8(%rcx), %rcx
 testb $1, %cl
 jne L1
L0:
 incq %rax
 popq %rbx
 retq
L1:
 leaq _ZN6traced5known4SITEE(%rip), %rdi
 movq %rax, %rbx
 callq *_ZN5calls5guard5beginE@GOTPCREL(%rip)
 movq %rax, %rsi
 movq %rbx, %rax
 testq %rsi, %rsi
 je L0
 leaq _ZN6traced5known4SITEE(%rip), %rdi
 callq *_ZN5calls5guard3endE@GOTPCREL(%rip)
 movq %rbx, %rax
 incq %rax
 popq %rbx
 retq

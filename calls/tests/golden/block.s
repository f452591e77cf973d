# rustc 1.95.0 (59807616e 2026-04-14)
 pushq %r14
 pushq %rbx
 subq $72, %rsp
 movq %rdi, %rbx
 movq _ZN5calls5table4WORDE@GOTPCREL(%rip), %rax
 movq (%rax), %rax
 testq %rax, %rax
 jne L3
 movq $0, (%rsp)
L0:
 callq *%rbx
 movq %rax, %r14
 movq (%rsp), %rcx
 testq %rcx, %rcx
 jne L4
L1:
 callq *%rbx
 testb $2, (%rsp)
 jne L5
L2:
 addq %r14, %rax
 addq $72, %rsp
 popq %rbx
 popq %r14
 retq
L3:
 leaq _ZN6traced5block12__STATEMENTSE(%rip), %rsi
 movq %rsp, %rdi
 xorl %edx, %edx
 callq *_ZN5calls5block11begin_blockE@GOTPCREL(%rip)
 jmp L0
L4:
 testb $2, %cl
 jne L7
 movq _ZN5calls5table5LOCAL29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$23__RUST_STD_INTERNAL_VALE@GOTTPOFF(%rip), %rax
 movq %fs:(%rax), %rax
 movq (%rax), %rdx
 cmpq %rcx, %rdx
 jne L7
 movzbl 8(%rax), %ecx
 testb %cl, %cl
 jne L7
 movb $1, 8(%rax)
 movq 8(%rsp), %rcx
 movq 24(%rcx), %rcx
 incq %rcx
 cmpq 96(%rax), %rcx
 jae L6
 movq 88(%rax), %rdx
 shlq $7, %rcx
 movq 8(%rdx,%rcx), %rsi
 incq %rsi
 movq %rsi, 8(%rdx,%rcx)
 movb $0, 8(%rax)
 cmpq $5, %rsi
 jae L1
 callq *_ZN5calls5table6output11count_againE@GOTPCREL(%rip)
 jmp L1
L5:
 movq %rsp, %rdi
 movq %rax, %rbx
 callq *_ZN5calls5block9end_blockE@GOTPCREL(%rip)
 movq %rbx, %rax
 jmp L2
L6:
 movb $0, 8(%rax)
L7:
 movl $1, 68(%rsp)
 movq %rsp, %rdi
 callq *_ZN5calls5block14pass_otherwiseE@GOTPCREL(%rip)
 jmp L1
L8:
 jmp L10
L9:
L10:
 movq %rax, %rbx
 testb $2, (%rsp)
 jne L12
L11:
 movq %rbx, %rdi
 callq _Unwind_Resume@PLT
L12:
 movq %rsp, %rdi
 callq *_ZN5calls5block9end_blockE@GOTPCREL(%rip)
 jmp L11
L13:
 callq *_RNvNtCsgEmfK2I1SDS_4core9panicking16panic_in_cleanup@GOTPCREL(%rip)

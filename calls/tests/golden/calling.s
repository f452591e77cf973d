# rustc 1.95.0 (59807616e 2026-04-14)
 movq _ZN5calls6events7CONTROLE@GOTPCREL(%rip), %rax
 movq 8(%rax), %rax
 testb $1, %al
 jne _ZN5calls4body5apartE
 pushq %rax
 callq *%rdi
 incq %rax
 popq %rcx
 retq

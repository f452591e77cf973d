# rustc 1.95.0 (59807616e 2026-04-14)
 pushq %rbx
 movl _ZN10annotation4heap7CONTROLE+24(%rip), %esi
 addq $5, %rsi
 movq _ZN9telemetry5rings6thread5LOCAL29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$23__RUST_STD_INTERNAL_VALE@GOTTPOFF(%rip), %r8
 movl %esi, %r9d
 andl $511, %r9d
 movl %r9d, %eax
 movq %fs:(%r8,%rax,8), %rcx
 testq %rcx, %rcx
 je L1
 movq $0, %fs:(%r8,%r9,8)
 rdtsc
 movq (%rcx), %r10
 movq 24(%r10), %r11
 movl %r11d, %ebx
 cmpq $160, %rbx
 jb L0
 shlq $32, %rdx
 orq %rdx, %rax
 movq 8(%rcx), %rdx
 subq %rdx, %rax
 movq %rax, %rdx
 shrq $32, %rdx
 jne L0
 cmpl $1, 16(%rcx)
 jne L0
 shlq $32, %rax
 orq $2097153, %rax
 movq %rax, -32(%r10,%rbx)
 movq (%rdi), %rax
 movq %rax, -24(%r10,%rbx)
 movq 8(%rdi), %rax
 movq %rax, -16(%r10,%rbx)
 movq 16(%rdi), %rax
 movq %rax, -8(%r10,%rbx)
 movl $4294967264, %eax
 addq %rax, %r11
 movq %r11, 24(%r10)
 movq %rcx, %fs:(%r8,%r9,8)
 popq %rbx
 retq
L0:
 movq %rcx, %rdx
 popq %rbx
 jmp _ZN9telemetry6record9fast_path22record_into_taken_ringE
L1:
 popq %rbx
 jmp _ZN9telemetry6record9fast_path19record_without_ringE

# rustc 1.95.0 (59807616e 2026-04-14)
 movl _ZN10annotation4heap7CONTROLE+24(%rip), %esi
 movq _ZN9telemetry5rings6thread5LOCAL29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$23__RUST_STD_INTERNAL_VALE@GOTTPOFF(%rip), %r9
 movq %fs:(%r9), %r8
 andl $511, %esi
 movq 40(%r8,%rsi,8), %rcx
 testq %rcx, %rcx
 je _ZN9telemetry6record9fast_path19record_without_ringE
 movq $0, 40(%r8,%rsi,8)
 rdtsc
 movl %eax, %fs:8(%r9)
 movl %edx, %fs:12(%r9)
 subl (%rcx), %eax
 sbbl 4(%rcx), %edx
 movq 16(%rcx), %r9
 movq 24(%r9), %r10
 movl %r10d, %r11d
 cmpq $160, %r11
 jb L0
 testl %edx, %edx
 jne L0
 shlq $32, %rax
 orq $2097153, %rax
 movq %rax, -32(%r9,%r11)
 movq (%rdi), %rax
 movq %rax, -24(%r9,%r11)
 movq 8(%rdi), %rax
 movq %rax, -16(%r9,%r11)
 movq 16(%rdi), %rax
 movq %rax, -8(%r9,%r11)
 movl $4294967264, %eax
 addq %rax, %r10
 movq %r10, 24(%r9)
 movq %rcx, 40(%r8,%rsi,8)
 retq
L0:
 leaq (%r8,%rsi,8), %rsi
 addq $40, %rsi
 movq %rcx, %rdx
 jmp _ZN9telemetry6record9fast_path22record_into_taken_ringE

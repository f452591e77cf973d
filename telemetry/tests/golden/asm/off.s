# rustc 1.95.0 (59807616e 2026-04-14)
 movq _ZN10annotation4heap7CONTROLE+8(%rip), %rax
 testb $32, %al
 je L0
 subq $24, %rsp
 movq %rdi, (%rsp)
 movq %rsi, 8(%rsp)
 movq %rdx, 16(%rsp)
 movq %rsp, %rdi
 callq _ZN9telemetry6record9fast_path6recordE
 addq $24, %rsp
L0:
 retq

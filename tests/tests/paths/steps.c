#include <stdio.h>
#include <stdlib.h>
static long calls;
static __attribute__((noinline)) long step(long n) {
    calls++;
    if (n % 3 == 0) return n / 3;
    if (n % 2 == 0) return n / 2;
    return 3 * n + 1;
}
int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 27;
    while (n > 1) n = step(n);
    printf("%ld\n", calls);
    return 0;
}

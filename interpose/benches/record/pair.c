// Calls a function that does nothing, and prints the least time of a call in ns, of several rounds.
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { COUNT = 1000000, ROUND_COUNT = 7 };

__attribute__((noinline)) static void called(uint64_t a, uint64_t b, uint64_t c) {
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c));
}

__attribute__((no_instrument_function)) int main(void) {
    double least = 1e9;
    for (int round = 0; round < ROUND_COUNT; round++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (uint64_t i = 0; i < COUNT; i++)
            called(i, i, i);
        clock_gettime(CLOCK_MONOTONIC, &to);
        double ns = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
        if (ns / COUNT < least)
            least = ns / COUNT;
    }
    printf("%f\n", least);
    return 0;
}

// Jumps to labels through pointers of objects: none is a tail call. Each function counts its calls.
#include <stdio.h>
#include <stdlib.h>

struct op { void *label; int by; };
static void *labels[2], *back[5];
static int of_run, of_deep, of_attempt;

// An interpreter: each instruction has the address of its code.
__attribute__((noinline)) static int on_run(struct op *at, int count) {
    int sum = 0;
    of_run++;
    if (!at) {
        labels[0] = &&add;
        labels[1] = &&times;
        return 0;
    }
again:
    if (--count < 0) return sum;
    goto *at->label;
add:
    sum += at->by;
    at++;
    goto again;
times:
    sum *= at->by;
    at++;
    goto again;
}

__attribute__((noinline)) static void on_deep(int k) {
    of_deep++;
    if (k > 2) __builtin_longjmp(back, 1);
    on_deep(k + 1);
    __asm__ volatile("");
}

__attribute__((noinline)) static int on_attempt(int k) {
    of_attempt++;
    if (__builtin_setjmp(back)) return 1;
    on_deep(k);
    return 0;
}

int main(int count, char **words) {
    struct op all[8];
    int sum = on_run(0, 0);
    for (int i = 0; i < 8; i++) all[i] = (struct op) { labels[i & 1], i + count };
    for (int i = 0; i < 3; i++) sum += on_attempt(count + i) + on_run(all, i);
    printf("on_run %d\non_deep %d\non_attempt %d\n", of_run, of_deep, of_attempt);
    return sum == 0;
}

// Loops, recursion, a switch, pointers to functions, a library that calls back, tail calls, exit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    if (x < y) return -1;
    return x > y;
}
static int twice(int x) { return x & 1 ? 3 * x + 1 : x / 2; }
static int thrice(int x) { return x > 9 ? x - 3 : x + 7; }
int (*volatile table[])(int) = { twice, thrice };
__attribute__((noinline)) int choose(int k, int v) {
    switch (k) {
    case 0: return v + 1;
    case 1: return v * 2;
    case 2: return v - 3;
    case 3: return v ^ 5;
    case 4: if (v > 3) return 1; return 2;
    case 5: return 9;
    case 6: return v + v;
    default: return 0;
    }
}
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) int odd(int n);
__attribute__((noinline)) int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__attribute__((noinline)) int odd(int n) { return n == 0 ? 0 : even(n - 1); }

int main(int count, char **words) {
    int all[] = { 5, 3, 8, 1, 9, 2 };
    qsort(all, 6, sizeof *all, compare);
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        sum = table[i % 2](sum + all[i % 6]);
        sum = choose(i % 9, sum);
    }
    char text[300];
    memset(text, count, sizeof text);
    printf("%d %d %d\n", sum, fib(6), even(7));
    if (count > 1 && strcmp(words[1], "leave") == 0) exit(3);
    return compare(all, all + 1) < 0;
}

/* A program whose stacks are hard to follow, and that says what they are: `check`, of each
   allocation a line, SIZE and the return addresses that the C library's backtrace finds; `time`,
   the processor time of many allocations far down, in microseconds.

   Design: `.rep.stack` in design/replay.md. */
#define _GNU_SOURCE
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N(x) ((unsigned long long)(uintptr_t)(x))
#define NOT_INLINE __attribute__((noinline, noclone))

static __thread uint32_t state;
static __thread size_t size;
static __thread jmp_buf far_out;
static int is_silent;

static uint32_t next(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

/* The allocation, and what the stack is. */
static NOT_INLINE void leaf(void)
{
    void *frames[200];
    free(malloc(size));
    if (is_silent)
        return;
    int count = backtrace(frames, 200);
    char line[200 * 20];
    int at = snprintf(line, sizeof line, "%zu", size++);
    for (int index = 0; index < count; index++)
        at += snprintf(line + at, sizeof line - at, " %llx", N(frames[index]));
    strcpy(line + at, "\n");
    fputs(line, stdout);
}

static void walk(int depth);

/* Two whose frames are of one size: what they call is where it was, whichever of them called. */
static NOT_INLINE int same(int depth) { walk(depth); return 1; }
static NOT_INLINE int twin(int depth) { walk(depth); return 2; }

/* A frame of any size, found by the frame pointer; what is in it stays from before. */
static NOT_INLINE int any(int depth)
{
    volatile char *room = alloca(next(900) + 1);
    *room = 1;
    walk(depth);
    return *room;
}

static NOT_INLINE int by_pointer(const void *a, const void *b)
{
    if (next(3) == 0)
        leaf();
    return *(const int *)a - *(const int *)b;
}

/* By way of the C library. */
static NOT_INLINE int sorted(int depth)
{
    int numbers[5] = {5, 3, (int)next(9), 1, 2};
    qsort(numbers, 5, sizeof *numbers, by_pointer);
    walk(depth);
    return numbers[0];
}

static void on_signal(int number) { (void)number; leaf(); }

static NOT_INLINE int interrupted(int depth)
{
    raise(SIGUSR1);
    walk(depth);
    return 3;
}

static NOT_INLINE int jumped(int depth)
{
    if (depth < 20 && next(4) == 0)
        longjmp(far_out, 1);
    walk(depth);
    return 4;
}

static int (*const ways[])(int) = {same, twin, same, twin, any, sorted, jumped, interrupted};

static NOT_INLINE void walk(int depth)
{
    uint32_t count = next(3);
    if (next(6) == 0)
        leaf();
    for (uint32_t index = 0; depth > 0 && index <= count; index++) {
        /* Signals seldom. */
        uint32_t way = next(40) ? next(7) : 7;
        (void)!ways[way](depth - (int)next(3) - 1);
        if (depth > 14)
            break;
    }
}

static void *thread(void *seed)
{
    state = (uint32_t)(uintptr_t)seed;
    size = (uintptr_t)seed << 20;
    for (int round = 0; round < 40; round++)
        if (setjmp(far_out) == 0)
            walk(round % 8 == 0 ? 90 : 24);
    return NULL;
}

static NOT_INLINE int down(int depth)
{
    if (depth == 0)
        for (int index = 0; index < 40000; index++)
            leaf();
    else
        down(depth - 1);
    return depth + 1;
}

int main(int count, char **words)
{
    (void)count;
    void *frame[1];
    backtrace(frame, 1);
    signal(SIGUSR1, on_signal);
    if (strcmp(words[1], "time") == 0) {
        is_silent = 1;
        down(28);
        printf("%ld\n", (long)(clock() * 1000000.0 / CLOCKS_PER_SEC));
        return 0;
    }
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    pthread_t other;
    thread((void *)1);
    pthread_create(&other, NULL, thread, (void *)2);
    pthread_join(other, NULL);
    return 0;
}

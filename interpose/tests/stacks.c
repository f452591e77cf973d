/* A program whose stacks are hard to walk. `check` prints a line for each allocation: SIZE and the
   return addresses that the C library's backtrace finds. `time` prints the processor time of many
   allocations at a great depth, in microseconds; `branch` does so for allocations that nearly all
   have different stacks. As C++ it throws exceptions, too. `reuse LIBRARIES` checks functions that
   follow each other at one address, and `fork` checks a forked child.

   Design: `.rep.stack` in design/replay.md. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define N(x) ((unsigned long long)(uintptr_t)(x))
#define NOT_INLINE __attribute__((noinline, noclone))

static __thread uint32_t state;
static __thread size_t size;
static __thread jmp_buf far_out;
static __thread ucontext_t outside, inside;
static __thread char inside_stack[1 << 16], signal_stack[1 << 16];
static int is_silent;

static uint32_t next(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

/* Allocates, and prints the stack. */
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

/* Two functions with frames of one size: a callee's frame is at the same place for both. */
static NOT_INLINE int same(int depth) { walk(depth); return 1; }
static NOT_INLINE int twin(int depth) { walk(depth); return 2; }

/* A frame of any size, found by the frame pointer; it keeps what earlier frames left in it. */
static NOT_INLINE int any(int depth)
{
    volatile char *room = (volatile char *)alloca(next(900) + 1);
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

/* Calls through the C library. */
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
    /* The handler runs on this stack, or on the one for signals. */
    raise(next(2) ? SIGUSR1 : SIGUSR2);
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

/* Runs on a stack of its own, which it leaves in the middle; other frames resume it. */
static NOT_INLINE int in_context(int depth)
{
    if (depth > 0)
        return in_context(depth - 1) + (int)next(2);
    leaf();
    swapcontext(&inside, &outside);
    leaf();
    return 5;
}

static void run_inside(void)
{
    for (;;)
        in_context((int)next(9));
}

static NOT_INLINE int switched(int depth)
{
    swapcontext(&outside, &inside);
    walk(depth);
    return 6;
}

static NOT_INLINE int thrown(int depth)
{
#ifdef __cplusplus
    try {
        walk(depth);
        if (next(3) == 0)
            throw (int)next(2);
    } catch (int number) {
        leaf();
        if (number != 0 && depth < 20)
            throw;
    }
#else
    walk(depth);
#endif
    leaf();
    return 7;
}

/* More frames than the library records. */
static NOT_INLINE int far_down(int depth)
{
    if (depth % 10000 == 0)
        leaf();
    volatile int rest = depth == 0 ? 0 : far_down(depth - 1);
    return rest;
}

static int (*const ways[])(int) = {
    same, twin, same, twin, any, sorted, jumped, switched, thrown, interrupted,
};

static NOT_INLINE void walk(int depth)
{
    uint32_t count = next(3);
    if (next(6) == 0)
        leaf();
    for (uint32_t index = 0; depth > 0 && index <= count; index++) {
        /* Signals are rare. */
        uint32_t way = next(40) ? next(9) : 9;
        (void)!ways[way](depth - (int)next(3) - 1);
        if (depth > 14)
            break;
    }
}

static void *thread(void *seed)
{
    state = (uint32_t)(uintptr_t)seed;
    size = (uintptr_t)seed << 20;
    stack_t other = {};
    other.ss_sp = signal_stack;
    other.ss_size = sizeof signal_stack;
    sigaltstack(&other, NULL);
    getcontext(&inside);
    inside.uc_stack.ss_sp = inside_stack;
    inside.uc_stack.ss_size = sizeof inside_stack;
    makecontext(&inside, run_inside, 0);
    for (int round = 0; round < 40; round++)
        if (setjmp(far_out) == 0) {
#ifdef __cplusplus
            try {
                walk(round % 8 == 0 ? 90 : 24);
            } catch (int) {
                leaf();
            }
#else
            walk(round % 8 == 0 ? 90 : 24);
#endif
        }
    return NULL;
}

/* Calls itself twice: thousands of paths lead to the end. */
static NOT_INLINE int branch(int depth)
{
    leaf();
    return depth == 0 ? 1 : branch(depth - 1) + 2 * branch(depth - 1);
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

typedef void enter_t(void (*)(void));

/* Calls the function `enter` of each library: one is closed before the next is opened. */
static NOT_INLINE void in_libraries(char **paths)
{
    for (void *first = NULL; *paths; paths++) {
        void *library = dlopen(*paths, RTLD_NOW), *enter = dlsym(library, "enter");
        first = first ? first : enter;
        if (enter != first)
            abort();
        ((enter_t *)enter)(leaf);
        dlclose(library);
    }
}

#ifdef __cplusplus
extern "C" {
#endif
void __register_frame(void *);
void __deregister_frame(void *);
#ifdef __cplusplus
}
#endif

/* Calls functions of other frames that are written to one address, as a JIT compiler does. */
static NOT_INLINE void written_over(void)
{
    unsigned char *code = (unsigned char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const unsigned char rooms[] = {0x18, 0x58, 0x28, 0x48};
    for (int index = 0; index < 8; index++) {
        unsigned char room = rooms[index % sizeof rooms];
        /* sub $room, %rsp; call *%rdi; add $room, %rsp; ret */
        unsigned char text[] = {0x48, 0x83, 0xec, room, 0xff, 0xd7, 0x48, 0x83, 0xc4, room, 0xc3};
        memcpy(code, text, sizeof text);
        /* The end of the frame is 8 bytes above %rsp, and from the fourth byte on `room` more. */
        unsigned char table[64] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0,
                                   0x0c, 7, 8, 0x90, 1, 0, 0, 28, 0, 0, 0, 28, 0, 0, 0};
        uintptr_t place[] = {(uintptr_t)code, sizeof text};
        memcpy(table + 32, place, sizeof place);
        unsigned char rows[] = {0, 0x44, 0x0e, (unsigned char)(room + 8)};
        memcpy(table + 48, rows, sizeof rows);
        memcpy(code + 1024, table, sizeof table);
        /* The first has none at first: nobody knows who called it. */
        if (index > 0)
            __register_frame(code + 1024);
        ((enter_t *)code)(leaf);
        if (index > 0)
            __deregister_frame(code + 1024);
    }
}

int main(int count, char **words)
{
    (void)count;
    void *frame[1];
    backtrace(frame, 1);
    struct sigaction on_other = {};
    on_other.sa_handler = on_signal;
    on_other.sa_flags = SA_ONSTACK;
    signal(SIGUSR1, on_signal);
    sigaction(SIGUSR2, &on_other, NULL);
    if (strcmp(words[1], "time") == 0 || strcmp(words[1], "branch") == 0) {
        is_silent = 1;
        if (strcmp(words[1], "time") == 0)
            down(28);
        else
            for (int round = 0; round < 20; round++)
                branch(12);
        printf("%ld\n", (long)(clock() * 1000000.0 / CLOCKS_PER_SEC));
        return 0;
    }
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    pthread_t other;
    if (strcmp(words[1], "reuse") == 0) {
        in_libraries(words + 2);
        written_over();
        return 0;
    }
    thread((void *)1);
    if (strcmp(words[1], "fork") == 0) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            thread((void *)3);
            return 0;
        }
        waitpid(child, NULL, 0);
        printf("%d\n", child);
        return 0;
    }
    far_down(100000);
    pthread_create(&other, NULL, thread, (void *)2);
    pthread_join(other, NULL);
    return 0;
}

/* Measures the processor time that a program of one thread spends inside malloc, calloc, realloc and free. The
   library is preloaded before an allocator, and writes the time in ns to the file INSIDE at the end. The time is
   the processor time, multiplied by the part of all ticks that passed inside: so waiting for a processor does not
   count. Reading the clock costs the same with every allocator. Design: `.rep.truth.foretold` in design/replay.md. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *(*allocate)(size_t), *(*zeroed)(size_t, size_t), *(*resize)(void *, size_t);
static void (*release)(void *);
static uint64_t inside, began;

/* Memory for dlsym before the functions are known. */
static _Alignas(16) char early[4096];
static size_t early_size;

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns(CLOCK_MONOTONIC);
#endif
}

static void *take_early(size_t size)
{
    void *memory = early + early_size;
    early_size += (size + 15) & ~(size_t)15;
    return early_size <= sizeof early ? memory : NULL;
}

static int is_early(void *memory)
{
    return (char *)memory >= early && (char *)memory < early + sizeof early;
}

__attribute__((constructor)) static void begin(void)
{
    void *functions[] = {dlsym(RTLD_NEXT, "malloc"), dlsym(RTLD_NEXT, "calloc"),
                         dlsym(RTLD_NEXT, "realloc"), dlsym(RTLD_NEXT, "free")};
    allocate = functions[0], zeroed = functions[1], resize = functions[2], release = functions[3];
    began = ticks();
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("INSIDE");
    double in = (double)inside / (double)(ticks() - began) * now_ns(CLOCK_PROCESS_CPUTIME_ID);
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file || fprintf(file, "%.0f\n", in) < 0 || fclose(file))
        abort();
}

void *malloc(size_t size)
{
    if (!allocate)
        return take_early(size);
    uint64_t before = ticks();
    void *memory = allocate(size);
    inside += ticks() - before;
    return memory;
}

void *calloc(size_t count, size_t size)
{
    if (!zeroed)
        return take_early(count * size);
    uint64_t before = ticks();
    void *memory = zeroed(count, size);
    inside += ticks() - before;
    return memory;
}

void *realloc(void *memory, size_t size)
{
    if (!resize || is_early(memory))
        abort();
    uint64_t before = ticks();
    void *moved = resize(memory, size);
    inside += ticks() - before;
    return moved;
}

void free(void *memory)
{
    if (!release || is_early(memory))
        return;
    uint64_t before = ticks();
    release(memory);
    inside += ticks() - before;
}

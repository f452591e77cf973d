/* A program that calls malloc and the functions like it in every way, and lists its calls.

   It prints PROCESS THREAD CALL NUMBERS on standard output, a line for each call, without
   allocating: a naive twin of the library that records it.
   Design: `.rep.record` in design/replay.md. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int out = -1;
static __thread int thread_number;

static void list(const char *format, ...)
{
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    int size = snprintf(line, sizeof line, "%d %d ", (int)getpid(), thread_number);
    size += vsnprintf(line + size, sizeof line - size - 1, format, arguments);
    va_end(arguments);
    line[size++] = '\n';
    if (write(out, line, size) != size)
        _exit(99);
}

static void *address(void *memory) { return memory; }
#define N(x) ((unsigned long long)(uintptr_t)(x))

static void *m(size_t size)
{
    void *memory = malloc(size);
    list("malloc %llu %zu", N(memory), size);
    return memory;
}
static void *c(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    list("calloc %llu %zu %zu", N(memory), count, size);
    return memory;
}
static void *r(void *old, size_t size)
{
    list("begin %llu", N(old));
    void *memory = realloc(old, size);
    list("realloc %llu %zu", N(memory), size);
    return memory;
}
static void *ra(void *old, size_t count, size_t size)
{
    size_t product;
    if (__builtin_mul_overflow(count, size, &product))
        product = SIZE_MAX;
    list("begin %llu", N(old));
    void *memory = reallocarray(old, count, size);
    list("realloc %llu %zu", N(memory), product);
    return memory;
}
static void f(void *memory)
{
    if (memory)
        list("free %llu", N(memory));
    free(memory);
}

static void all(int salt)
{
    int before = errno = 4711;
    void *kept[64];
    for (int i = 0; i < 64; i++)
        kept[i] = m(i * 37 + salt);
    for (int i = 0; i < 64; i += 2)
        kept[i] = r(kept[i], i * 91 + 1);
    for (int i = 0; i < 64; i += 3)
        kept[i] = ra(kept[i], i + 1, 40);
    for (int i = 0; i < 64; i++)
        f(kept[i]);
    f(c(7, 300));
    f(c(0, 0));
    f(r(NULL, 50));
    f(NULL);
    void *memory = aligned_alloc(64, 640);
    list("aligned %llu 64 640", N(memory));
    list("usable %llu %zu", N(memory), malloc_usable_size(memory));
    f(memory);
    int error = posix_memalign(&memory, 4096, 100);
    list("posix %llu 4096 100", error ? 0 : N(memory));
    f(memory);
    void *old = memory;
    if (posix_memalign(&memory, 3, 100) != EINVAL || memory != old)
        list("wrong");
    list("posix 0 3 100");
    memory = memalign(256, 1000);
    list("memalign %llu 256 1000", N(memory));
    f(memory);
    memory = valloc(300);
    list("valloc %llu 4096 300", N(memory));
    f(memory);
    memory = pvalloc(300);
    list("pvalloc %llu 4096 300", N(memory));
    f(memory);
    if (errno != before)
        list("wrong: errno %d", errno);
    volatile size_t huge = SIZE_MAX / 2;
    if (m(huge) || errno != ENOMEM)
        list("wrong");
    if (c(huge, 16))
        list("wrong");
    memory = m(10);
    errno = 0;
    if (r(memory, huge) || ra(memory, huge, 16) || errno != ENOMEM)
        list("wrong");
    memory = r(memory, (size_t)5 << 30);
    if (memory)
        f(memory);
    memory = m(10);
    r(memory, 0);
}

static void *in_thread(void *argument)
{
    thread_number = 1 + (int)(intptr_t)argument;
    for (int i = 0; i < 50; i++)
        all(i);
    return NULL;
}

static void at_exit_late(void) { f(m(71)); }
static void at_exit_first(void) { f(m(72)); atexit(at_exit_late); }
__attribute__((constructor)) static void before_main(void)
{
    out = STDOUT_FILENO;
    f(m(73));
}
__attribute__((destructor)) static void after_main(void)
{
    for (int i = 0; i < 5000; i++)
        f(m(74));
}

static void fork_once(int is_quick)
{
    void *of_parent = m(500);
    pid_t child = fork();
    if (child == 0) {
        f(of_parent);
        all(3);
        if (is_quick)
            _exit(0);
        exit(0);
    }
    waitpid(child, NULL, 0);
    f(of_parent);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "all";
    if (strcmp(what, "became") == 0) {
        f(m(81));
        quick_exit(0);
    }
    atexit(at_exit_first);
    all(1);
    if (strcmp(what, "threads") == 0) {
        pthread_t threads[4];
        for (intptr_t i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, in_thread, (void *)i);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(what, "forks") == 0) {
        fork_once(0);
        fork_once(1);
        /* A child made by vfork uses its parent's memory. */
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
        if (vfork() == 0) {
            execl(words[0], words[0], "became", (char *)NULL);
            _exit(98);
        }
        wait(NULL);
        if (system("exit 3") >> 8 != 3)
            list("wrong");
    } else if (strcmp(what, "becomes") == 0) {
        f(m(82));
        execl(words[0], words[0], "became", (char *)NULL);
        list("wrong");
    } else if (strcmp(what, "becomes-by-path") == 0) {
        f(m(82));
        char *with[] = {words[0], "became", NULL};
        execvp(words[0], with);
        list("wrong");
    }
    return address(NULL) != NULL;
}

/* A program of many threads, which prints the peak of its own memory.

   crowd live COUNT     all threads exist at a time, and each holds some memory
   crowd turns COUNT    each begins after the one before it has ended
   Design: `.rep.program` in design/replay.md. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 20, SIZE = 300 };

static pthread_barrier_t all;

/* The recorder's functions use the stack of a thread: here it is in memory before. */
__attribute__((noinline)) static void use_stack(void)
{
    volatile char stack[16 << 10];
    for (size_t i = 0; i < sizeof stack; i += 1 << 10)
        stack[i] = 1;
}

static void *work(void *is_live)
{
    void *blocks[BLOCKS];
    use_stack();
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(SIZE + i), 1, SIZE + i);
    if (is_live)
        pthread_barrier_wait(&all);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return NULL;
}

static void start(pthread_t *thread, void *is_live)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    if (pthread_create(thread, &attributes, work, is_live) != 0)
        exit(1);
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    int threads = atoi(words[2]);
    pthread_t *started = malloc(threads * sizeof *started);
    /* The program has some memory of its own. */
    char *own = malloc(8 << 20);
    memset(own, 1, 8 << 20);
    if (strcmp(words[1], "live") == 0) {
        pthread_barrier_init(&all, NULL, threads);
        for (int i = 0; i < threads; i++)
            start(&started[i], &all);
        for (int i = 0; i < threads; i++)
            pthread_join(started[i], NULL);
    } else {
        for (int i = 0; i < threads; i++) {
            start(&started[0], NULL);
            pthread_join(started[0], NULL);
        }
    }
    free(own);
    free(started);
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            printf("%ld\n", strtol(line + 6, NULL, 10) * 1024);
    return 0;
}

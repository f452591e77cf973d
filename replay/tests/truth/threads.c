/* A program of four threads that allocate, reallocate and free objects of each other, in the order in which they
   take a lock, and leave some objects.

   The calls of each thread are the same in every run; the order of the threads is not.
   Design: `.rep.truth` in design/replay.md. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define THREADS 4
#define PLACES 512
#define ROUNDS 4000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *places[PLACES];

static void *take(unsigned place)
{
    pthread_mutex_lock(&lock);
    void *memory = places[place];
    places[place] = NULL;
    pthread_mutex_unlock(&lock);
    return memory;
}

static void put(unsigned place, void *memory)
{
    pthread_mutex_lock(&lock);
    void *before = places[place];
    places[place] = memory;
    pthread_mutex_unlock(&lock);
    free(before);
}

static void *allocate(unsigned what, size_t size)
{
    void *memory = NULL;
    if (what % 8 == 0)
        return calloc(size, 3);
    if (what % 8 == 1)
        return posix_memalign(&memory, 64u << what / 8 % 4, size) ? NULL : memory;
    if (what % 8 == 2)
        return memalign(4096, size);
    return malloc(size);
}

static void *work(void *argument)
{
    uint32_t state = 4711 + (uint32_t)(uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        state = state * 1664525 + 1013904223;
        unsigned what = state >> 8, place = state >> 16 & (PLACES - 1);
        if (what % 16 == 15) {
            /* Also aligned memory, whose alignment realloc need not keep. */
            void *memory = realloc(allocate(what >> 4, what % 700), what % 3000 + 1);
            put(place, memory);
        } else if (what % 4 == 3) {
            free(take(place));
        } else {
            put(place, allocate(what, what >> 4 & 1023));
        }
    }
    return malloc(123);
}

int main(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], NULL, work, (void *)thread);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    /* A huge size, a failure, 0 bytes. */
    free(malloc(200 << 20));
    free(malloc((size_t)-1 >> 1));
    free(realloc(malloc(0), 5));
    return 0;
}

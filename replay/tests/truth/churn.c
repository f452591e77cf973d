/* A program with threads that allocate, write and free memory, in phases of more and of fewer objects. Threads
   pass objects to each other through shared places.

   Usage: churn THREADS ROUNDS.  Design: `.rep.truth.foretold` in design/replay.md. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 40000
#define SHARED 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static char *shared[SHARED];
static long rounds;

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Most objects are small, some are buffers. */
static size_t size_of(uint64_t *state)
{
    uint32_t what = next(state) % 1000;
    if (what < 900)
        return 16 + next(state) % 240;
    if (what < 995)
        return 256 + next(state) % 8000;
    return 32768 + next(state) % 200000;
}

static void *work(void *argument)
{
    uint64_t state = 4711 + (uintptr_t)argument;
    char **own = calloc(PLACES, sizeof *own);
    for (long round = 0; round < rounds; round++) {
        /* The live objects of a thread grow, shrink, and grow again, opposite to those of the next thread. */
        long phase = round * 6 / rounds, is_less = (phase + (long)(uintptr_t)argument) % 2;
        if (round == 0 || phase != (round - 1) * 6 / rounds)
            pthread_barrier_wait(&barrier);
        uint32_t place = next(&state) % (is_less ? PLACES / 4 : PLACES);
        if (is_less && place % 4 == 0) {
            uint32_t other = PLACES / 4 + next(&state) % (PLACES - PLACES / 4);
            free(own[other]);
            own[other] = NULL;
        }
        size_t size = size_of(&state);
        char *memory = malloc(size);
        memset(memory, (int)round, size);
        if (round % 16 == 0) {
            uint32_t other = next(&state) % SHARED;
            pthread_mutex_lock(&lock);
            char *before = shared[other];
            shared[other] = memory;
            pthread_mutex_unlock(&lock);
            free(before);
        } else {
            free(own[place]);
            own[place] = memory;
        }
    }
    for (long place = 0; place < PLACES; place++)
        free(own[place]);
    free(own);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[64];
    long thread_count = count > 1 ? atol(words[1]) : 1;
    rounds = count > 2 ? atol(words[2]) : 100000;
    pthread_barrier_init(&barrier, NULL, (unsigned)thread_count);
    if (thread_count == 1)
        return work(NULL) != NULL;
    for (long thread = 0; thread < thread_count; thread++)
        pthread_create(&threads[thread], NULL, work, (void *)(uintptr_t)thread);
    for (long thread = 0; thread < thread_count; thread++)
        pthread_join(threads[thread], NULL);
    return 0;
}

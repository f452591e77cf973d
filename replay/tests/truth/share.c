/* An allocator in which each thread has 256 KiB, all of them in memory. A thread that begins later
   has those of one that has ended. Memory is handed out again once all of a share is free.
   Design: `.rep.program` in design/replay.md. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

enum { SHARE = 256 << 10, HEAD = 16 };

struct share {
    struct share *next;
    size_t used;
    size_t live;
};

/* Before each block; the share is NULL for a large one. */
struct head {
    size_t size;
    struct share *of;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct share *left;
static pthread_key_t key;
static int has_key;
static __thread struct share *own __attribute__((tls_model("initial-exec")));

static void end(void *share)
{
    pthread_mutex_lock(&lock);
    ((struct share *)share)->next = left;
    left = share;
    pthread_mutex_unlock(&lock);
    own = NULL;
}

static __attribute__((constructor)) void begin(void)
{
    has_key = pthread_key_create(&key, end) == 0;
}

static void *map(size_t size)
{
    int form = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, form, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static struct share *share(size_t size)
{
    if (own != NULL && own->used + size <= SHARE)
        return own;
    pthread_mutex_lock(&lock);
    struct share *found = left;
    if (found != NULL)
        left = found->next;
    pthread_mutex_unlock(&lock);
    if (found == NULL && (found = map(SHARE)) == NULL)
        return NULL;
    found->used = sizeof(struct share);
    found->live = 0;
    own = found;
    if (has_key)
        pthread_setspecific(key, found);
    return found;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    size_t room = size + alignment + HEAD + 15;
    char *from;
    struct head head = {size, NULL};
    if (room > SHARE / 2) {
        from = map(room);
        if (from == NULL)
            return NULL;
    } else {
        struct share *of = share(room);
        if (of == NULL)
            return NULL;
        head.of = of;
        of->live++;
        from = (char *)of + of->used;
        of->used += room & ~(size_t)15;
    }
    size_t start = ((size_t)from + HEAD + alignment - 1) & ~(alignment - 1);
    memcpy((char *)start - HEAD, &head, sizeof head);
    return (void *)start;
}

static struct head head_of(void *memory)
{
    struct head head = {0, NULL};
    if (memory != NULL)
        memcpy(&head, (char *)memory - HEAD, sizeof head);
    return head;
}

EXPORT size_t malloc_usable_size(void *memory)
{
    return head_of(memory).size;
}

EXPORT void free(void *memory)
{
    struct head head = head_of(memory);
    if (head.of == NULL && head.size > 0)
        munmap((void *)((size_t)memory & ~(size_t)4095), head.size);
    else if (head.of != NULL && head.of == own && --own->live == 0)
        own->used = sizeof(struct share);
}

EXPORT void *malloc(size_t size)
{
    return memalign(16, size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    return memory == NULL ? NULL : memset(memory, 0, count * size);
}

EXPORT void *realloc(void *old, size_t size)
{
    size_t kept = malloc_usable_size(old);
    void *memory = malloc(size);
    if (memory != NULL && old != NULL) {
        memcpy(memory, old, kept < size ? kept : size);
        free(old);
    }
    return memory;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **place, size_t alignment, size_t size)
{
    *place = memalign(alignment, size);
    return *place == NULL ? 12 : 0;
}

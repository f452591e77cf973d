/* An allocator that is preloaded after the recording library. It hands out memory of one arena, and
   reuses none of it. Its calloc and realloc call the public malloc, as simple allocators do.
   Design: `.rep.record.real` in design/replay.md. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>

static _Alignas(64) char arena[256 << 20];
static size_t used;

void *memalign(size_t alignment, size_t size)
{
    if (size > sizeof arena / 2 || (alignment & (alignment - 1))) {
        errno = ENOMEM;
        return NULL;
    }
    for (;;) {
        size_t before = __atomic_load_n(&used, __ATOMIC_RELAXED);
        uintptr_t start = ((uintptr_t)arena + before + 16 + alignment - 1) & -alignment;
        size_t after = (start + size - (uintptr_t)arena + 15) & -(size_t)16;
        if (after > sizeof arena) {
            errno = ENOMEM;
            return NULL;
        }
        if (__atomic_compare_exchange_n(&used, &before, after, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            ((size_t *)start)[-1] = size;
            return (void *)start;
        }
    }
}
void *malloc(size_t size) { return memalign(16, size); }
void free(void *memory) { (void)memory; }
void *calloc(size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(all);
}
size_t malloc_usable_size(void *memory) { return ((size_t *)memory)[-1]; }
void *realloc(void *old, size_t size)
{
    void *memory = malloc(size);
    if (memory && old) {
        size_t before = malloc_usable_size(old);
        memcpy(memory, old, before < size ? before : size);
        free(old);
    }
    return memory;
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void *valloc(size_t size) { return memalign(4096, size); }
void *pvalloc(size_t size) { return memalign(4096, (size + 4095) & -(size_t)4096); }
int posix_memalign(void **place, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    int before = errno;
    void *memory = memalign(alignment, size);
    errno = before;
    if (!memory)
        return ENOMEM;
    *place = memory;
    return 0;
}

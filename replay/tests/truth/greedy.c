/* A malloc that takes 16 MiB before the first call, and then calls the C library's malloc.
   Design: `.rep.process` in design/replay.md. */
#include <stddef.h>
#include <string.h>

void *__libc_malloc(size_t size);
void __libc_free(void *memory);

static char taken[16 << 20];

__attribute__((constructor)) static void take(void)
{
    memset(taken, 1, sizeof taken);
}

void *malloc(size_t size)
{
    return __libc_malloc(size);
}

void free(void *memory)
{
    __libc_free(memory);
}

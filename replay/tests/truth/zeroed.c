/* Allocates 100 blocks of 1 MiB by calloc, and writes the KiB of each that the first argument states.
   Design: `.rep.touched` in design/replay.md. */
#include <stdlib.h>
#include <string.h>

int main(int count, char **words)
{
    char *blocks[100];
    size_t written = count > 1 ? strtoul(words[1], NULL, 10) << 10 : 0;
    for (int block = 0; block < 100; block++) {
        blocks[block] = calloc(1, 1 << 20);
        memset(blocks[block], 1, written);
    }
    for (int block = 0; block < 100; block++)
        free(blocks[block]);
    return 0;
}

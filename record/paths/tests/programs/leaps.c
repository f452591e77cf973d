// A library that jumps back over its caller: here a handler that no graph has.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf place;
// As in code outside: the compiler calls it through a pointer that it loads.
void (*volatile leap)(sigjmp_buf, int) = siglongjmp;
__attribute__((noinline)) static int number(const char *word) {
    char *end;
    int found = strtol(word, &end, 10);
    if (*end) leap(place, 1);
    return found;
}
int main(int count, char **words) {
    if (sigsetjmp(place, 0)) return puts("not a number") < 0;
    printf("%d\n", number(words[1]));
    return 0;
}

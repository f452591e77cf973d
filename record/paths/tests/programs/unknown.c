// main jumps to labels that it took the addresses of on its stack: no table tells where.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void tell(const char *what) {
  if (*what) puts(what);
}

static void bye(void) {
  tell("bye");
}

int main(int count, char **words) {
  atexit(bye);
  void *volatile ways[] = {&&first, &&second, &&last};
  goto *ways[count % 3];
first:
  tell("first");
second:
  tell(words[0]);
last:
  return EXIT_SUCCESS;
}

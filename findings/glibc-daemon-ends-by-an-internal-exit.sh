#!/usr/bin/env bash
# daemon(3) of the C library ends the parent, and no _exit that is preloaded sees it.
#
# Seen with glibc 2.36. A library that is preloaded to work at the end of a process defines _exit.
# The program's own call of _exit comes there. The parent of daemon(3) also ends by _exit, without
# exit's handlers, but the C library calls its own function inside. So neither atexit nor a
# preloaded _exit runs in that parent.
#
# Needs cc and glibc. Fails if daemon(3) begins to call the preloaded function.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ldd --version | head -1

cat >ends.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
void _exit(int code) {
    write(2, "preloaded _exit\n", 16);
    ((void (*)(int))dlsym(RTLD_NEXT, "_exit"))(code);
    for (;;) pause();
}
C
cat >program.c <<'C'
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void at_exit(void) { write(2, "atexit\n", 7); }
int main(int count, char **words) {
    atexit(at_exit);
    if (count > 1 && strcmp(words[1], "daemon") == 0 && daemon(1, 1) != 0) return 1;
    /* The daemon itself ends in silence, by a signal. */
    if (count > 1 && strcmp(words[1], "daemon") == 0) abort();
    _exit(0);
}
C
cc -shared -fPIC -o ends.so ends.c -ldl
cc -o program program.c
plain=$(LD_PRELOAD=./ends.so ./program 2>&1)
daemon=$(ulimit -c 0; LD_PRELOAD=./ends.so ./program daemon 2>&1)
sleep 1
echo "the program calls _exit: \"$plain\""
echo "the program calls daemon: \"$daemon\""
[ "$plain" = "preloaded _exit" ] || { echo "changed: the call of _exit is not seen" >&2; exit 1; }
[ -z "$daemon" ] || { echo "changed: daemon(3) calls what is preloaded" >&2; exit 1; }

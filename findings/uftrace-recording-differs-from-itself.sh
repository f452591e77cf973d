#!/usr/bin/env bash
# uftrace finds a difference between a recording and itself, if it has events of the scheduler.
#
# Seen with uftrace 0.13. `uftrace report --diff` counts other calls of "linux:schedule" in its
# second recording than in its first one, though both are the same folder: the numbers of the first
# are those of `uftrace report`, those of the second are of no other report. The program's own
# functions have no difference. With --no-sched when it records, nothing differs.
#
# Needs gcc, uftrace, and a kernel that lets it record the scheduler (else it says so, and ends
# with 2). Fails if no recording differs from itself any more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
uftrace --version

cat >workers.c <<'C'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void rest(void) { usleep(100); }
static void *work(void *unused) {
  for (int round = 0; round < 50; round++) {
    pthread_mutex_lock(&lock);
    rest();
    pthread_mutex_unlock(&lock);
  }
  return unused;
}
int main(void) {
  pthread_t threads[4];
  for (int at = 0; at < 4; at++) pthread_create(&threads[at], 0, work, 0);
  for (int at = 0; at < 4; at++) pthread_join(threads[at], 0);
  return 0;
}
C
gcc -pg -o workers workers.c -lpthread

# Prints the rows that differ: function, difference of calls.
differing() {
  uftrace report -d "$1" --diff "$1" | awk '$5 ~ /^[+-][1-9]/ {print "  " $6, $7, $5}'
}
found=0
for round in 1 2 3 4 5; do
  uftrace record -d with ./workers
  uftrace report -d with | grep -q linux:schedule ||
    { echo "the scheduler cannot be recorded here" >&2; exit 2; }
  rows=$(differing with)
  printf 'recording %s and itself:\n%s\n' "$round" "$rows"
  if [ -n "$rows" ]; then found=$((found + 1)); fi
  if grep -v linux:schedule <<<"$rows" | grep -q .; then echo "changed" >&2; exit 1; fi
  uftrace record --no-sched -d without ./workers
  [ -z "$(differing without)" ] || { echo "changed: others differ, too" >&2; exit 1; }
done
[ "$found" -gt 0 ] || { echo "changed: no difference" >&2; exit 1; }

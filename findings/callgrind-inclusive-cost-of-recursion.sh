#!/usr/bin/env bash
# callgrind_annotate --inclusive=yes tells a recursive function several times the whole program.
#
# Seen with valgrind 3.19.0. Callgrind writes the inclusive cost of each call of a function in
# itself, on the edge from down'2 to down'2: the cost of the innermost call is in that of each call
# around it. The tool adds up the costs of a function's edges. A recursion that is 20 calls deep and
# does all the work of a program is told as about nine times the program.
#
# Needs gcc and valgrind. Fails if no function has more than the whole any more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
valgrind --version

cat >"$folder/deep.c" <<'C'
static volatile long sum;
__attribute__((noinline)) static void down(int depth) {
  for (int step = 0; step < 200; step++) sum += step;
  if (depth) down(depth - 1);
  sum++;
}
int main(void) {
  for (int round = 0; round < 100; round++) down(20);
  return 0;
}
C
gcc -O1 -o "$folder/deep" "$folder/deep.c"
valgrind --quiet --tool=callgrind --callgrind-out-file="$folder/out" "$folder/deep"
callgrind_annotate --inclusive=yes "$folder/out" >"$folder/text"
row=$(grep -m 1 "down'2" "$folder/text")
percent=$(sed 's/^[^(]*( *\([0-9]*\).*/\1/' <<<"$row")
echo "down'2, which is a part of the program, has $percent % of it"
[ "$percent" -gt 100 ] || { echo "changed: a part is at most the whole now" >&2; exit 1; }

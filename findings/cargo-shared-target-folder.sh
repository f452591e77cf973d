#!/usr/bin/env bash
# Two checkouts of one workspace that share a target folder: cargo takes the second one for built.
#
# Seen with cargo 1.95.0. The hash in the name of a file in the target folder comes from the path of
# a package below its workspace, and from neither the folder of the workspace nor the sources.
# Whether a package is fresh is then decided by the times of its files. A checkout whose files are
# older than the other's build is "fresh": its program is the other checkout's, and the exit code is
# 0.
#
# Needs cargo alone. Fails if cargo begins to tell the checkouts apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo --version

make_checkout() {
  mkdir -p "$folder/$1/app/src"
  printf '[workspace]\nresolver = "2"\nmembers = ["app"]\n' >"$folder/$1/Cargo.toml"
  printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n' \
    >"$folder/$1/app/Cargo.toml"
  printf 'fn main() { println!("%s"); }\n' "$1" >"$folder/$1/app/src/main.rs"
}
make_checkout first
make_checkout second
# The second checkout is as old as any that was made before the first was built.
find "$folder/second" -exec touch -d '1 hour ago' {} +

for checkout in first second; do
  (cd "$folder/$checkout" && cargo build --offline --target-dir "$folder/target" 2>&1 | tail -1)
  printed=$("$folder/target/debug/app")
  echo "built $checkout: the program prints \"$printed\""
done
[ "$printed" = first ] || { echo "changed: each checkout has its own program now" >&2; exit 1; }

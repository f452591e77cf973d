#!/usr/bin/env bash
# trybuild: the same package passes its compile-fail tests or fails all, by where it is unpacked.
#
# Seen with trybuild 1.0.122. A compile error names the failing file relative to its package, so that
# the .stderr files of a crate do not depend on its place. If the package lies below the target
# folder, as one that `cargo package` unpacked and that shares CARGO_TARGET_DIR does, the file has its
# absolute path instead, and each expected message differs.
#
# Needs cargo and the registry. Fails if the place no longer matters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=$folder/target
cargo --version

package=$folder/plain
mkdir -p "$package/src" "$package/tests/refused"
printf '[package]\nname = "plain"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n%s\n' \
  $'[dev-dependencies]\ntrybuild = "=1.0.122"' >"$package/Cargo.toml"
echo 'pub fn doubled(number: u32) -> u32 { number * 2 }' >"$package/src/lib.rs"
echo 'fn main() { plain::doubled("text"); }' >"$package/tests/refused/text.rs"
echo '#[test] fn refused() { trybuild::TestCases::new().compile_fail("tests/refused/*.rs"); }' \
  >"$package/tests/all.rs"
# The expected message is the one of this compiler.
(cd "$package" && TRYBUILD=overwrite cargo test --quiet >"$folder/written" 2>&1)
grep -e '-->' "$package/tests/refused/text.stderr"

(cd "$package" && cargo test --quiet >"$folder/told" 2>&1) || { cat "$folder/told"; exit 1; }
echo "next to the target folder: passes"
mkdir "$folder/target/package-copy"
cp -r "$package/." "$folder/target/package-copy"
if (cd "$folder/target/package-copy" && cargo test --quiet >"$folder/told" 2>&1); then
  echo "changed: the place of a package no longer matters" >&2
  exit 1
fi
echo "below the target folder: fails"
sed "s|$folder|FOLDER|; s/\x1b\[[0-9;]*m//g" "$folder/told" | grep -e '-->.*refused/text.rs' | sort | uniq -c

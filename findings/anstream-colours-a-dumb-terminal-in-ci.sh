#!/usr/bin/env bash
# anstream, which clap colours by, takes a dumb terminal for one that knows colours if CI is set.
#
# Seen with anstream 1.0.0. On a pseudo-terminal TERM=dumb turns colours off, but TERM=dumb with CI
# in the environment has them, also if CI is empty or "false". NO_COLOR and CLICOLOR=0 come before
# CI, and in a pipe CI changes nothing. So a test that runs a program in a pseudo-terminal with
# TERM=dumb passes at home and fails where checks set CI.
#
# Needs cargo, the network or a cache, and python3. Fails if any of that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cargo init -q --bin --name coloured --vcs none .
cargo add -q anstream@=1.0.0
cat >src/main.rs <<'R'
fn main() {
    println!("{:?}", anstream::AutoStream::choice(&std::io::stdout()));
}
R
cargo build -q
cat >terminal.py <<'P'
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) != 0)
P
variables=(-u CI -u NO_COLOR -u CLICOLOR -u CLICOLOR_FORCE -u COLORTERM)
failed=0
# Runs the program in a terminal with these variables, and compares its choice.
expect() {
  local choice=$1 found
  shift
  found=$(env "${variables[@]}" "$@" python3 terminal.py target/debug/coloured | tr -d '\r')
  printf '%-28s %s\n' "$*" "$found"
  [ "$found" = "$choice" ] || { echo "changed: it was $choice" >&2; failed=1; }
}
expect Never TERM=dumb
expect Always TERM=dumb CI=true
expect Always TERM=dumb CI=false
expect Always TERM=dumb CI=
expect Never TERM=dumb CI=true NO_COLOR=1
expect Never TERM=dumb CI=true CLICOLOR=0
found=$(env "${variables[@]}" TERM=dumb CI=true target/debug/coloured)
echo "TERM=dumb CI=true in a pipe  $found"
[ "$found" = Never ] || failed=1
exit "$failed"

#!/usr/bin/env bash
# go tool pprof makes one function of several whose names differ in brackets alone, if a function's
# name is its system_name.
#
# Seen with Go 1.19.8 of Debian. The format says that system_name is the name as the system knows
# it, for instance a mangled C++ name. If it equals the name, pprof takes the name for one that it
# has to demangle, and its default way to do so takes out all between angle brackets. So the methods
# `<Cat as Area>::area` and `<Dog as Area>::area` of Rust, 30 and 60 ns, are one row, `::area`, of
# 90 ns. Without a system_name, or with any other one, both keep their names. -symbolize=none keeps
# them, too.
#
# Needs Go and Python. Fails if the names are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PPROF_TMPDIR=$folder
go version

cat >"$folder/write.py" <<'P'
"""Writes a profile of two functions, with their names as system names or without those."""
import gzip
import sys


def number(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(at, value):
    if isinstance(value, int):
        return number(at << 3) + number(value)
    return number(at << 3 | 2) + number(len(value)) + value


texts = [b"", b"time", b"nanoseconds", b"<Cat as Area>::area", b"<Dog as Area>::area"]
profile = field(1, field(1, 1) + field(2, 2))
for at, cost in ((1, 30), (2, 60)):
    system = field(3, 2 + at) if sys.argv[2] == "system" else b""
    profile += field(2, field(1, number(at)) + field(2, number(cost)))
    profile += field(4, field(1, at) + field(4, field(1, at)))
    profile += field(5, field(1, at) + field(2, 2 + at) + system)
profile += b"".join(field(6, text) for text in texts)
with gzip.open(sys.argv[1], "wb") as out:
    out.write(profile)
P
for form in system none; do
  python3 "$folder/write.py" "$folder/$form.pb.gz" "$form"
  echo "system_name: $form"
  go tool pprof -top "$folder/$form.pb.gz" 2>/dev/null | grep area | tee "$folder/$form"
done
grep -q '90ns.* ::area$' "$folder/system" && [ "$(wc -l <"$folder/system")" = 1 ] ||
  { echo "changed: names that are system names keep their brackets" >&2; exit 1; }
[ "$(grep -c '> *::area\|>::area' "$folder/none")" = 2 ] ||
  { echo "changed: names without system names lose their brackets" >&2; exit 1; }
go tool pprof -symbolize=none -top "$folder/system.pb.gz" 2>/dev/null | grep area

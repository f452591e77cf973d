#!/usr/bin/env bash
# Names of columns that pyarrow writes to Parquet and cannot read again.
#
# Seen with pyarrow 21.0.0. A dataset adds fields of its own to what it scans: "__filename",
# "__fragment_index", "__batch_index" and "__last_in_fragment". A file that has a column of such a
# name is written without a word, and ParquetFile reads it; but read_table, which scans a dataset,
# refuses the whole file, as two fields have one name.
#
# Needs python3 with venv, and PyPI. Fails if such a file can be read, or can no longer be written.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyarrow==21.0.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow, pyarrow.parquet as parquet

print("pyarrow", pyarrow.__version__)
for name in ["__filename", "__fragment_index", "__batch_index", "__last_in_fragment", "__other"]:
    parquet.write_table(pyarrow.table({name: ["x"]}), "names.parquet")
    assert parquet.ParquetFile("names.parquet").read().column_names == [name]
    try:
        parquet.read_table("names.parquet")
        refused = ""
    except pyarrow.ArrowInvalid as error:
        refused = str(error).splitlines()[0][:70]
    print(f"{name}: {refused or 'read'}")
    assert bool(refused) == (name != "__other"), "changed"
PYTHON

#!/usr/bin/env bash
# Parquet files whose columns differ in case alone: DuckDB renames one, and folds ASCII alone.
#
# Seen with DuckDB 1.4.1 and pyarrow 21.0.0. A Parquet file may have columns "a" and "A", and "é"
# and "É"; pyarrow writes and reads all four. DuckDB compares names without case: it gives the
# second of "a" and "A" another name, with a number, and says nothing, so that a query of "A"
# answers with the values of "a". But "É" next to "é" keeps its name, and is a column of its own.
#
# Needs python3 with venv, and PyPI. Fails if a reader answers otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check duckdb==1.4.1 pyarrow==21.0.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb, pyarrow, pyarrow.parquet as parquet

print("duckdb", duckdb.__version__, "pyarrow", pyarrow.__version__)
names = ["a", "A", "é", "É"]
table = pyarrow.Table.from_arrays([pyarrow.array([number]) for number in (1, 2, 3, 4)], names=names)
parquet.write_table(table, "names.parquet")
assert parquet.read_table("names.parquet").column_names == names
found = duckdb.sql("SELECT * FROM 'names.parquet'").columns
print("in the file:", names, " in DuckDB:", found)
upper = duckdb.sql("SELECT \"A\" FROM 'names.parquet'").fetchone()[0]
accent = duckdb.sql("SELECT \"É\" FROM 'names.parquet'").fetchone()[0]
print("A =", upper, " É =", accent)
assert found == ["a", "A_1", "é", "É"], "changed: the names"
assert (upper, accent) == (1, 4), "changed: the values"
PYTHON

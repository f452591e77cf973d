#!/usr/bin/env python3
"""Reads the data sets of logs with five readers: each gives every event, as the log has it.

    eventcnv --style json LOG ──▶ rows        eventcnv parquet LOG ── each of five ──▶ the same rows

`read.py EVENTCNV DIR LOG …`. Run by `./proofs parquet`. Design: `.cnv.parquet` in design/eventcnv.md.
"""
import glob
import json
import math
import os
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import chain, count as count_from

import datafusion
import duckdb
import polars
import pyarrow
import pyarrow.parquet
from pyspark.sql import SparkSession

# Columns of every data set, and those that readers add: a parameter of such a name, in whatever
# case, has an underscore after it.
COLUMNS = "time timestamp wall stream thread thread_name buffer number".split()
PARTITIONS = "host process kind".split()
ADDED = ("filename file_row_number __filename __fragment_index __batch_index "
         "__last_in_fragment").split()
# What several events tell: columns that a database has too.
TOLD = {"slices": "name begin end duration verdict thread".split(),
        "counters": "registry name unit time value change".split()}
EVENTCNV, DIRECTORY, LOGS = sys.argv[1], sys.argv[2], sys.argv[3:]


def ask(*words):
    """The lines of JSON that a command prints."""
    text = subprocess.run([EVENTCNV, *words], check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in text.splitlines()]


def plain(value):
    """A value as all of them may give it: unsigned integers are Decimal in Spark."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity",
                                                   "-inf": "-Infinity"}[str(value)]
    return bytes(value) if isinstance(value, (bytes, bytearray)) else int(value)


def expected(log):
    """For each event type the rows of a log: names and values."""
    names = {row["thread"]: row["name"] or None
             for row in ask("query", log, "SELECT thread, name FROM threads", "--json")}
    rows = defaultdict(Counter)
    for event in ask("--style", "json", log):
        row = {"time": event["ticks"], "thread": event["thread"], "kind": event["kind"],
               "thread_name": names.get(event["thread"])}
        taken = {*COLUMNS, *PARTITIONS, *ADDED}
        columns = {}
        for name in event["params"]:
            tries = chain([name, name + "_"], (f"{name}__{n}" for n in count_from(2)))
            columns[name] = next(tried for tried in tries if tried.lower() not in taken)
            taken.add(columns[name].lower())
        for name, value in event["params"].items():
            is_address = isinstance(value, str) and value.startswith("0x")
            row[columns[name]] = int(value, 16) if is_address else value
        for name, label in event.get("labels", {}).items():
            row[columns[name] + "_label"] = label
        rows[event["event"]][tuple(sorted(row.items(), key=str))] += 1
    return rows


def found(rows):
    """The same of what was read; NULL is what an event has not."""
    counts = Counter()
    for row in rows:
        assert row.pop("micros") == (row["wall"] // 1000 if row["wall"] is not None else None), row
        assert row.pop("process") and row.pop("host"), row
        for name in ("wall", "stream", "buffer", "number", "timestamp"):
            row.pop(name, None)
        values = {name: plain(value) for name, value in row.items()}
        kept = {k: v for k, v in values.items() if v is not None or k == "thread_name"}
        counts[tuple(sorted(kept.items(), key=str))] += 1
    return counts


def by_duckdb(path):
    """Rows by DuckDB."""
    table = f"read_parquet('{path}/**/*.parquet', hive_partitioning = true)"
    query = duckdb.sql(f"SELECT * EXCLUDE (timestamp), epoch_us(timestamp) AS micros FROM {table}")
    return [dict(zip(query.columns, row)) for row in query.fetchall()]


def by_datafusion(path):
    """Rows by DataFusion."""
    context = datafusion.SessionContext()
    partitions = [(name, pyarrow.string()) for name in PARTITIONS]
    context.register_parquet("t", path, table_partition_cols=partitions)
    query = context.sql("SELECT *, CAST(timestamp AS BIGINT) AS micros FROM t").to_arrow_table()
    return query.drop_columns(["timestamp"]).to_pylist()


def by_spark(path):
    """Rows by Spark."""
    query = spark.read.parquet(path).selectExpr("*", "unix_micros(timestamp) AS micros")
    return [row.asDict() for row in query.drop("timestamp").collect()]


def by_polars(path):
    """Rows by Polars."""
    table = polars.scan_parquet(f"{path}/**/*.parquet", hive_partitioning=True)
    micros = polars.col("timestamp").dt.epoch("us").alias("micros")
    return table.with_columns(micros).drop("timestamp").collect().to_dicts()


def by_pyarrow(path):
    """Rows by pyarrow."""
    table = pyarrow.parquet.read_table(path)
    micros = table.column("timestamp").cast(pyarrow.int64())
    return table.append_column("micros", micros).drop_columns(["timestamp"]).to_pylist()


READERS = [("DuckDB", by_duckdb), ("DataFusion", by_datafusion), ("Spark", by_spark),
           ("Polars", by_polars), ("pyarrow", by_pyarrow)]
os.environ["TZ"] = "UTC"
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.session.timeZone", "UTC").config("spark.driver.host", "127.0.0.1")
         .config("spark.sql.shuffle.partitions", "1").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
for log in LOGS:
    subprocess.run([EVENTCNV, "parquet", log, "-o", DIRECTORY, "--force"], check=True)
    rows = expected(log)
    sets = {os.path.basename(path) for path in glob.glob(DIRECTORY + "/*")}
    assert sets - set(TOLD) == set(rows), (sets, set(rows))
    told = {of: Counter(tuple(row[name] for name in columns) for row in
                        ask("query", log, f"SELECT {', '.join(columns)} FROM {of}", "--json"))
            for of, columns in TOLD.items()}
    assert sets & set(TOLD) == {of for of in TOLD if told[of]}, (sets, told)
    for name, read in READERS:
        count = 0
        for event in sorted(rows):
            got = found(read(os.path.join(DIRECTORY, event)))
            assert got == rows[event], (name, event, got - rows[event], rows[event] - got)
            count += sum(got.values())
        for of in sets & set(TOLD):
            got = Counter(tuple(plain(row[name]) for name in TOLD[of])
                          for row in read(os.path.join(DIRECTORY, of)))
            assert got == told[of], (name, of, got - told[of], told[of] - got)
        print(f"{os.path.basename(log)}: {name} reads all {count} events")
spark.stop()

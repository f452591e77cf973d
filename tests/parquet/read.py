#!/usr/bin/env python3
"""Reads the data sets of a log with DuckDB, DataFusion and Spark: each gives every event, as the log has it.

    eventcnv --style json LOG ──▶ rows        eventcnv parquet LOG ── each of three ──▶ the same rows

`read.py EVENTCNV DIR LOG …`. Run by `./proofs parquet`. Design: `.cnv.parquet` in design/eventcnv.md.
"""
import glob
import json
import math
import os
import subprocess
import sys
from collections import Counter, defaultdict

import datafusion
import duckdb
from pyspark.sql import SparkSession

# Columns of every data set: a parameter of such a name has an underscore after it.
COLUMNS = "time timestamp wall stream thread thread_name buffer number".split()
# Columns of slices that a database has too.
SLICE = "name begin end duration verdict thread".split()
EVENTCNV, DIRECTORY, LOGS = sys.argv[1], sys.argv[2], sys.argv[3:]
MICROS = {"duckdb": "epoch_us(timestamp)", "spark": "unix_micros(timestamp)",
          "datafusion": "CAST(timestamp AS BIGINT)"}


def ask(*words):
    """The lines of JSON that a command prints."""
    text = subprocess.run([EVENTCNV, *words], check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in text.splitlines()]


def plain(value):
    """A value as all of them may give it: unsigned integers are Decimal in Spark."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    return bytes(value) if isinstance(value, (bytes, bytearray)) else int(value)


def expected(log):
    """For each event type the rows of a log: names and values."""
    names = {row["thread"]: row["name"] or None
             for row in ask("query", log, "SELECT thread, name FROM threads", "--json")}
    rows = defaultdict(Counter)
    for event in ask("--style", "json", log):
        row = {"time": event["ticks"], "thread": event["thread"],
               "thread_name": names.get(event["thread"])}
        for name, value in event["params"].items():
            is_address = isinstance(value, str) and value.startswith("0x")
            name = name + "_" if name in COLUMNS else name
            row[name] = int(value, 16) if is_address else value
        for name, label in event.get("labels", {}).items():
            row[name + "_label"] = label
        rows[event["event"]][tuple(sorted(row.items(), key=str))] += 1
    return rows


def found(rows):
    """The same of what was read; NULL is what an event has not."""
    counts = Counter()
    for row in rows:
        assert row.pop("micros") == (row["wall"] // 1000 if row["wall"] is not None else None), row
        for name in ("wall", "stream", "buffer", "number", "kind", "process", "host", "timestamp"):
            row.pop(name, None)
        values = {name: plain(value) for name, value in row.items()}
        kept = {k: v for k, v in values.items() if v is not None or k == "thread_name"}
        counts[tuple(sorted(kept.items(), key=str))] += 1
    return counts


def by_duckdb(path):
    """Rows by DuckDB, which reads the partitions too."""
    table = f"read_parquet('{path}/**/*.parquet', hive_partitioning = true)"
    query = duckdb.sql(f"SELECT * EXCLUDE (timestamp), {MICROS['duckdb']} AS micros FROM {table}")
    return [dict(zip(query.columns, row)) for row in query.fetchall()]


def by_datafusion(path):
    """Rows by DataFusion."""
    context = datafusion.SessionContext()
    context.register_parquet("t", path, table_partition_cols=[])
    query = context.sql(f"SELECT *, {MICROS['datafusion']} AS micros FROM t").to_arrow_table()
    return query.drop_columns(["timestamp"]).to_pylist()


def by_spark(path):
    """Rows by Spark."""
    query = spark.read.parquet(path).selectExpr("*", f"{MICROS['spark']} AS micros")
    return [row.asDict() for row in query.drop("timestamp").collect()]


os.environ["TZ"] = "UTC"
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.session.timeZone", "UTC").config("spark.driver.host", "127.0.0.1")
         .config("spark.sql.shuffle.partitions", "1").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
for log in LOGS:
    subprocess.run([EVENTCNV, "parquet", log, "-o", DIRECTORY, "--force"], check=True)
    rows = expected(log)
    sets = {os.path.basename(path) for path in glob.glob(DIRECTORY + "/*")}
    assert sets - {"slices"} == set(rows), (sets, set(rows))
    slices = Counter(tuple(row[name] for name in SLICE)
                     for row in ask("query", log, f"SELECT {', '.join(SLICE)} FROM slices", "--json"))
    for name, read in (("DuckDB", by_duckdb), ("DataFusion", by_datafusion), ("Spark", by_spark)):
        count = 0
        for event in sorted(rows):
            got = found(read(os.path.join(DIRECTORY, event)))
            assert got == rows[event], (name, event, got - rows[event], rows[event] - got)
            count += sum(got.values())
        if slices:
            got = Counter(tuple(plain(row[name]) for name in SLICE)
                          for row in read(os.path.join(DIRECTORY, "slices")))
            assert got == slices, (name, got - slices, slices - got)
        print(f"{os.path.basename(log)}: {name} reads all {count} events")
spark.stop()

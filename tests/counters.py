#!/usr/bin/env python3
"""Sums up the counters of a log from its CSV alone: python3 counters.py RULE... < CSV

A rule is EVENT NAME OP AMOUNT [KEY,...] in one argument; OP is +, - or =, AMOUNT a column, 0 or 1.
Prints each change: time, name, key, value, change, separated by tabs.
"""
import csv, sys

csv.field_size_limit(1 << 24)
rules = [rule.split() for rule in sys.argv[1:]]
values = {}


def number(text):
    return int(text) if text.lstrip("-").isdigit() else float(text)


for row in csv.DictReader(sys.stdin):
    for event, name, op, amount, *key in rules:
        if row["event"] != event:
            continue
        key = " ".join(row[column] for column in key[0].split(",")) if key else ""
        by = int(amount) if amount in ("0", "1") else number(row[amount])
        before = values.get((name, key), 0)
        after = {"+": before + by, "-": before - by, "=": by}[op]
        values[name, key] = after
        print(row["time"], name, key, after, after - before, sep="\t")

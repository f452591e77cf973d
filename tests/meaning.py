#!/usr/bin/env python3
"""Computes the counters and the slices of a log from its CSV alone.

  python3 meaning.py ALL PART TIMES RULE...

ALL has the events with their ticks, PART those of a selection; TIMES has ALL with seconds, or is
empty if a tick counts as a ns. A rule is one argument:

  counter EVENT NAME OP AMOUNT [KEY,...]    OP: +, - or =; AMOUNT: a column, 0 or 1
  slice|span BEGIN=END NAME [KEY,...|-] [COLUMN]    COLUMN names what BEGIN begins

Prints lines of JSON, of what PART has:
  ["change", ticks, ns, thread, name, key, value, change]
  ["slice", pair, label, key, thread, ticks, ns, end ticks, duration, verdict, end on a timeline]
  ["alone", pair]
  ["low", name, key, its least value before an event states it, at most 0]
  ["first", ns of the first event]
"""
import csv, itertools, json, math, sys
from decimal import Decimal

csv.field_size_limit(1 << 24)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    if text.startswith("0x") or text.lstrip("-").isdigit():
        return int(text, 0)
    return float(text)


def key(row, columns):
    return " ".join(row[column] for column in columns.split(",")) if columns else ""


def tell(*line):
    print(json.dumps(line))


class Pair:
    def __init__(self, form, types, name, columns="-", label=None):
        self.begin, self.end = types.split("=")
        self.name, self.label, self.is_span = name, label, form == "span"
        self.columns = "" if columns == "-" else columns
        self.open = {}

    def take(self, row, stacks):
        if row["event"] not in (self.begin, self.end):
            return
        thread, own = row["thread"], key(row, self.columns)
        same = self.open.setdefault((own, None if self.is_span and own else thread), [])
        stack = stacks.setdefault(thread, [])
        if row["event"] == self.begin:
            if self.is_span and same:
                tell_slice(same.pop(), None, "again", row["ns"])
            same.append({"pair": self, "key": own, "row": row, "shut": None})
            if not self.is_span:
                stack.append(same[-1])
        elif not same:
            if row["in"]:
                tell("alone", self.name)
        else:
            ended = same.pop()
            verdict = "whole" if self.is_span or ended in stack else "crossing"
            if ended in stack:
                # What lies open in it leaves the stack with it.
                while stack[-1] is not ended:
                    stack.pop()["shut"] = row["ns"]
                stack.pop()
            tell_slice(ended, row, verdict, row["ns"])


def tell_slice(slice, end, verdict, shut):
    row, pair = slice["row"], slice["pair"]
    shut = shut if slice["shut"] is None else slice["shut"]
    label = row[pair.label] if pair.label else ""
    of_end = (end["time"], end["ns"] - row["ns"]) if end else (None, None)
    if row["in"]:
        begin = row["thread"], row["time"], row["ns"]
        tell("slice", pair.name, label, slice["key"], *begin, *of_end, verdict, shut)


def count(rule, row, values, lows):
    event, name, op, amount, *columns = rule
    if row["event"] != event:
        return
    place = name, key(row, *columns) if columns else ""
    by = int(amount) if amount in ("0", "1") else number(row[amount])
    before = values.get(place, 0)
    try:
        after = {"+": before + by, "-": before - by, "=": by}[op]
    except OverflowError:
        return
    if math.isfinite(after):
        values[place] = after
        low, is_stated = lows.get(place, (0, False))
        is_stated = is_stated or op == "="
        lows[place] = low if is_stated else min(low, after), is_stated
        if row["in"]:
            change = row["time"], row["ns"], row["thread"]
            tell("change", *change, *place, repr(after), repr(after - before))


rows, part, times = map(read, sys.argv[1:4])
rules = [rule.split() for rule in sys.argv[4:]]
counters = [rule[1:] for rule in rules if rule[0] == "counter"]
pairs = [Pair(*rule) for rule in rules if rule[0] != "counter"]
selected = iter(part)
next_in = next(selected, None)
for row, time in itertools.zip_longest(rows, times):
    row["ns"] = int(Decimal(time["time"]) * 10**9) if time else int(row["time"])
    row["in"] = next_in is not None and all(row[name] == next_in[name] for name in next_in)
    if row["in"]:
        next_in = next(selected, None)
assert next_in is None, f"an event of the selection is not in the log: {next_in}"
if rows:
    tell("first", rows[0]["ns"])
stacks, values, lows = {}, {}, {}
for row in rows:
    for pair in pairs:
        pair.take(row, stacks)
    for rule in counters:
        count(rule, row, values, lows)
for pair in pairs:
    for left in itertools.chain(*pair.open.values()):
        tell_slice(left, None, "unfinished", None)
for (name, own), (low, _) in lows.items():
    tell("low", name, own, repr(low))

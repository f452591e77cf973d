#!/usr/bin/env python3
"""Counts the hits of each row of the table again, from the logs of its runs, and writes the table.

    rows.tsv, logs ── eventcnv --style csv ──▶ hits of each machine = those of the row ──▶ paths.tsv

Usage: recount.py EVENTCNV FOLDER COMMIT > paths.tsv
"""

import csv
import io
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict

HEAD = "program\tfunctions\tblocks\tedges\tblocks covered\tblocks passed\tsteps\tseconds by steps"
ROW = (
    "program\tweights\twitnesses\tmachines\tlimit\tstrategy\truns\tsize\t"
    "cost of distribution / cost of collection\tstops\tseconds\tfactor over single steps"
)


def hits(eventcnv, path):
    """Returns the number of witnesses in a log."""
    text = subprocess.run(
        [eventcnv, "--style", "csv", path], check=True, capture_output=True, text=True
    ).stdout
    rows = csv.DictReader(io.StringIO(text))
    return sum(row["event"] == "Witness" for row in rows)


def processor():
    """Returns the name of the processor."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} × {len(names)}" if names else platform.machine()


def main():
    eventcnv, folder, commit = sys.argv[1:]
    logs = defaultdict(lambda: defaultdict(list))
    for name in os.listdir(folder):
        if name.endswith(".log"):
            key, machine, _ = name[: -len(".log")].rsplit(",", 2)
            logs[key][machine].append(os.path.join(folder, name))
    rows = []
    with open(os.path.join(folder, "rows.tsv"), encoding="utf-8") as lines:
        for line in lines:
            words = line.rstrip("\n").split("\t")
            key, runs, cost, said = ",".join(words[:6]), words[6], words[8], int(words[9])
            machines = logs[key].values()
            if sum(map(len, machines)) != int(runs):
                sys.exit(f"{key}: logs of {sum(map(len, machines))} runs, the row has {runs}")
            counted = max(sum(hits(eventcnv, path) for path in own) for own in machines)
            if counted != said:
                sys.exit(f"{key}: the logs have {counted} hits, the row {said}")
            # Exact weights foretell the hits.
            if words[1] == "trace" and int(cost) != counted:
                sys.exit(f"{key}: a trace foretells {cost} hits, the logs have {counted}")
            rows.append("\t".join(words[:8] + [f"{cost}/{counted}"] + words[10:]))
    print(f"# time: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}")
    print(f"# processor: {processor()}")
    print(f"# system: {platform.system()} {platform.release()} {platform.machine()}")
    with open("/proc/loadavg", encoding="ascii") as load:
        print(f"# load: {load.read().strip()}")
    print(f"# commit: {commit}")
    print(f"# {HEAD}")
    with open(os.path.join(folder, "programs.tsv"), encoding="utf-8") as lines:
        print(lines.read(), end="")
    print(f"# {ROW}")
    print("\n".join(rows))
    print(f"{len(rows)} rows are those of their logs", file=sys.stderr)


main()

#!/usr/bin/env python3
"""Makes the golden file that compares the model of waits with `perf sched timehist`.

    perf script, perf sched timehist ──▶ rows of switches and wakes, and what perf says of each run

    perf record -a -e sched:sched_switch,sched:sched_waking,sched:sched_process_fork -- PROGRAM
    perf script --ns -F comm,tid,cpu,time,event,trace > script.txt
    perf sched timehist > timehist.txt
    timehist.py script.txt timehist.txt 0.9 > tests/golden/waits/timehist.txt

The last argument is the time in s after which rows are left out. A line of the result is one of:

    S CPU NS PREV NEXT STATE     a switch
    W CPU NS WAKER TARGET        a wake
    F CPU NS PARENT CHILD        a fork
    N CPU NS THREAD              a new thread can run
    T US THREAD WAIT DELAY RUN   a run that ended: times in µs, as perf prints them
"""

import re
import sys

STATES = {"R": 0, "R+": 0, "S": 1, "D": 2, "X": 16, "Z": 32, "I": 128}
LINE = re.compile(r"^\s*(.*?)\s+(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+sched:(\w+):\s+(.*)$")
TIMES = r"([\d.]+)\s+([\d.]+)\s+([\d.]+)"
ROW = re.compile(r"^\s*(\d+)\.(\d{6}) \[\d+\]\s+.*\[(-?\d+)(?:/\d+)?\]\s+" + TIMES)


def rows(script):
    for line in script:
        found = LINE.match(line)
        if not found:
            continue
        _, tid, cpu, seconds, ns, event, text = found.groups()
        at = int(seconds) * 10**9 + int(ns)
        tid = max(int(tid), 0)  # perf prints -1 for a thread that has ended
        number = lambda name: int(re.search(rf"\b{name}=(\d+)", text).group(1))
        if event == "sched_switch":
            state = STATES[re.search(r"prev_state=(\S+)", text).group(1)]
            yield f"S {int(cpu)} {at} {number('prev_pid')} {number('next_pid')} {state}"
        elif event == "sched_waking":
            yield f"W {int(cpu)} {at} {tid} {number('pid')}"
        elif event == "sched_wakeup_new":
            yield f"N {int(cpu)} {at} {number('pid')}"
        elif event == "sched_process_fork":
            yield f"F {int(cpu)} {at} {number('pid')} {number('child_pid')}"


def runs(timehist):
    for line in timehist:
        found = ROW.match(line)
        if found and int(found.group(3)) > 0:
            seconds, us, tid, *times = found.groups()
            times = " ".join(str(round(float(time) * 1000)) for time in times)
            yield f"T {int(seconds) * 10**6 + int(us)} {tid} {times}"


def since(line, base):
    """The time of a line in s since the second `base`, and the line with that time."""
    words = line.split()
    at, size = (1, 10**6) if words[0] == "T" else (2, 10**9)
    words[at] = str(int(words[at]) - base * size)
    return int(words[at]) / size, " ".join(words)


with open(sys.argv[1], encoding="utf-8", errors="replace") as text:
    found = list(rows(text))
with open(sys.argv[2], encoding="utf-8", errors="replace") as text:
    found += list(runs(text))
base = int(found[0].split()[2]) // 10**9
for at, line in (since(line, base) for line in found):
    if at < float(sys.argv[3]):
        print(line)

#!/usr/bin/env python3
"""Run inside gdb: commands from a file, one a line; what each printed, or the error that it gave.

      commands ─▶ gdb.execute ─▶ standard output:   a mark, the command, what it printed, next mark

An error is one line, `error: …`; the session goes on. Driven by tests/tests/gdb/session.rs.
"""
import os

import gdb

MARK = "\x01"


def run(command):
    """What a command printed; its error, if it had one."""
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as error:
        return "error: %s\n" % error


with open(os.environ["GDB_SESSION"], encoding="utf-8") as session:
    for line in session.read().splitlines():
        print(MARK + line, flush=True)
        print(run(line), end="", flush=True)

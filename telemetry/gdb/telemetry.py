#!/usr/bin/env python3
"""Commands for gdb (13 and later): the event log of a process or core. `source telemetry.py`

    (gdb) telemetry dump -n 20            the last twenty events of all threads, newest last
    (gdb) help telemetry                  the other commands

      memory.py ─▶ root.py ─▶ stream.py ─▶ core.py ─▶ eventcnv ─▶ report.py, commands.py ─▶ you
                                └────────▶ switches.py ◀─ set, reset, flush

Every program that records carries these files (but this one) as one text, and gdb runs it by itself
if the program's path is in `auto-load safe-path` (src/inspect/debug/mod.rs). Such a text has no
directory that it could import from. Hence the form of these files: all run in the one namespace
that gdb has; what they put there is called Telemetry… or telemetry_…; and none uses another while
it is being run. This file does nothing but run them, for those who `source` it.

Design: `.debug.commands` in design/telemetry.md; sections 3, 5 and 9 of design/format.md.
"""
import os

TELEMETRY_FILES = ("memory", "root", "core", "stream", "report", "switches", "commands")


def telemetry_source():
    """Runs the files next to this one."""
    directory = os.path.dirname(os.path.abspath(telemetry_source.__code__.co_filename))
    for name in TELEMETRY_FILES:
        path = os.path.join(directory, name + ".py")
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), globals())  # pylint: disable=exec-used


telemetry_source()

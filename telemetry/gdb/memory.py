#!/usr/bin/env python3
"""The memory of the process or core that gdb looks at: what can be read, and where to search.

      info proc mappings (live) ─┐                      ┌─ data: files that can be written, private
      load sections (core) ──────┴─▶ what is writable ──┴─ rest: heaps, stacks, anonymous memory

Design: `.debug.core` in design/telemetry.md; `.root.magic` in design/format.md.
"""
import re

import gdb


class TelemetryMemory:
    """The memory of the inferior. Tests put another one in its place, with the same methods."""

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        if not self.inferior.pid:
            raise TelemetryError("there is no process and no core: run or attach to a program, or"
                                 " name a core")
        connection = self.inferior.connection
        self.is_live = connection is None or connection.type != "core"

    def read(self, address, size):
        """Reads bytes; fewer, from the first on, if not all can be read."""
        try:
            return bytes(self.inferior.read_memory(address, size)) if size else b""
        except (gdb.error, OverflowError):
            return self.read_pages(address, size) if size > 1 else b""

    def read_pages(self, address, size):
        """What is before the first byte that cannot be read: page by page, then halves of one."""
        data = bytearray()
        while len(data) < size:
            begin = address + len(data)
            step = min(size - len(data), 4096 - begin % 4096)
            while step:
                try:
                    data += bytes(self.inferior.read_memory(begin, step))
                    break
                except (gdb.error, OverflowError):
                    step = 0 if begin % 4096 == 0 else step // 2
            if not step:
                break
        return bytes(data)

    def write(self, address, data):
        """Stores; only a live process has memory that can be changed."""
        try:
            self.inferior.write_memory(address, data)
        except gdb.error as error:
            raise TelemetryError("cannot write at 0x%X: %s" % (address, error)) from None

    def symbol(self, name):
        """The address of a symbol, of debug information or not; None: there is none."""
        try:
            return int(telemetry_in_c("(unsigned long long) &%s" % name))
        except gdb.error:
            return None

    def regions(self):
        """Pieces of memory that can be written: data of programs and libraries, and the rest."""
        try:
            mapped = gdb.execute("info proc mappings", to_string=True)
        except gdb.error:
            mapped = ""
        line = r"^ *0x([0-9a-f]+) +0x([0-9a-f]+)(?: +0x[0-9a-f]+){2}(?: +([-rwxsp]{4})\b)?(.*)$"
        pieces = [(int(begin, 16), int(end, 16), permissions, name.strip())
                  for begin, end, permissions, name in re.findall(line, mapped, re.M)]
        files = [(begin, end) for begin, end, permissions, name in pieces
                 if name.startswith("/") and "s" not in permissions]
        if self.is_live and pieces:
            writable = [(begin, end) for begin, end, permissions, _ in pieces
                        if "w" in permissions or not permissions]
        else:
            writable = self.sections()
        data = [piece for piece in writable if any(b <= piece[0] < e for b, e in files)]
        return data, sorted(set(writable) - set(data))

    def sections(self):
        """The writable pieces that a core has; of a live process that is not known better, those
        of its objects."""
        core = gdb.execute("maintenance info sections", to_string=True)
        line = r"^ *(?:\[\d+\])? *0x([0-9a-f]+)->0x([0-9a-f]+) at 0x[0-9a-f]+: (.*)$"
        return [(int(begin, 16), int(end, 16)) for begin, end, flags in re.findall(line, core, re.M)
                if "ALLOC" in flags and "READONLY" not in flags and int(begin, 16)]


def telemetry_in_c(expression):
    """The value of an expression in C, whatever the language of the program is."""
    language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        return gdb.parse_and_eval(expression)
    finally:
        gdb.execute("set language " + language, to_string=True)

#!/usr/bin/env python3
"""Switching kinds on and off in a stopped process, and having it flush.

      set Pool ─▶ output mask of each registry ─▶ the process sees it at its next block or flush
      flush ────▶ EventFlush, by its address in the root, while other threads stay stopped

Design: `.control.output`, `.debug.dump` in design/telemetry.md; section 9 of design/format.md.
"""
import re
import struct

import gdb

TELEMETRY_ALL = 2**64 - 1


def telemetry_bits(word, registry):
    """The kinds that a word stands for in a registry, as in MPS_TELEMETRY_CONTROL: a name, a
    number in C notation, or all. None: it stands for none."""
    if word.lower() == "all":
        return TELEMETRY_ALL
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*", word):
        digits = "0o" + word[1:] if re.fullmatch(r"0[0-7]+", word) else word
        return int(digits, 0) & TELEMETRY_ALL
    return next((1 << kind["index"] for kind in registry["kinds"]
                 if kind["name"].lower() == word.lower()), None)


def telemetry_switch(stream, words, is_on):
    """Sets or resets the output of kinds, in every registry that has them. `EventKindControl`,
    where a bit is an order to all registries, the process brings in line with that by itself."""
    if not stream.memory.is_live:
        raise TelemetryError("a core cannot be changed: kinds are switched in a process")
    for mask in stream.masks():
        registry, bits = stream.registries().get(mask.index, {"kinds": []}), 0
        for word in words:
            bits |= telemetry_bits(word, registry) or 0
        if mask.index:
            kinds = sum(1 << kind["index"] for kind in registry["kinds"])
            telemetry_store_bits(stream, mask.output, bits & kinds, is_on)


def telemetry_check_kinds(streams, words):
    """Raises an error for the first word that stands for no kind of any registry."""
    registries = [registry for stream in streams
                  for index, registry in stream.registries().items() if index]
    for word in words:
        if all(telemetry_bits(word, registry) is None for registry in registries):
            raise telemetry_no_kind(streams[0], word)


def telemetry_store_bits(stream, address, bits, is_on):
    """Sets or resets bits of eight bytes."""
    now = stream.root.word(address)
    if now is None:
        raise TelemetryError("the mask at 0x%X cannot be read" % address)
    now = now | bits if is_on else now & ~bits
    stream.memory.write(address, struct.pack(stream.root.order + "Q", now & TELEMETRY_ALL))


def telemetry_no_kind(stream, asked):
    """The error for a kind that no registry has."""
    known = list(dict.fromkeys(kind["name"] for registry in stream.registries().values()
                               for kind in registry["kinds"]))
    return TelemetryError("no kind is called %s; there are %s"
                          % (asked, ", ".join(known) or "none"))


def telemetry_spoils_registers(memory):
    """Whether this gdb cannot put all registers back after a call: one before 14 knows too little
    of processors with AMX."""
    connection, version = memory.inferior.connection, re.search(r"\d+", gdb.VERSION)
    if connection is None or connection.type != "native" or not version or int(version[0]) >= 14:
        return False
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as processors:
            return any(line.startswith("flags") and "amx_tile" in line.split()
                       for line in processors)
    except OSError:
        return False


def telemetry_flush(stream, is_forced):
    """Calls `EventFlush`. Returns what it returned; None if gdb could not tell."""
    if not stream.memory.is_live:
        raise TelemetryError("a core cannot flush: telemetry save FILE makes a log of it")
    if not is_forced and telemetry_spoils_registers(stream.memory):
        raise TelemetryError("not called: this gdb (before 14) cannot put all registers of a"
                             " processor with AMX back after a call, and the process may go wrong"
                             " when it goes on; telemetry save FILE needs no call; telemetry flush"
                             " --force calls all the same")
    if not stream.root.flush:
        raise TelemetryError("the root at 0x%X names no EventFlush" % stream.root.address)
    before = [(name, telemetry_parameter(name, "on"))
              for name in ("scheduler-locking", "unwindonsignal")]
    try:
        return int(telemetry_in_c("((long (*)(void)) 0x%X)()" % stream.root.flush))
    except gdb.error as error:
        if "extended state" not in str(error):
            raise
        # It was called; only then gdb found that it knows too little of the processor.
        stream.faults.append("this gdb could not put the vector registers back (processors with"
                             " AMX need gdb 14): the process may go wrong when it goes on")
        return None
    finally:
        for name, value in before:
            telemetry_parameter(name, value)


def telemetry_parameter(name, value):
    """Sets a parameter of gdb, if the target has it. Returns what it was."""
    before = gdb.parameter(name)
    try:
        gdb.execute("set %s %s" % (name, value), to_string=True)
    except gdb.error:
        pass
    return {True: "on", False: "off"}.get(before, before)

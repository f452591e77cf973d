#!/usr/bin/env python3
"""Run inside gdb: a process is stopped at every instruction of some calls of `step_here`.

      call 7 │ stepi, dump │ stepi, dump │ …      each dump: the events before, or with this one
             └ by the commands' own code, wherever any byte that it read last time is another
      some stops ─▶ N.core, N.text                what memory was, what these commands show of it

`step_calls`: first two calls early in a block; then two that find no room: one goes to a block that
was never used, one to a block that is used again. Time passes meanwhile, so that there are base
records too. Prints a line for each call: how many instructions, and which events were there, as
that changed. `step_first`: the first call, which makes all that recording needs, in larger steps.
Both raise what is wrong. Driven by tests/tests/gdb/steps.rs.
"""
import os
import struct

import gdb

SAMPLE = 97                          # one of this number of stops leaves a core, for any output
STRIDE, STRIDE_SAMPLE = 97, 12       # in the first call: instructions to a stop, stops to a core
SIZE = 32                            # of an event; a base record has 24
CLOCK = {"x86_64": "__vdso_clock_gettime",
         "aarch64": "__kernel_clock_gettime"}[os.uname().machine]
CALLS_MAX, ROOTS = 400, []
HISTORY = (4096 - 128 - 12 * 24) // SIZE    # least events of a block: this number always stays


class Watched(TelemetryMemory):
    """Memory that knows whether what was read of it has changed: what is shown depends on that."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def read(self, address, size):
        data = super().read(address, size)
        self.known[address, size] = data
        return data

    def has_changed(self):
        """Returns whether memory changed: then all is read again."""
        if all(super(Watched, self).read(*place) == data for place, data in self.known.items()):
            return False
        self.known = {}
        return True


def save_core(index, text):
    """Leaves a core of what can be written, and what is shown of it."""
    pid, pieces = gdb.selected_inferior().pid, []
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps, \
            open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        for line in maps:
            span, permissions = line.split()[:2]
            if permissions.startswith("rw"):
                begin, end = (int(each, 16) for each in span.split("-"))
                mem.seek(begin)
                pieces.append((begin, mem.read(end - begin)))
    machine = {"x86_64": 62, "aarch64": 183}[os.uname().machine]
    headers, at = b"", (64 + 56 * len(pieces) + 4095) // 4096 * 4096
    for begin, data in pieces:
        headers += struct.pack("<IIQQQQQQ", 1, 6, at, begin, 0, len(data), len(data), 1)
        at += len(data)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 4, machine, 1, 0, 64, 0, 0, 64, 56, len(pieces), 64, 0, 0)
    with open("%d.core" % index, "wb") as core:
        core.write((head + headers).ljust(at - sum(len(data) for _, data in pieces), b"\0"))
        # Pages of zeros take no room on the disk.
        for page in (data[i:i + 4096] for _, data in pieces for i in range(0, len(data), 4096)):
            if any(page):
                core.write(page)
            else:
                core.seek(len(page), os.SEEK_CUR)
        core.truncate()
    with open("%d.text" % index, "w", encoding="utf-8") as out:
        out.write(text)


def dump(watched):
    """What `telemetry dump` shows of a stream; None where there is no root yet. Of the memory that
    it depends on, the headers and the events are watched."""
    stream = begun(watched)
    if stream is None:
        return None
    for block in stream.blocks:
        list(stream.events(*block))
    stream.memory = TelemetryMemory()
    text = telemetry_ask([stream], "-v")
    assert not stream.faults, stream.faults
    return text


def begun(memory):
    """The stream; None where there is no root yet."""
    if telemetry_root_state(memory, ROOTS[0]) == "unused":
        return None
    stream, = streams(memory)
    return stream


def streams(memory):
    """Decodes the streams again; it finds the roots once."""
    for root in ROOTS:
        yield TelemetryStream(memory, TelemetryRoot(memory, root))


def shown(text):
    """The events of the program in a dump, oldest first, as (number, values)."""
    lines = (line.split() for line in text.splitlines())
    all_values = ([int(word, 16) for word in words[2:]] for words in lines if words[1] == "Made")
    return [(values[1], values) for values in all_values]


def check(events, before, call):
    """Judges what is shown in a call, after what was shown before. Returns first and end."""
    numbers = [number for number, _ in events]
    first, end = numbers[0], numbers[-1] + 1
    assert numbers == list(range(first, end)), numbers
    assert end in (call, call + 1), (call, first, end)
    assert before[0] <= first and before[1] <= end, (before, first, end)
    assert end - first >= min(end, HISTORY), (first, end)
    for number, values in events:
        assert values == [0, number, number * number], (number, values)
    return first, end


def room(memory):
    """How much is free in the newest block of the events."""
    stream, = streams(memory)
    return max((header.first + header.count, header.last - 128) for _, header in stream.blocks
               if header.registry == 1)[1]


def register(name):
    """The value of a register."""
    return int(gdb.newest_frame().read_register(name)) & 2**64 - 1


def clocks():
    """Where the kernel's code is that reads clocks, from and to: the vDSO."""
    with open("/proc/%d/maps" % gdb.selected_inferior().pid, encoding="utf-8") as maps:
        for line in maps:
            if line.rstrip().endswith("[vdso]"):
                return tuple(int(each, 16) for each in line.split()[0].split("-"))
    return 0, 0


def step(memory, vdso, instructions=1):
    """Steps some instructions; through a reading of the clock at once, for it begins again whenever
    a tick of the kernel comes, which at this pace is always."""
    gdb.execute("stepi %d" % instructions, to_string=True)
    if vdso[0] <= register("pc") < vdso[1]:
        caller = int.from_bytes(memory.read(register("sp"), 8), "little")
        gdb.execute("tbreak *0x%X" % caller, to_string=True)
        gdb.execute("continue", to_string=True)


def step_through(call, memory):
    """Steps through the call where the process is stopped."""
    vdso = clocks()
    stack, outer = register("sp"), memory.read(register("sp"), 8)
    watched, seen, count, decoded = Watched(), [(0, 0)], 0, 0
    while True:
        is_sample = count % SAMPLE == 0
        if count == 0 or watched.has_changed():
            text = dump(watched)
            now = check(shown(text), seen[-1], call)
            decoded += 1
            if now != seen[-1]:
                seen.append(now)
                is_sample = True
        if is_sample:
            save_core(call * 10**6 + count, text)
        if register("sp") > stack and register("pc") == int.from_bytes(outer, "little"):
            break
        step(memory, vdso)
        count += 1
    assert seen[-1][1] == call + 1, seen
    print("call %d: %d instructions, %d states of memory, shown %s"
          % (call, count, decoded, seen[1:]))


def forget_symbols():
    """Without symbols gdb has nothing to look up at each instruction."""
    gdb.execute("break *0x%X" % register("pc"), to_string=True)
    gdb.execute("delete 1", to_string=True)
    gdb.execute("symbol-file", to_string=True)


def step_first():
    """Steps through the first call: there is no root, then no event, then one."""
    memory, count, seen = TelemetryMemory(), 0, []
    ROOTS.append(memory.symbol("EventRoot"))
    # Larger steps end where a reading of the clock begins.
    clock, vdso = memory.symbol(CLOCK), clocks()
    assert vdso[0] <= clock < vdso[1], (clock, vdso)
    forget_symbols()
    gdb.execute("break *0x%X" % clock, to_string=True)
    stack, outer = register("sp"), int.from_bytes(memory.read(register("sp"), 8), "little")
    gdb.execute("break *0x%X" % outer, to_string=True)
    while True:
        text = dump(memory)
        numbers = None if text is None else [event[0] for event in shown(text)]
        assert numbers in (None, [], [0]), numbers
        has_more = not seen or numbers != seen[-1]
        if has_more:
            seen.append(numbers)
        if has_more or count % STRIDE_SAMPLE == 0:
            save_core(count, "none\n" if text is None else text)
        if register("sp") > stack and register("pc") == outer:
            break
        step(memory, vdso, STRIDE)
        count += 1
    assert seen == [None, [], [0]], seen
    print("first: %d stops" % count)


def step_calls():
    """Steps through some calls."""
    memory, left = TelemetryMemory(), 2
    gdb.execute("continue", to_string=True)
    ROOTS.extend(root.address for root in telemetry_roots(memory))
    forget_symbols()
    for call in range(1, CALLS_MAX):
        if call > 1:
            gdb.execute("continue", to_string=True)
        if call in (1, 7):
            step_through(call, memory)
        elif call >= HISTORY and room(memory) < SIZE:
            step_through(call, memory)
            left -= 1
        if left == 0:
            return
    raise AssertionError("no block was full")

#!/usr/bin/env python3
"""`hostile.py CORE` (outside of gdb): the commands' decoder on memory with garbage anywhere.

      core ─▶ memory ─▶ one field overwritten, or a piece cut off ─▶ all that commands show
                                                                       └ text, faults, or one error

For each field of the root, of nodes and entries, of the headers of blocks and parts, and of events.
Prints how many cases there were. Raises an error that is not a clear line, and what takes too long.
Driven by tests/tests/gdb/damage.rs.
"""
import os
import random
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "telemetry", "gdb")
SECONDS_MAX, ASKED = 10, 8             # eventcnv reads one of this number of cases
for script in ("root", "core", "stream", "report"):
    with open(os.path.join(SCRIPTS, script + ".py"), encoding="utf-8") as source:
        exec(compile(source.read(), script, "exec"), globals())


class Core:
    """The memory of a core, in the place of that of gdb; `patches` are what is garbage."""
    is_live = False

    def __init__(self, path):
        with open(path, "rb") as file:
            self.image = file.read()
        offset, = struct.unpack_from("<Q", self.image, 32)
        size, count = struct.unpack_from("<HH", self.image, 54)
        self.segments, self.patches, self.end = [], [], len(self.image)
        for at in range(offset, offset + size * count, size):
            kind, flags, begin, address, _, length = struct.unpack_from("<IIQQQQ", self.image, at)
            if kind == 1 and flags & 2 and length:
                self.segments.append((address, begin, length))

    def read(self, address, size):
        """Returns `size` bytes, or fewer at the end of memory."""
        for begin, offset, length in self.segments:
            if begin <= address < begin + length:
                at = offset + address - begin
                data = bytearray(self.image[at:min(at + min(size, begin + length - address),
                                                   self.end)])
                for place, patch in self.patches:
                    for index, byte in enumerate(patch, place - address):
                        if 0 <= index < len(data):
                            data[index] = byte
                return bytes(data)
        return b""

    def symbol(self, _name):
        """There is none."""

    def regions(self):
        """All that can be written."""
        return [], [(begin, begin + length) for begin, _, length in self.segments]


def show(memory, asks=True):
    """All that the commands would show, as text; or the one error."""
    begin, text = time.process_time(), []
    try:
        for stream in telemetry_open(memory):
            for block in stream.blocks:
                for event in stream.events(*block):
                    assert telemetry_event_at(stream, event[1]) is not None
            telemetry_event_at(stream, stream.extents[-1][0] + 4000 if stream.extents else 0)
            telemetry_last_addresses(stream.root)
            assert os.path.getsize(stream.core()) < 2 * len(memory.image)
            if asks:
                text += [telemetry_ask([stream], "-vv"), telemetry_status(stream)]
            for fault in stream.faults:
                assert "\n" not in fault and fault, fault
            text += stream.faults
    except TelemetryError as error:
        text = ["error: %s" % error]
        assert str(error) and "\n" not in str(error), error
    taken = time.process_time() - begin
    assert taken < SECONDS_MAX, (memory.patches, taken)
    return text


def places(memory):
    """The fields that are overwritten: (what, address, size)."""
    root, = telemetry_roots(memory)
    stream = TelemetryStream(memory, root)
    layout = (16, 4, 2, 2, 1, 1, 1, 5, 8, 16, 8, 8, 8, 4, 4, 8, 8, 8) + (8,) * 9
    chains = [("extents", root.extents, 32), ("registries", root.registries, 24)]
    tables = [("root", root.address, layout)]
    for name, address, _ in chains:
        tables.append((name, address, (8, 4, 4)))
    for index in range(4):
        tables.append(("extent", root.extents + 16 + 32 * index, (8, 4, 1, 1, 2, 8, 4)))
    tables.append(("registry", root.registries + 16, (4, 4, 8, 8)))
    header = (4, 1, 1, 1, 1, 4, 2, 1, 1, 8) + (4,) * 4 + (8,) * 4 + (4, 4) + (8,) * 4 + (4,) * 4
    rings = [block for block in stream.blocks if block[1].registry]
    for address, block in (rings[0], rings[-1]):
        tables.append(("block", address, header))
        tables.append(("event", address + block.last, (2, 2, 4, 8, 8)))
    first = stream.extents[0][0]
    tables.append(("stream header", first, (8, 2, 2, 2, 2, 4, 1, 1, 2, 4, 4, 16)))
    tables.append(("part", first + 512, header))
    tables.append(("encoding", first + 640, (2, 2, 2, 2, 4, 8, 8, 2, 2)))
    for what, address, sizes in tables:
        for size in sizes:
            yield what, address, size
            address += size


def main():
    """Tries every garbage in every field, and every cut."""
    memory, chance, count = Core(sys.argv[1]), random.Random(4), 0
    sound = show(memory)
    assert len(sound) == 2 and sound[0].count("\n") > 100, sound[:3]
    root = telemetry_roots(memory)[0]
    for what, address, size in list(places(memory)):
        addresses = [root.address, root.extents, root.extents + 8, memory.segments[-1][0]]
        values = [bytes(size), b"\xff" * size, chance.randbytes(size), b"\x7f" + bytes(size - 1)]
        if size == 8:
            values += [struct.pack("<Q", each) for each in addresses]
        for value in values:
            memory.patches = [(address, value)]
            text = show(memory, count % ASKED == 0)
            count += 1
            if what == "root" and address < root.address + 16:
                assert text[0].startswith("error: no event log here"), text
    memory.patches = []
    for percent in range(0, 100, 5):
        memory.end = len(memory.image) * percent // 100
        show(memory)
        count += 1
    print("%d cases" % count)


main()

#!/usr/bin/env python3
"""The stream of one root: its blocks by buffer, and all its memory.

      extents ─▶ blocks ─▶ headers ─▶ buffers       0      128         last                     top
                                                    ├ header ┼ ··· gap ·┼ event n+1 ┼ event n ┤
Registries and events are eventcnv's to read. Design: `.debug.core` in design/telemetry.md; sections
3, 4 and 9 of design/format.md.
"""
import json
import struct
import tempfile
from collections import namedtuple

TELEMETRY_EXTENT, TELEMETRY_MASKS = "QIBBHQI4x", "I4xQQ"                      # .root.extent
TELEMETRY_PREAMBLE, TELEMETRY_EXTENT_KINDS = 1, (1, 2, 3, 4)
TELEMETRY_BLOCKS_MAX = 1 << 18       # blocks that are looked at, in memory that may be garbage
TELEMETRY_BLOCK_MAGIC, TELEMETRY_EVENTS = b"\xf7EL\x8a", 1                     # .block.magic
TELEMETRY_HEADER_SIZE = 128
TELEMETRY_HEADER = struct.Struct("<4sB7xHBx8sIIII8xQ16xI28xQIIII")            # 3.1

TelemetryHeader = namedtuple("TelemetryHeader", "magic type registry kind stream last count top"
                             " buffer first thread overwritten full nested large io")
TelemetryMask = namedtuple("TelemetryMask", "index recorded output")


class TelemetryStream:
    """A stream as memory has it now."""

    def __init__(self, memory, root):
        self.memory, self.root, self.faults = memory, root, root.faults
        self.header = b""
        self.blocks, self.count = [], 0       # (address, header): those of events
        self.buffers, self.counts = {}, {}    # newest first
        self.extents, self.file, self.known = [], None, None
        if not root.block_size:
            raise TelemetryError("nothing was recorded yet: the root at 0x%X has no blocks"
                                 % root.address)
        self.look_at_extents()
        for blocks in self.buffers.values():
            blocks.sort(key=lambda block: (block[1].first + block[1].count, block[1].count),
                        reverse=True)

    def look_at_extents(self):
        """Finds the blocks in memory (`.root.stream`)."""
        seen, looked, size = set(), 0, self.root.block_size
        for address, count, what, _, _, counts, buffer in self.root.entries(
                self.root.extents, TELEMETRY_EXTENT, "extents"):
            if what not in TELEMETRY_EXTENT_KINDS:
                continue
            if counts:
                self.counts[buffer] = counts
            for place in range(address, address + count * size, size):
                looked += 1
                if looked > TELEMETRY_BLOCKS_MAX:
                    return self.faults.append("more than %d blocks: the rest is left out"
                                              % TELEMETRY_BLOCKS_MAX)
                data = self.memory.read(place, TELEMETRY_HEADER_SIZE)
                if len(data) < TELEMETRY_HEADER_SIZE:
                    self.faults.append("%d blocks at 0x%X are unreadable"
                                       % (count - (place - address) // size, place))
                    break
                if place not in seen:
                    seen.add(place)
                    self.extents.append((place, size))
                    self.look_at_block(place, data, what)
        return None

    def look_at_block(self, address, data, what):
        """Takes a block in, if it is one of events in this stream."""
        if what == TELEMETRY_PREAMBLE and not self.header:
            self.header = self.memory.read(address, 512)
            self.count += 1
            return
        header = TelemetryHeader(*TELEMETRY_HEADER.unpack(data))
        if header.magic != TELEMETRY_BLOCK_MAGIC or header.stream != self.root.uuid[:8]:
            return                                                            # .block.stream
        self.count += 1
        is_sound = TELEMETRY_HEADER_SIZE <= header.last <= header.top <= self.root.block_size
        if header.type == TELEMETRY_EVENTS and is_sound:
            self.blocks.append((address, header))
            self.buffers.setdefault(header.buffer, []).append((address, header))

    def pieces(self):
        """Returns the memory that the stream is in: addresses and sizes."""
        masks = [(place, 8) for mask in self.masks() for place in mask[1:] if place]
        counts = [(place, 40) for place in self.counts.values()]
        return self.root.pieces + self.extents + counts + masks

    def core(self):
        """Returns the path of a core of the stream, which goes with this object."""
        if self.file is None:
            self.file = tempfile.NamedTemporaryFile(prefix="telemetry-", suffix=".core")
            telemetry_core([self], self.file)
        return self.file.name

    def registries(self):
        """Returns the registries, by index, as eventcnv declares them."""
        if self.known is None:
            lines = telemetry_ask([self], "registry", "--json").splitlines()
            registries = map(json.loads, lines)
            self.known = {registry["registry"]: registry for registry in registries}
        return self.known

    def events(self, address, header):
        """The events in a block, newest first: number, address, size (`.read.chain`)."""
        data = self.memory.read(address + header.last, header.top - header.last)
        at, number = 0, header.first + header.count
        while at + 8 <= len(data):
            code, size = struct.unpack_from(self.root.order + "HH", data, at)
            if size < 8 or size % 8 or at + size > len(data):
                return
            if code:
                number -= 1
                yield number, address + header.last + at, size
            at += size

    def masks(self):
        """Where the masks of each registry are."""
        return [TelemetryMask(*entry) for entry in
                self.root.entries(self.root.registries, TELEMETRY_MASKS, "registries")]

    def totals(self, buffer):
        """What a buffer lost: full, nested, large, io, overwritten (`.root.counts`)."""
        newest = self.buffers[buffer][0][1]
        known = newest.full, newest.nested, newest.large, newest.io, newest.overwritten
        data = self.memory.read(self.counts.get(buffer, 0), 40) if buffer in self.counts else b""
        now = struct.unpack(self.root.order + "5Q", data) if len(data) == 40 else known
        return tuple(map(max, known, now))


def telemetry_open(memory):
    """The streams of all roots."""
    return [TelemetryStream(memory, root) for root in telemetry_roots(memory)]

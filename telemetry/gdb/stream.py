#!/usr/bin/env python3
"""The stream of one root: its blocks by buffer, its registries, its events newest first.

      extents ─▶ blocks ─┬─ preamble, parts ─▶ registries
                         └─ buffers: newest block first, read when its time has come ── merge ─▶

Design: `.debug.core` in design/telemetry.md; section 9 of design/format.md.
"""
import heapq
import struct
from collections import namedtuple

TELEMETRY_EXTENT, TELEMETRY_MASKS = "QIBBHQI4x", "I4xQQ"                      # .root.extent
TELEMETRY_PREAMBLE, TELEMETRY_EXTENT_KINDS = 1, (1, 2, 3, 4)
TELEMETRY_BLOCKS_MAX = 1 << 18       # blocks that are looked at, in memory that may be garbage
TELEMETRY_ENCODED_MAX = 1 << 24      # bytes of registries                      .registry.trust

TelemetryMask = namedtuple("TelemetryMask", "index recorded output")


class TelemetryStream:
    """A stream as memory has it now."""

    def __init__(self, memory, root, index):
        self.memory, self.root, self.index, self.faults = memory, root, index, root.faults
        self.first, self.header = None, b""
        self.blocks = []                  # (address, block or None: block 0), in order
        self.buffers, self.counts = {}, {}
        self.encoded, self.registries = {}, {}
        if not root.block_size:
            raise TelemetryError("nothing was recorded yet: the root at 0x%X has no blocks"
                                 % root.address)
        self.look_at_extents()
        for number, pieces in self.encoded.items():
            registry = TelemetryRegistry(number, pieces, root.order, root.word_size)
            self.registries[number] = registry
            if not registry.is_whole:
                self.faults.append("registry %d does not parse" % number)
        for blocks in self.buffers.values():
            blocks.sort(key=lambda block: (block.end_number(), block.header.count), reverse=True)

    def look_at_extents(self):
        """Finds the blocks in memory (`.root.stream`)."""
        seen, looked = set(), 0
        for address, count, what, _, _, counts, buffer in self.root.entries(
                self.root.extents, TELEMETRY_EXTENT, "extents"):
            if what not in TELEMETRY_EXTENT_KINDS:
                continue
            if counts:
                self.counts[buffer] = counts
            for place in range(address, address + count * self.root.block_size,
                               self.root.block_size):
                looked += 1
                if looked > TELEMETRY_BLOCKS_MAX:
                    return self.faults.append("more than %d blocks: the rest is left out"
                                              % TELEMETRY_BLOCKS_MAX)
                data = self.memory.read(place, TELEMETRY_HEADER_SIZE)
                if len(data) < TELEMETRY_HEADER_SIZE:
                    self.faults.append("%d blocks at 0x%X are unreadable"
                                       % (count - (place - address) // self.root.block_size, place))
                    break
                if place not in seen:
                    seen.add(place)
                    self.look_at_block(place, data, what)
        return None

    def look_at_block(self, address, data, what):
        """Takes a block in, if it is valid."""
        if what == TELEMETRY_PREAMBLE and self.first is None:
            return self.look_at_first(address)
        block = telemetry_block(self.root, address, data)
        if block is None:
            return None
        fault = block.fault()
        if fault:
            return self.faults.append("the block at 0x%X is damaged: it %s" % (address, fault))
        self.blocks.append((address, block))
        if block.header.type == TELEMETRY_EVENTS:
            self.buffers.setdefault(block.header.buffer, []).append(block)
        elif block.header.type == TELEMETRY_PARTS:
            self.look_at_parts(address, 8 * block.header.header_size)
        return None

    def look_at_first(self, address):
        """Takes block 0 in: the stream header, and parts (`.root.preamble`)."""
        self.first = address
        self.header = self.memory.read(address, 512)
        if len(self.header) < 512 or self.header[:8] != TELEMETRY_STREAM_MAGIC:
            return self.faults.append("there is no stream header at 0x%X" % address)
        crc, = struct.unpack_from("<I", self.header, 28)
        if telemetry_crc(self.header[:28], bytes(4), self.header[32:]) != crc:  # .header.crc
            self.faults.append("the stream header at 0x%X has a wrong checksum" % address)
        self.blocks.append((address, None))
        return self.look_at_parts(address, max(512, struct.unpack_from("<H", self.header, 14)[0]))

    def look_at_parts(self, address, at):
        """Takes the parts of a block in."""
        data = self.memory.read(address, self.root.block_size)
        for part, payload in telemetry_parts(self.root, address, data, at, self.faults):
            if part.header.type == TELEMETRY_EVENTS:
                self.buffers.setdefault(part.header.buffer, []).append(part)
            elif part.header.type == TELEMETRY_REGISTRY:                      # .part.registry
                encoded = self.encoded.setdefault(part.header.registry, bytearray())
                size = sum(map(len, self.encoded.values()))
                if part.header.first == len(encoded) and size < TELEMETRY_ENCODED_MAX:
                    encoded += payload
                elif part.header.first > len(encoded):
                    self.faults.append("a piece of registry %d is missing" % part.header.registry)

    def registry(self, index):
        """A registry; one that knows nothing, if it is not there (`.event.unknown`)."""
        if index not in self.registries:
            self.registries[index] = TelemetryRegistry(index, b"", self.root.order,
                                                       self.root.word_size)
        return self.registries[index]

    def event_type(self, event):
        """The type of an event; None if it is unknown."""
        return self.registry(event.block.header.registry).types.get(event.code)

    def events(self, wanted=lambda header: True):
        """The events in the blocks whose header is wanted, newest first. A block is read when the
        first of its events is asked for."""
        buffers = ([block for block in blocks if wanted(block.header)]
                   for blocks in self.buffers.values())
        return heapq.merge(*(self.of_buffer(blocks) for blocks in buffers if blocks), reverse=True)

    def of_buffer(self, blocks):
        """The events of the blocks of one buffer, newest first, each once (`.event.identity`)."""
        number = 1 << 64
        for block in blocks:
            for event in block.events(self.memory, self.index, self.faults):
                if event.number < number:
                    number = event.number
                    yield event

    def values(self, event):
        """The parameters of an event and their values."""
        data = event.block.data[event.at:event.at + event.size]
        return telemetry_values(self.event_type(event), data)

    def store(self):
        """The events of registry 0, which name things, oldest first (`.store`)."""
        return sorted(self.events(lambda header: header.registry == 0))

    def masks(self):
        """Where the masks of each registry are."""
        return [TelemetryMask(*entry) for entry in
                self.root.entries(self.root.registries, TELEMETRY_MASKS, "registries")]

    def totals(self, buffer):
        """What a buffer lost: full, nested, large, io, overwritten (`.root.counts`)."""
        newest = self.buffers[buffer][0].header
        known = newest.full, newest.nested, newest.large, newest.io, newest.overwritten
        data = self.memory.read(self.counts.get(buffer, 0), 40) if buffer in self.counts else b""
        now = struct.unpack(self.root.order + "5Q", data) if len(data) == 40 else known
        return tuple(map(max, known, now))


def telemetry_open(memory):
    """The streams of all roots, and what was found wrong."""
    return [TelemetryStream(memory, root, index)
            for index, root in enumerate(telemetry_roots(memory))]

#!/usr/bin/env python3
"""A block or part in memory: its header, its checksum, and the chain of its events.

      0        128            last                                        top
      ├ header ┼ ···· gap ···· ┼ event n+2 ┼ event n+1 ┼ base ┼ event n ┤     n = first
                               newest ───── chain, one read ────▶ oldest

Design: `.debug.buffer.reverse` in design/telemetry.md; sections 3 and 4 of design/format.md.
"""
import struct
from collections import namedtuple

TELEMETRY_STREAM_MAGIC = b"\xd5EVL\r\n\x1a\0"                                 # .header.magic
TELEMETRY_BLOCK_MAGIC = b"\xf7EL\x8a"                                         # .block.magic
TELEMETRY_EVENTS, TELEMETRY_PARTS, TELEMETRY_REGISTRY = 1, 2, 3               # .block.type
TELEMETRY_SEALED, TELEMETRY_BIG, TELEMETRY_WIDE = 1, 2, 4                     # .block.flags
TELEMETRY_HEADER = struct.Struct("<4sBBBBIHBx8sIIIIQQQQIIQQQQIIII")           # 3.1
TELEMETRY_HEADER_SIZE = 128
TELEMETRY_CRC_TABLE = list(range(256))
for _ in range(8):
    TELEMETRY_CRC_TABLE = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in TELEMETRY_CRC_TABLE]

TelemetryHeader = namedtuple(
    "TelemetryHeader", "magic type flags log_size header_size crc registry kind stream last count"
    " top buffer sequence first base base_last thread sync_uncertainty sync_ticks sync_monotonic"
    " sync_realtime overwritten full nested large io")

# Ordered by time; of one time by buffer and number (`.time.order`). No two are equal.
TelemetryEvent = namedtuple("TelemetryEvent", "ticks stream buffer number block code at size")


def telemetry_crc(*pieces):
    """CRC-32C (`.crc`)."""
    table, crc = TELEMETRY_CRC_TABLE, 0xFFFFFFFF
    for byte in b"".join(pieces):
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class TelemetryBlock:
    """A block or part with its magic and the stream's mark: where its events are, not yet read."""

    def __init__(self, root, address, data, is_part):
        self.root, self.address, self.raw = root, address, data
        self.header = TelemetryHeader(*TELEMETRY_HEADER.unpack_from(data))
        self.order = ">" if self.header.flags & TELEMETRY_BIG else "<"
        self.begin = address + (8 * self.header.header_size if is_part else self.header.last)
        self.size = self.header.top - self.header.last
        self.data, self.is_part = b"", is_part

    def fault(self):
        """What no header can say, in words; None if it is sound."""
        h, root = self.header, self.root
        low, high = (0, 1 << 20) if self.is_part else (8 * h.header_size, root.block_size)
        if h.log_size != root.log_size:                                       # .block.size
            return "names another block size"
        if h.header_size < 16:                                                # .block.header-size
            return "has too small a header"
        if not low <= h.last <= h.top <= high:                                # .read.sealed
            return "has its events where none can be"
        ours = (TELEMETRY_BIG if root.order == ">" else 0) \
            | (TELEMETRY_WIDE if root.word_size == 8 else 0)
        if not h.flags & TELEMETRY_SEALED and h.flags & (TELEMETRY_BIG | TELEMETRY_WIDE) != ours:
            return "is of another byte order or word size"                    # .read.open
        return None

    def checks(self, data):
        """Whether the checksum is right (`.block.crc`); of an open block it is not looked at."""
        if not self.header.flags & TELEMETRY_SEALED:
            return not self.is_part                                           # .parts.sealed
        return telemetry_crc(self.raw[:8], bytes(4), self.raw[12:], data) == self.header.crc

    def end_number(self):
        """One more than the number of its newest event."""
        return self.header.first + self.header.count

    def events(self, memory, stream, faults):
        """Its events, newest first."""
        self.data = memory.read(self.begin, self.size)
        if len(self.data) < self.size:
            faults.append("%d bytes of the block at 0x%X are unreadable"
                          % (self.size - len(self.data), self.address))
        elif not self.checks(self.data):
            faults.append("the block at 0x%X has a wrong checksum" % self.address)
            return []
        h, (chain, is_whole) = self.header, self.chain()
        if not is_whole and len(self.data) == self.size:
            faults.append("the chain of events in the block at 0x%X is broken" % self.address)
        records = [at for code, at, _, _ in chain if code == 0]
        base = h.base if is_whole else h.base_last                            # .event.base
        if records:
            base, = struct.unpack_from(self.order + "Q", self.data, records[0] + 8)
        number = h.first + (len(chain) - len(records) if is_whole else h.count)
        found = []
        for code, at, size, delta in chain:                                   # .event.number
            if code == 0:
                base, = struct.unpack_from(self.order + "Q", self.data, at + 16)
            else:
                number -= 1
                found.append(TelemetryEvent((base + delta) % 2**64, stream, h.buffer, number, self,
                                            code, at, size))
        return found

    def chain(self):
        """The events and base records from *last* to *top* as (code, offset, size, delta), and
        whether that is all of them (`.event.fill`, `.read.chain`)."""
        unpack, data, at, found = struct.Struct(self.order + "HHI").unpack_from, self.data, 0, []
        end = min(self.size, len(data))
        while at + 8 <= end:
            code, size, delta = unpack(data, at)
            if size < (8 if code else 24) or size % 8 or at + size > end:
                break
            found.append((code, at, size, delta))
            at += size
        return found, at == self.size


def telemetry_block(root, address, data, is_part=False):
    """The block or part with this header; None if there is none of this stream (`.root.stream`)."""
    if len(data) < TELEMETRY_HEADER_SIZE or data[:4] != TELEMETRY_BLOCK_MAGIC:
        return None
    if data[16:24] != root.uuid[:8]:                                          # .block.stream
        return None
    return TelemetryBlock(root, address, data[:TELEMETRY_HEADER_SIZE], is_part)


def telemetry_parts(root, address, data, at, faults):
    """The sound parts from an offset of a block on, each with its payload (`.parts.chain`)."""
    was_damaged = False
    while at + TELEMETRY_HEADER_SIZE <= len(data):
        part = telemetry_block(root, address + at, data[at:at + TELEMETRY_HEADER_SIZE], True)
        begin = part.begin - address if part else 0
        payload = data[begin:begin + part.size] if part and part.fault() is None else None
        if payload is not None and len(payload) == part.size and part.checks(payload):
            yield part, payload
            at, was_damaged = begin + (part.size + 7) // 8 * 8, False         # .parts.payload
            continue
        if any(data[at:at + 4]) and not was_damaged:
            faults.append("the parts at 0x%X are damaged" % (address + at))
            was_damaged = True
        at = telemetry_next_magic(data, at + 8)


def telemetry_next_magic(data, at):
    """The next multiple of 8 where a part may begin; the end if there is none."""
    at = data.find(TELEMETRY_BLOCK_MAGIC, at)
    while at >= 0 and at % 8:
        at = data.find(TELEMETRY_BLOCK_MAGIC, at + 1)
    return at if at >= 0 else len(data)

#!/usr/bin/env python3
"""The root, by which a stream in memory is found: what it says, and the chains that begin there.

      EventRoot ─▶ extents ─▶ node ─▶ node …     each: next, count, stride, then entries
                └▶ registries ─▶ node …

Nothing that it says is believed: each field is checked, each chain is bounded. What is wrong in it
is one line. Design: `.debug.core` in design/telemetry.md; section 9 of design/format.md.
"""
import struct

TELEMETRY_ROOT_MAGIC = bytes.fromhex("A7DD8AE17E26674CD7515DEF03FAB342")     # .root.magic
TELEMETRY_ROOT_SIZE, TELEMETRY_ROOT_VERSION = 256, 1                          # .root.version
TELEMETRY_ENTRIES_MAX, TELEMETRY_STRIDE_MAX = 1 << 20, 256                    # .root.node
TELEMETRY_PIECE = 1 << 20            # bytes that are searched at a time


class TelemetryError(Exception):
    """What the user is told, in one line."""


class TelemetryRoot:
    """What a root says. Made only of one that is sound."""

    def __init__(self, memory, address):
        self.memory, self.address, self.faults = memory, address, []
        self.pieces = [(address, TELEMETRY_ROOT_SIZE)]      # with the nodes: (address, size)
        data = memory.read(address, TELEMETRY_ROOT_SIZE)
        if len(data) < TELEMETRY_ROOT_SIZE or data[:16] != TELEMETRY_ROOT_MAGIC:
            raise TelemetryError("there is no root at 0x%X" % address)
        self.order = {b"\x0d\x0c\x0b\x0a": "<", b"\x0a\x0b\x0c\x0d": ">"}.get(data[16:20])
        if self.order is None:                                                # .root.order
            raise self.damaged("byte-order mark", data[16:20].hex())
        (version, size, self.word_size, address_size, self.log_size, itself, self.uuid, self.pid,
         self.extents, self.registries, self.sync_turn, self.sync_uncertainty, *rest
         ) = struct.unpack_from(self.order + "HHBBB5xQ16sQQQII3Q4Q5Q", data, 20)
        self.sync, self.unhoused = tuple(rest[:3]), tuple(rest[3:7])          # .root.sync
        self.dump, self.describe, self.flush, self.last, self.control = rest[7:]
        if version != TELEMETRY_ROOT_VERSION:
            raise TelemetryError("the root at 0x%X has version %d; these commands read version %d"
                                 % (address, version, TELEMETRY_ROOT_VERSION))
        if itself != address:                                                 # .root.self
            raise self.damaged("own address", "0x%X" % itself)
        if size < TELEMETRY_ROOT_SIZE:
            raise self.damaged("size", size)
        if self.word_size not in (4, 8) or address_size != self.word_size:
            raise self.damaged("word size", "%d, %d" % (self.word_size, address_size))
        if self.log_size and not 12 <= self.log_size <= 20:
            raise self.damaged("block size", "2 to the power of %d" % self.log_size)
        self.block_size = 1 << self.log_size if self.log_size else 0

    def damaged(self, what, value):
        """The error for a field that no root can have."""
        return TelemetryError("the root at 0x%X is damaged: its %s is %s"
                              % (self.address, what, value))

    def entries(self, address, layout, what):
        """The entries of a chain of nodes (`.root.node`), each once."""
        seen, left, size = set(), TELEMETRY_ENTRIES_MAX, struct.calcsize(layout)
        while address and left > 0:
            head = self.memory.read(address, 16)
            if address in seen or len(head) < 16:
                how = "comes back to" if address in seen else "leads to unreadable memory at"
                return self.faults.append("the chain of %s %s 0x%X" % (what, how, address))
            seen.add(address)
            following, count, stride = struct.unpack(self.order + "QII", head)
            if not size <= stride <= TELEMETRY_STRIDE_MAX:
                return self.faults.append("the chain of %s is damaged at 0x%X: entries of %d bytes"
                                          % (what, address, stride))
            left -= 1
            self.pieces.append((address, 16))
            for index in range(0, min(count, left), 4096):
                batch = min(count - index, left, 4096)
                data = self.memory.read(address + 16 + index * stride, batch * stride)
                self.pieces.append((address + 16 + index * stride, len(data)))
                for at in range(0, len(data) - stride + 1, stride):
                    yield struct.unpack_from(self.order + layout, data, at)
                left -= batch
                if len(data) < batch * stride:
                    return self.faults.append("the chain of %s is unreadable after 0x%X"
                                              % (what, address))
            address = following
        if address:
            self.faults.append("the chain of %s has more than %d entries"
                               % (what, TELEMETRY_ENTRIES_MAX))
        return None

    def word(self, address):
        """Eight bytes; None if they cannot be read."""
        data = self.memory.read(address, 8) if address else b""
        return struct.unpack(self.order + "Q", data)[0] if len(data) == 8 else None


def telemetry_roots(memory):
    """All roots: by their symbol, and by their magic in the data of programs and libraries. Where
    there is none, all that can be written is searched."""
    data, rest = memory.regions()
    errors, sound, unused, searched = [], [], [], 0
    places = [memory.symbol("EventRoot")]
    for pieces in (data, rest):
        searched += sum(end - begin for begin, end in pieces)
        for begin, end in pieces:
            places += telemetry_places(memory, begin, end)
        for place in sorted({place for place in places if place}):
            state = telemetry_root_state(memory, place)
            if state == "used":
                try:
                    sound.append(TelemetryRoot(memory, place))
                except TelemetryError as error:
                    errors.append(error)
            elif state == "unused":
                unused.append(place)
        if sound:
            return sound
        places = []
    if errors:
        raise errors[0]
    if unused:
        raise TelemetryError("nothing was recorded yet: the root at 0x%X is not in use" % unused[0])
    raise TelemetryError("no event log here: no symbol EventRoot, and no root in %d KiB of memory"
                         % (searched >> 10))


def telemetry_root_state(memory, place):
    """Returns "used" if the bytes are a root with its own address, "unused" for a root before the
    first event, and otherwise None."""
    data = memory.read(place, TELEMETRY_ROOT_SIZE)
    if len(data) < TELEMETRY_ROOT_SIZE or data[:16] != TELEMETRY_ROOT_MAGIC:
        return None
    if place in (int.from_bytes(data[32:40], order) for order in ("little", "big")):
        return "used"
    return None if any(data[32:40]) else "unused"


def telemetry_places(memory, begin, end):
    """Where the magic is in a piece of memory, at multiples of 64."""
    at = begin
    while at < end:
        size = min(end - at, TELEMETRY_PIECE)
        data = memory.read(at, size)
        found = data.find(TELEMETRY_ROOT_MAGIC)
        while found >= 0:
            if (at + found) % 64 == 0:
                yield at + found
            found = data.find(TELEMETRY_ROOT_MAGIC, found + 1)
        if not data:
            return           # Pieces that cannot be read go on so: those of a core that was cut.
        at += len(data) if len(data) == size else (len(data) + 4096) // 4096 * 4096

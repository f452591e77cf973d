#!/usr/bin/env python3
"""A log of what is in memory: the blocks of all extents, as they are, except their counts.

      preamble │ store │ ring │ ring │ …  ─▶  FILE       a bounded ring that nobody closed
                         └ newest block of a buffer: its totals and a clock sync, and it is open

Design: `.req.pm` in design/telemetry.md; `.root.stream`, `.root.loss` in design/format.md.
"""
import struct


def telemetry_save(stream, out):
    """Writes the stream to a file. Returns how many blocks and events."""
    if stream.first is None or len(stream.header) < 512:
        raise TelemetryError("the stream header cannot be read: no log can be made without it")
    newest = {blocks[0].address: number for number, blocks in stream.buffers.items()
              if not blocks[0].is_part}
    count = 0
    for address, block in stream.blocks:
        size = stream.root.block_size
        data = stream.memory.read(address, size)
        if len(data) < size:
            stream.faults.append("%d bytes of the block at 0x%X are unreadable, and zero in the log"
                                 % (size - len(data), address))
        data = bytearray(data.ljust(size, b"\0"))
        if address in newest:
            telemetry_settle(stream, newest[address], block.header, data)
        if block is not None and block.header.type == TELEMETRY_EVENTS:
            count += block.header.count
        out.write(data)
    unhoused = sum(stream.root.unhoused)
    if unhoused:
        note = "note: %d events were discarded before their buffer existed"
        stream.faults.append(note % unhoused)
    return len(stream.blocks), count


def telemetry_settle(stream, buffer, header, data):
    """Brings the counts of the newest block of a buffer up to date (`.root.loss`)."""
    full, nested, large, io, overwritten = stream.totals(buffer)
    counts = struct.pack("<QIIII", overwritten,
                         *(min(count, 2**32 - 1) for count in (full, nested, large, io)))
    sync, root = bytes(data[80:104]), stream.root
    if not any(sync) and root.sync_turn % 2 == 0 and root.sync[0]:            # .root.sync
        sync = struct.pack("<QQQ", *root.sync)
        struct.pack_into("<I", data, 76, root.sync_uncertainty)
    if (sync, counts) != (bytes(data[80:104]), bytes(data[104:128])):
        data[80:104], data[104:128] = sync, counts
        data[5] = header.flags & ~TELEMETRY_SEALED

#!/usr/bin/env python3
"""The memory of streams as a core, which eventcnv reads: it knows registries, events and text.

      root, nodes, blocks, counts, masks ─▶ core in a temporary file ─▶ eventcnv ─▶ what it prints

Design: `.debug.commands`, `.debug.core` in design/telemetry.md.
"""
import os
import re
import struct
import subprocess
import tempfile

TELEMETRY_PAGE = 1 << 12


def telemetry_core(streams, out):
    """Writes the memory of streams as a core: segments that can be written, and no notes."""
    pieces = []
    for begin, size in sorted(piece for stream in streams for piece in stream.pieces()):
        if pieces and begin <= pieces[-1][1]:
            pieces[-1][1] = max(begin + size, pieces[-1][1])
        else:
            pieces.append([begin, begin + size])
    order, memory = streams[0].root.order, streams[0].memory
    # Section 0 states the number of segments, which may exceed 16 bits.
    heads = [b"\x7fELF" + bytes([2, 2 if order == ">" else 1, 1]) + bytes(9)
             + struct.pack(order + "HHIQQQIHHHHHH",
                           4, 0, 1, 0, 128, 64, 0, 64, 56, 0xFFFF, 64, 1, 0),
             struct.pack(order + "IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, len(pieces), 0, 0)]
    at = 128 + 56 * len(pieces)
    for begin, end in pieces:
        start, data = at, b"\0"
        while begin + at - start < end and data:
            size = min(end - begin - (at - start), TELEMETRY_PIECE)
            data = memory.read(begin + at - start, size)
            telemetry_write_sparse(out, at, data)
            at += len(data)
        size = at - start
        heads.append(struct.pack(order + "IIQQQQQQ", 1, 6, start, begin, 0, size, size, 1))
    out.truncate(at)
    out.seek(0)
    out.write(b"".join(heads))
    out.flush()


def telemetry_write_sparse(out, at, data):
    """Writes bytes at an offset of a file. Pages of zeros take no room on the disk."""
    for page in range(0, len(data), TELEMETRY_PAGE):
        piece = data[page:page + TELEMETRY_PAGE]
        if piece.strip(b"\0"):
            out.seek(at + page)
            out.write(piece)


def telemetry_keep(streams):
    """Saves the memory of streams for eventcnv, which gdb does not find. Returns the error."""
    file, path = tempfile.mkstemp(prefix="telemetry-%d-" % streams[0].root.pid, suffix=".core")
    with os.fdopen(file, "wb") as out:
        telemetry_core(streams, out)
    return TelemetryError("eventcnv: not found on PATH; the event log is saved in %s: read it by"
                          " eventcnv -vv %s" % (path, path))


def telemetry_ask(streams, *words, out=subprocess.PIPE):
    """Returns the output of eventcnv for streams. What it reports joins the faults."""
    cores = [stream.core() for stream in streams]
    done = subprocess.run(["eventcnv", *words, *cores], stdin=subprocess.DEVNULL, stdout=out,
                          stderr=subprocess.PIPE, check=False)
    told = done.stderr.decode("utf-8", "replace").splitlines()
    told = [re.sub(r"^eventcnv: ([^ ]*\.core: )?|^error: ", "", line) for line in told]
    told = [line for line in told if line and not re.match("core of |-: .* bytes$", line)]
    if done.returncode not in (0, 1):
        raise TelemetryError("the event log: "
                             + ("; ".join(told) or "eventcnv ended with %d" % done.returncode))
    streams[0].faults += told
    return (done.stdout or b"").decode("utf-8", "replace")

#!/usr/bin/env python3
"""The descriptions of a stream as a whole, and of one event.

      status     pid: 4711 ⏎ stream: 0011… ⏎ registry.1.output: Pool …      as `eventcnv control`
      describe   the line of `eventcnv -vv`, the docs, thread and time; a line for each parameter

Design: `.debug.describe`, `.reg.doc`, `.control.external` in design/telemetry.md.
"""
import re
import struct

TELEMETRY_LOSSES = ("full", "nested", "large", "io", "overwritten")           # .root.counts
# A parameter of `eventcnv -vv`: its value has spaces only in quotation marks, or before a number.
TELEMETRY_VALUE = re.compile(
    r' (\S+?):((?: *[^" ]*\[unknown label [0-9A-F]+\]| *[^" ]*(?:"(?:[^"\\]|\\.)*"\]?)?))(?= )')


def telemetry_lines(streams, *words):
    """The events that eventcnv prints with -vv: ticks, code, and pairs of name and value."""
    for line in telemetry_ask(streams, "-vv", *words).splitlines():
        ticks, code, rest = line.split(" ", 2)
        yield ticks, code, TELEMETRY_VALUE.findall(rest)


def telemetry_threads(stream):
    """The names of threads, and the operating system's numbers (`.store.thread`)."""
    threads = {}
    for _, code, values in telemetry_lines([stream], "--events", "Thread"):
        if code == "FF03":                                                    # 5.3
            index, system, name = (value for _, value in values)
            threads[int(index, 16)] = (int(system, 16), name[1:-1])
    return threads


def telemetry_event_at(stream, address):
    """The event that the byte at an address belongs to: number, address, size, header of its block.
    None: the address is in no block; else a text, if there is no event."""
    for place, header in stream.blocks:
        if place <= address < place + header.top:
            if address < place + header.last:
                return "0x%X is in the header or the free space of the block at 0x%X, which" \
                    " has %d events" % (address, place, header.count)
            for number, begin, size in stream.events(place, header):
                if begin <= address < begin + size:
                    return number, begin, size, header
            return "0x%X is in no event of the block at 0x%X" % (address, place)
    return None


def telemetry_newest(streams, *words):
    """The newest event that eventcnv selects, as of `telemetry_event_at`, and its stream. None:
    there is none."""
    found = json.loads(telemetry_ask(streams, "--style", "json", "--last", "1", *words) or "null")
    if found is None:
        return None
    stream = streams[found.get("stream", 0)]
    registry = next(registry for registry in stream.registries().values()
                    if registry["name"] == found["registry"])
    wanted = registry["registry"], found["kind"], found["thread"]
    for (place, header), *_ in stream.buffers.values():
        kind = telemetry_kind_name(registry, header.kind)
        if (header.registry, kind, header.thread) == wanted:
            for event in stream.events(place, header):
                return stream, (*event, header)
    raise TelemetryError("the newest event of kind %s is in no block" % found["kind"])


def telemetry_describe(stream, event):
    """All that is known of an event."""
    number, address, size, header = event
    where = "@buffer == %d and @number == %d" % (header.buffer, number)
    ticks, code, values = next(telemetry_lines([stream], "--where", where))
    unknown = {"name": "", "kinds": [], "event_types": []}
    registry = stream.registries().get(header.registry, unknown)
    row = next((row for row in registry["event_types"] if row["code"] == int(code[-4:], 16)),
               {"name": "[Unknown]", "doc": "", "parameters": []})
    system, thread = telemetry_threads(stream).get(header.thread, (None, ""))
    of_thread = "none" if not header.thread else "%d" % header.thread if system is None \
        else "%d %s (%d)" % (header.thread, thread, system)
    lines = ["%s %s" % (code, row["name"])] + (["  " + row["doc"]] if row["doc"] else [])
    lines += ["  registry: %d %s" % (header.registry, registry["name"]),
              "  kind: " + telemetry_kind_name(registry, header.kind), "  thread: " + of_thread,
              "  ticks: " + ticks, "  event: %d of buffer %d" % (number, header.buffer),
              "  address: 0x%X, %d bytes" % (address, size)]
    for (name, value), param in zip(values, row["parameters"]):
        lines.append("  %s:%s  %s" % (name, value.strip(), param["doc"]))
    return "".join(line.rstrip() + "\n" for line in lines)


def telemetry_kind_name(registry, index):
    """The name of a kind; its index, if it has no name."""
    return next((kind["name"] for kind in registry["kinds"] if kind["index"] == index), str(index))


def telemetry_status(stream):
    """How everything stands, a line each: key and value."""
    root, header = stream.root, stream.header.ljust(512, b"\0")
    digits = root.uuid.hex()
    of_kinds = {number: [header for _, header in blocks]
                for number, blocks in stream.buffers.items() if blocks[0][1].registry}
    program = header[280:408].split(b"\0")[0].decode("utf-8", "replace")
    lines = [("pid", root.pid), ("program", re.sub("[^ -~\u00a1-\ud7ff]", "\ufffd", program)),
             ("stream", "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20],
                                  digits[20:]])),
             ("root", "0x%X" % root.address), ("block-size", root.block_size),
             ("blocks", stream.count), ("buffers", len(of_kinds)),
             ("threads", len(telemetry_threads(stream))),
             ("events", sum(header.count for headers in of_kinds.values() for header in headers))]
    lines += telemetry_losses(stream, of_kinds)
    for mask in stream.masks():
        lines += telemetry_masks(stream, mask)
    return "".join("%s: %s\n" % line for line in lines)


def telemetry_losses(stream, buffers):
    """What was recorded and what was lost, of some buffers and of what no buffer could count."""
    totals = [stream.totals(buffer) for buffer in buffers] + [(*stream.root.unhoused, 0)]
    lost = dict(zip(TELEMETRY_LOSSES, map(sum, zip(*totals))))
    recorded = sum(newest.first + newest.count for newest, *_ in buffers.values())
    discarded = lost["full"] + lost["nested"] + lost["large"]
    return [("requested", recorded + discarded), ("recorded", recorded),
            ("overwritten", lost["overwritten"]), ("lost", discarded + lost["io"]),
            *(("lost-" + cause, lost[cause]) for cause in TELEMETRY_LOSSES[:4])]


def telemetry_masks(stream, mask):
    """The lines about the kinds of a registry: all, those recorded, those output."""
    registry, key = stream.registries().get(mask.index), "registry.%d" % mask.index
    if registry is None:
        return
    yield key, "%s %s" % (registry["name"], registry["version"])
    for name, address in (("kinds", None), ("recorded", mask.recorded), ("output", mask.output)):
        bits = 2**64 - 1 if address is None else stream.root.word(address)
        names = [kind["name"] for kind in registry["kinds"] if bits and bits >> kind["index"] & 1]
        text = "unreadable" if bits is None else " ".join(names) or "-"
        yield "%s.%s" % (key, name), text


def telemetry_last_addresses(root):
    """What `EventLast` holds: an address for each kind, which stands for its newest event."""
    data = root.memory.read(root.last, 64 * root.word_size) if root.last else b""
    layout = root.order + ("64Q" if root.word_size == 8 else "64I")
    return struct.unpack(layout, data) if len(data) == struct.calcsize(layout) else ()

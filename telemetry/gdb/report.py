#!/usr/bin/env python3
"""The descriptions of a stream as a whole, of one event, and of registries.

      status     pid: 4711 ⏎ stream: 0011… ⏎ registry.1.output: Pool …      as `eventcnv control`
      describe   the event, its doc, thread and time; each parameter with its value and doc
      registry   the same text as `eventcnv registry`

Design: `.debug.describe`, `.reg.doc`, `.control.external` in design/telemetry.md.
"""
import struct

TELEMETRY_LOSSES = ("full", "nested", "large", "io", "overwritten")           # .root.counts


def telemetry_registry_text(registries):
    """All that registries declare."""
    return "\n".join("".join(line + "\n" for line in telemetry_registry_lines(registry))
                     for _, registry in sorted(registries.items()))


def telemetry_registry_lines(registry):
    """All that a registry declares, by lines."""
    yield "registry %d: %s %s" % (registry.index, registry.name,
                                  ".".join(map(str, registry.version)))
    if registry.doc:
        yield "  " + registry.doc
    if registry.kinds:
        yield "\n  KIND"
    for kind in registry.kinds:
        yield "  %4d  %-8s  %s" % kind
    width = telemetry_name_width([registry])
    if registry.types:
        yield "\n  CODE  %s  %-8s  WHEN     PARAMETERS" % ("EVENT".ljust(width), "KIND")
    for row in registry.types.values():
        when = "retired" if row.retired else "always" if row.always else "cool"
        params = ", ".join("%s %s" % (param.sort, param.name) for param in row.params)
        yield ("  %04X  %s  %-8s  %-7s  %s" % (row.code, row.name.ljust(width),
                                              registry.kind_name(row.kind), when, params)).rstrip()
        if row.doc:
            yield "          " + row.doc
        for param in row.params:
            if param.doc:
                yield "            %s: %s" % (param.name, param.doc)


def telemetry_event_at(stream, address):
    """The event that the byte at an address belongs to. None: the address is in no block; else a
    text, if there is no event."""
    for blocks in stream.buffers.values():
        for block in blocks:
            end = block.begin + block.size
            if block.address <= address < end:
                if address < block.begin:
                    return "0x%X is in the header or the free space of the block at 0x%X, which" \
                        " has %d events" % (address, block.address, block.header.count)
                for event in block.events(stream.memory, stream.index, stream.faults):
                    if block.begin + event.at <= address < block.begin + event.at + event.size:
                        return event
                return "0x%X is in no event of the block at 0x%X" % (address, block.address)
    return None


def telemetry_describe(stream, event):
    """All that is known of an event."""
    h, event_type = event.block.header, stream.event_type(event)
    registry, labels = stream.registry(h.registry), TelemetryLabels(stream)
    name = event_type.name if event_type else "[Unknown]"
    lines = ["%s %s" % (telemetry_code(event), name)]
    if event_type and event_type.doc:
        lines.append("  " + event_type.doc)
    system, thread = telemetry_threads(stream).get(h.thread, (None, ""))
    of_thread = "none" if not h.thread else "%d" % h.thread if system is None \
        else "%d %s (%d)" % (h.thread, thread, system)
    lines += ["  registry: %d %s" % (h.registry, registry.name),
              "  kind: %s" % registry.kind_name(h.kind),
              "  thread: " + of_thread,
              "  ticks: %016X" % event.ticks,
              "  event: %d of buffer %d" % (event.number, event.buffer),
              "  address: 0x%X, %d bytes" % (event.block.begin + event.at, event.size)]
    for param, value in stream.values(event):
        text = telemetry_value(stream, event, param, value, labels).strip()
        lines.append("  %s:%s" % (param.name, text) + ("  " + param.doc if param.doc else ""))
    return "\n".join(lines) + "\n"


def telemetry_status(stream):
    """How everything stands, a line each: key and value."""
    root, header = stream.root, stream.header.ljust(512, b"\0")
    digits = root.uuid.hex()
    of_kinds = {number: blocks for number, blocks in stream.buffers.items()
                if blocks[0].header.registry}
    program = header[280:408].split(b"\0")[0].decode("utf-8", "replace")
    lines = [("pid", root.pid), ("program", telemetry_clean(program)),
             ("stream", "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20],
                                  digits[20:]])),
             ("root", "0x%X" % root.address), ("block-size", root.block_size),
             ("blocks", len(stream.blocks)), ("buffers", len(of_kinds)),
             ("threads", len(telemetry_threads(stream))),
             ("events", sum(block.header.count for blocks in of_kinds.values()
                            for block in blocks))]
    lines += telemetry_losses(stream, of_kinds)
    for mask in stream.masks():
        lines += telemetry_masks(stream, mask)
    return "".join("%s: %s\n" % line for line in lines)


def telemetry_losses(stream, buffers):
    """What was recorded and what was lost, of some buffers and of what no buffer could count."""
    totals = [stream.totals(buffer) for buffer in buffers] + [(*stream.root.unhoused, 0)]
    lost = dict(zip(TELEMETRY_LOSSES, map(sum, zip(*totals))))
    recorded = sum(blocks[0].end_number() for blocks in buffers.values())
    discarded = lost["full"] + lost["nested"] + lost["large"]
    return [("requested", recorded + discarded), ("recorded", recorded),
            ("overwritten", lost["overwritten"]), ("lost", discarded + lost["io"]),
            *(("lost-" + cause, lost[cause]) for cause in TELEMETRY_LOSSES[:4])]


def telemetry_masks(stream, mask):
    """The lines about the kinds of a registry: all, those recorded, those output."""
    registry, key = stream.registry(mask.index), "registry.%d" % mask.index
    yield key, "%s %s" % (registry.name, ".".join(map(str, registry.version)))
    for name, address in (("kinds", None), ("recorded", mask.recorded), ("output", mask.output)):
        bits = 2**64 - 1 if address is None else stream.root.word(address)
        names = [kind.name for kind in registry.kinds if bits and bits >> kind.index & 1]
        text = "unreadable" if bits is None else " ".join(names) or "-"
        yield "%s.%s" % (key, name), text


def telemetry_last_addresses(root):
    """What `EventLast` holds: an address for each kind, which stands for its newest event."""
    data = root.memory.read(root.last, 64 * root.word_size) if root.last else b""
    layout = root.order + ("64Q" if root.word_size == 8 else "64I")
    return struct.unpack(layout, data) if len(data) == struct.calcsize(layout) else ()

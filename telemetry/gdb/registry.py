#!/usr/bin/env python3
"""A registry as it is in the preamble: kinds, event types, and where parameters lie.

      encoding (5.1) ─▶ TelemetryRegistry ─ code ─▶ TelemetryType ─ params ─▶ sort, name, offset

Design: `.reg` in design/telemetry.md; section 5 of design/format.md.
"""
import re
import struct
from collections import namedtuple

# Controls, ends of lines, changes of direction.
TELEMETRY_STEERING = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

TelemetryKind = namedtuple("TelemetryKind", "index name doc")
TelemetryType = namedtuple("TelemetryType", "code name kind always retired doc params")
TelemetryParam = namedtuple("TelemetryParam", "sort name doc offset layout")


class TelemetryRegistry:
    """A registry. What does not parse ends it there (`.registry.trust`)."""

    def __init__(self, index, encoded, order, word_size):
        self.index, self.order, self.word_size = index, order, word_size
        self.name, self.doc, self.version = "", "", (0, 0, 0)
        self.kinds, self.types, self.is_whole = [], {}, False
        self.rest = memoryview(bytes(encoded))
        try:
            self.parse()
            self.is_whole = True
        except struct.error:
            pass
        self.kinds.sort()
        self.types = dict(sorted(self.types.items()))

    def take(self, layout):
        """The next numbers of the encoding."""
        values = struct.unpack_from("<" + layout, self.rest)
        self.rest = self.rest[struct.calcsize("<" + layout):]
        return values

    def string(self):
        """The next string of the encoding."""
        size, = self.take("H")
        return telemetry_clean(self.take("%ds" % size)[0].decode("utf-8", "replace"))

    def parse(self):
        """Takes the encoding apart."""
        *version, kind_count, type_count = self.take("HHHHI")
        self.version = tuple(version)
        self.take("QQ")                                                       # .registry.masks
        self.name, self.doc = self.string(), self.string()
        for _ in range(kind_count):
            kind = TelemetryKind(*self.take("B"), self.string(), self.string())
            if kind.index not in [known.index for known in self.kinds]:
                self.kinds.append(kind)
        for _ in range(type_count):
            code, kind, flags, count = self.take("HBBH")
            name, doc = self.string(), self.string()
            params = self.params(count)
            self.types.setdefault(code, TelemetryType(code, name, kind, bool(flags & 1),
                                                      bool(flags & 2), doc, params))

    def params(self, count):
        """The parameters of an event type, laid out (`.event.params`)."""
        word = "Q" if self.word_size == 8 else "I"
        layouts = dict(P=word, A=word, W=word, U="I", D="d", B="B", S="")
        params, at, is_known = [], 8, True
        for _ in range(count):
            sort, name, doc = chr(self.take("B")[0]), self.string(), self.string()
            is_known = is_known and sort in layouts
            if is_known:
                size = struct.calcsize(layouts[sort]) or 1
                at = (at + size - 1) // size * size
                params.append(TelemetryParam(sort, name, doc, at, self.order + layouts[sort]))
                at += size
                is_known = sort != "S"
        return params

    def kind_name(self, index):
        """What a kind is called; its index, if it has no name."""
        return next((kind.name for kind in self.kinds if kind.index == index), str(index))


def telemetry_clean(text):
    """Text from memory, without what would steer a terminal: no name can forge a line."""
    return TELEMETRY_STEERING.sub(lambda found: " " if found[0] in "\t\n\r" else "\ufffd", text)


def telemetry_values(event_type, data):
    """The parameters of an event, with their values: those that fit in it (`.event.short`)."""
    for param in event_type.params if event_type else ():
        if param.sort == "S":
            if param.offset < len(data):
                yield param, telemetry_string(data[param.offset:])
        elif param.offset + struct.calcsize(param.layout) <= len(data):
            yield param, struct.unpack_from(param.layout, data, param.offset)[0]
        else:
            return


def telemetry_string(rest):
    """The string that begins the rest of an event (`.event.string`)."""
    if rest[-1] <= 7 and rest[-1] < len(rest):
        return rest[:len(rest) - 1 - rest[-1]]
    return rest.split(b"\0")[0]

#!/usr/bin/env python3
"""Events as text: the same lines as those of `eventcnv -v`, `-vv` and `-vvv`.

      columns   0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
      named     000003DEDE6E4910 0022 Label              address:0000000000001000["InstClass"] …
      threads   000003DEDE6E4910 3 worker 2  0022 Label              address:…

Design: `.control.output`, `.dumper`, `.sol.client` in design/telemetry.md.
"""
import math
import re

TELEMETRY_NAME_WIDTH_MIN, TELEMETRY_VALUE_WIDTH, TELEMETRY_THREAD_WIDTH_MAX = 19, 8, 24
TELEMETRY_INTERN, TELEMETRY_LABEL, TELEMETRY_THREAD = 0xFF01, 0xFF02, 0xFF03  # 5.3


class TelemetryLabels:
    """What is called what, as of the time of an event: events are asked for oldest first."""

    def __init__(self, stream):
        self.stream, self.left = stream, stream.store()
        self.left.reverse()
        self.strings, self.labels = {}, {}

    def label(self, event, value):
        """What a value is called at the time of an event, in brackets; "" if nothing."""
        while self.left and self.left[-1][:4] <= event[:4]:                   # .store.before
            self.feed(self.left.pop())
        label = self.labels.get(value, 0)
        if not label:
            return ""
        known = self.strings.get(label)
        return "[%s]" % ("unknown label %X" % label if known is None else telemetry_quoted(known))

    def feed(self, event):
        """Takes what names something in."""
        values = [value for _, value in self.stream.values(event)]
        if len(values) >= 2 and event.code == TELEMETRY_INTERN:               # .store.intern
            self.strings[values[0]] = values[1]
        elif len(values) >= 2 and event.code == TELEMETRY_LABEL:              # .store.label
            self.labels[values[0]] = values[1]


def telemetry_threads(stream):
    """The names of threads, and the operating system's numbers (`.store.thread`)."""
    threads = {}
    for event in stream.store():
        values = [value for _, value in stream.values(event)]
        if event.code == TELEMETRY_THREAD and len(values) >= 3:
            threads[values[0]] = (values[1], telemetry_clean(values[2].decode("utf-8", "replace")))
    return threads


def telemetry_name_width(registries):
    """Columns that the names of all event types need."""
    names = (row.name for registry in registries for row in registry.types.values())
    return max([TELEMETRY_NAME_WIDTH_MIN, *map(len, names)])


def telemetry_code(event):
    """The code, after the index of the registry where it could be another's."""
    registry = event.block.header.registry
    return "%s%04X" % ("%d:" % registry if registry > 1 else "", event.code)


def telemetry_columns(stream, event, width):
    """A line of the column form."""
    event_type = stream.event_type(event)
    if event_type is None:
        return "%016X [Unknown %s]" % (event.ticks, telemetry_code(event))
    values = [telemetry_column(param.sort, value) for param, value in stream.values(event)]
    if not values:
        return "%016X %s" % (event.ticks, event_type.name)
    return "%016X %s  %s" % (event.ticks, event_type.name.ljust(width), " ".join(values))


def telemetry_column(sort, value):
    """A value, in a column of its own."""
    if sort == "S":
        return telemetry_quoted(value)
    if sort == "B":
        text = "True" if value else "False"
    elif sort == "D":
        text = telemetry_double(value)
    else:
        text = "%X" % value
    return text.rjust(TELEMETRY_VALUE_WIDTH)


def telemetry_thread_columns(streams):
    """A function that gives the column of an event's thread: index and name, all of one width."""
    columns = {}
    for stream in streams:
        for index, (_, name) in telemetry_threads(stream).items():
            text = ("%d %s" % (index, name)).rstrip()
            columns[stream.index, index] = text[:TELEMETRY_THREAD_WIDTH_MAX]
    width = max(map(len, columns.values()), default=1)

    def column(event):
        thread = event.block.header.thread
        unknown = "%d" % thread if thread else "-"
        return columns.get((event.stream, thread), unknown).ljust(width) + " "
    return column


def telemetry_named(stream, event, width, labels, thread=""):
    """A line of the named form; after the clock, the column of the thread if it is shown."""
    event_type = stream.event_type(event)
    name = (event_type.name if event_type else "[Unknown]").ljust(width)
    line = "%016X %s%s %s " % (event.ticks, thread, telemetry_code(event), name)
    if event_type is None:
        return line + "Unknown event."
    values = ((param.name, telemetry_value(stream, event, param, value, labels))
              for param, value in stream.values(event))
    return line + "".join("%s:%s " % value for value in values)


def telemetry_value(stream, event, param, value, labels):
    """A value, by its sort."""
    digits = 2 * stream.root.word_size
    if param.sort == "S":
        return telemetry_quoted(value)
    if param.sort == "U":
        return "%d" % value
    if param.sort == "B":
        return "True" if value else "False"
    if param.sort == "D":
        return telemetry_double_short(value)
    label = labels.label(event, value) if param.sort in "PA" else ""
    return "%0*X%s" % (digits, value, label)


def telemetry_quoted(string):
    """A string in quotation marks, which stays on its line."""
    def escape(found):
        bytes_of = found[0].encode("utf-8", "surrogateescape")
        return "".join("\\x%02X" % byte for byte in bytes_of)
    text = re.sub(r'(["\\])', r"\\\1", string.decode("utf-8", "surrogateescape"))
    text = re.sub("[\udc80-\udc9f]|" + TELEMETRY_STEERING.pattern, escape, text)
    return '"%s"' % text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def telemetry_double(value):
    """A double in ten digits. Python does not show the sign of a NaN."""
    is_negative = math.isnan(value) and math.copysign(1, value) < 0
    return ("-" if is_negative else "") + "%.10G" % value


def telemetry_double_short(value):
    """A double in three digits, of the ten."""
    if math.isnan(value):
        return telemetry_double(value).lower().rjust(TELEMETRY_VALUE_WIDTH)
    return "%#8.3g" % float(telemetry_double(value))

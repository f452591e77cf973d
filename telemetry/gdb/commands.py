#!/usr/bin/env python3
"""The commands: from what was typed to text, and every error to one line.

      telemetry dump Pool -n 3 ─▶ TelemetryDump ─▶ streams ─▶ cores ─▶ eventcnv ─▶ lines
                                       └─▶ faults, on standard error, after the lines

Design: `.debug.dump`, `.debug.describe`, `.control.output` in design/telemetry.md.
"""
import os
import shutil

import gdb

TELEMETRY_FAULTS_SHOWN = 20


def telemetry_write(text, out=gdb.STDOUT):
    """Writes, also where the terminal has not all letters."""
    charset = gdb.host_charset() if hasattr(gdb, "host_charset") else "ascii"
    try:
        text = text.encode(charset, "backslashreplace").decode(charset)
    except LookupError:
        text = text.encode("ascii", "backslashreplace").decode("ascii")
    gdb.write(text, out)


def telemetry_select(streams, words):
    """The options of eventcnv that select some kinds, names or indexes. None: all are selected."""
    known = {text for stream in streams for registry in stream.registries().values()
             for kind in registry["kinds"] for text in (kind["name"].lower(), str(kind["index"]))}
    for word in words:
        if word.lower() not in known:
            raise telemetry_no_kind(streams[0], word)
    return ["--kinds", ",".join(words)] if words else []


def telemetry_tell_faults(streams):
    """Says what was found wrong, a line each."""
    faults = list(dict.fromkeys(fault for stream in streams for fault in stream.faults))
    for fault in faults[:TELEMETRY_FAULTS_SHOWN]:
        telemetry_write("telemetry: %s\n" % fault, gdb.STDERR)
    if len(faults) > TELEMETRY_FAULTS_SHOWN:
        telemetry_write("telemetry: and %d faults more\n" % (len(faults) - TELEMETRY_FAULTS_SHOWN),
                        gdb.STDERR)


class TelemetryCommand(gdb.Command):
    """A command. What it is called is its NAME; `run` does it."""
    NAME, COMPLETION, ASKS = "", gdb.COMPLETE_NONE, True

    def __init__(self):
        super().__init__("telemetry " + self.NAME, gdb.COMMAND_DATA, self.COMPLETION)

    def invoke(self, argument, _from_tty):
        """Runs it; reports any failure in one line."""
        self.dont_repeat()
        try:
            streams = telemetry_open(TelemetryMemory())
            try:
                if self.ASKS and not shutil.which("eventcnv"):
                    raise telemetry_keep(streams)
                self.run(streams, argument)
            finally:
                telemetry_tell_faults(streams)
        except gdb.GdbError:
            raise
        except TelemetryError as error:
            raise gdb.GdbError(str(error)) from None
        except Exception as error:  # pylint: disable=broad-except
            what = " ".join(str(error).split())
            raise gdb.GdbError("telemetry %s: %s" % (self.NAME, what or type(error).__name__)) \
                from None

    def run(self, streams, argument):
        """Does it."""

    def usage(self):
        """The error for what was typed wrong: the first line of the help."""
        return TelemetryError("usage: " + (self.__doc__ or "").strip().splitlines()[-1].strip())


class TelemetryDump(TelemetryCommand):
    """Show the events that are in memory, of all threads, output or not: newest last.
Kinds are names or numbers; without any, all are shown. -n: only this number of the newest.
-vv: with the names of parameters, and what addresses are called; -vvv: with threads too.
telemetry dump [KIND…] [-n COUNT] [-v|-vv|-vvv]"""
    NAME = "dump"

    def run(self, streams, argument):
        words, count, form = self.parse(gdb.string_to_argv(argument))
        last = ["--last", count] if count else []
        telemetry_write(telemetry_ask(streams, form, *last, *telemetry_select(streams, words)))

    def parse(self, words):
        """The kinds, how many events (None: all), and the form."""
        kinds, count, form = [], None, "-v"
        words = iter(words)
        for word in words:
            if word.startswith("-n"):
                digits = word[2:] or next(words, "")
                if not (digits.isascii() and digits.isdigit()):
                    raise self.usage()
                count = digits
            elif word in ("-v", "-vv", "-vvv"):
                form = word
            elif word.startswith("-"):
                raise self.usage()
            else:
                kinds.append(word)
        return kinds, count, form


class TelemetryDescribe(TelemetryCommand):
    """Tell all that is known of the event at an address, or of the newest one of EventLast[KIND].
telemetry describe ADDRESS"""
    NAME, COMPLETION = "describe", gdb.COMPLETE_EXPRESSION

    def run(self, streams, argument):
        if not argument.strip():
            raise self.usage()
        address = int(gdb.parse_and_eval(argument)) & 2**64 - 1
        for stream in streams:
            event = telemetry_event_at(stream, address)
            if isinstance(event, str):
                raise TelemetryError(event)
            last = telemetry_last_addresses(stream.root)
            if event is None and address in last and address:
                kind = last.index(address)
                _, event = telemetry_newest([stream], "--where", "@registry != \"telemetry\"",
                                            "--kinds", str(kind)) or (None, None)
                if event is None:
                    raise TelemetryError("no event of kind %d is in memory" % kind)
            if event is not None:
                return telemetry_write(telemetry_describe(stream, event))
        raise TelemetryError("0x%X is in no block of events" % address)


class TelemetryLast(TelemetryCommand):
    """Tell all that is known of the newest event of a kind, of any thread.
telemetry last KIND"""
    NAME = "last"

    def run(self, streams, argument):
        words = gdb.string_to_argv(argument)
        if len(words) != 1:
            raise self.usage()
        newest = telemetry_newest(streams, *telemetry_select(streams, words))
        if newest is None:
            raise TelemetryError("no event of kind %s is in memory" % words[0])
        telemetry_write(telemetry_describe(*newest))


class TelemetryStatus(TelemetryCommand):
    """Tell how everything stands: what is in memory, what was lost, which kinds are output.
telemetry status"""
    NAME = "status"

    def run(self, streams, argument):
        telemetry_write("\n".join(telemetry_status(stream) for stream in streams))


class TelemetryRegistries(TelemetryCommand):
    """Tell which event types the program has, and what they mean.
telemetry registry"""
    NAME = "registry"

    def run(self, streams, argument):
        telemetry_write(telemetry_ask(streams, "registry"))


class TelemetrySave(TelemetryCommand):
    """Write what is in memory to a new file, as a log that eventcnv reads.
--force: also over a file that exists.
telemetry save [--force] FILE"""
    NAME, COMPLETION = "save", gdb.COMPLETE_FILENAME

    def run(self, streams, argument):
        words = gdb.string_to_argv(argument)
        is_forced = words[:1] == ["--force"]
        if len(words) != 1 + is_forced or words[-1].startswith("--"):
            raise self.usage()
        path = words[-1]
        try:
            with open(path, "wb" if is_forced else "xb") as out:
                self.save(streams, out, path, is_forced)
        except FileExistsError:
            raise TelemetryError("%s: already exists; choose another name, or replace it by"
                                 " telemetry save --force %s" % (path, path)) from None
        except OSError as error:
            raise TelemetryError("%s: cannot write (%s)" % (path, error.strerror)) from None
        blocks = sum(stream.count for stream in streams)
        events = sum(header.count for stream in streams for _, header in stream.blocks)
        telemetry_write("%d blocks with %d events are in %s\n" % (blocks, events, path))

    @staticmethod
    def save(streams, out, path, is_forced):
        """Writes the streams; of a new file that cannot be written whole nothing is left."""
        try:
            for stream in streams:
                telemetry_ask([stream], "core", "-o", "-", out=out)
        except BaseException:
            if not is_forced:
                os.unlink(path)
            raise


class TelemetryGet(TelemetryCommand):
    """Tell which kinds are recorded in memory, and which are output, by registry.
telemetry get"""
    NAME = "get"

    def run(self, streams, argument):
        self.show(streams)

    @staticmethod
    def show(streams):
        """Writes the masks of all registries but the runtime's own."""
        for stream in streams:
            for mask in stream.masks():
                lines = telemetry_masks(stream, mask) if mask.index else ()
                telemetry_write("".join("%s: %s\n" % line for line in lines))


class TelemetrySet(TelemetryCommand):
    """Have kinds output, from when the process goes on. What memory has of them comes out too.
Kinds are names, numbers in C notation as masks, or all, as in MPS_TELEMETRY_CONTROL.
telemetry set KIND…"""
    NAME, IS_ON = "set", True

    def run(self, streams, argument):
        words = gdb.string_to_argv(argument)
        if not words:
            raise self.usage()
        telemetry_check_kinds(streams, words)
        for stream in streams:
            telemetry_switch(stream, words, self.IS_ON)
        TelemetryGet.show(streams)


class TelemetryReset(TelemetrySet):
    """Have kinds no longer output, from when the process goes on.
telemetry reset KIND…"""
    NAME, IS_ON = "reset", False


class TelemetryFlush(TelemetryCommand):
    """Have the process write all pending output, now. Its other threads stay stopped.
--force: also where this gdb is too old for the processor, so that the process may go wrong after.
telemetry flush [--force]"""
    NAME, ASKS = "flush", False

    def run(self, streams, argument):
        words = gdb.string_to_argv(argument)
        if words not in ([], ["--force"]):
            raise self.usage()
        for stream in streams:
            result = telemetry_flush(stream, bool(words))
            if result is not None and result < 0:
                raise TelemetryError("EventFlush failed: " + os.strerror(-result))
            telemetry_write("flushed%s\n" % ("" if result is None else ": %d bytes" % result))


class TelemetryPrefix(gdb.Command):
    """The event log of this process or core: its last events are in memory.
No debug information and no symbols are needed."""

    def __init__(self):
        super().__init__("telemetry", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


TelemetryPrefix()
for telemetry_command in (TelemetryDump, TelemetryDescribe, TelemetryLast, TelemetryStatus,
                          TelemetryRegistries, TelemetrySave, TelemetryGet, TelemetrySet,
                          TelemetryReset, TelemetryFlush):
    telemetry_command()

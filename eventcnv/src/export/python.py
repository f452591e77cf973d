#!/usr/bin/env python3
"""What reads logs: the end of every module of `eventcnv py`, after what a log declares."""


def _names(names, taken=()):
    """Names that Python takes for fields: what a log declares may be anything."""
    found, used = [], dict.fromkeys(taken, 1)
    for name in names:
        name = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_") or "unnamed"
        name = "p" + name if name[0].isdigit() else name
        name = name + "_" if keyword.iskeyword(name) or name in used else name
        own = name
        while name in used:
            used[own] += 1
            name = "%s%d" % (own, used[own])
        found.append(name)
        used[name] = 1
    return found


def _event(index, kinds, row):
    code, name, always, kind, doc, size, layout, params = row
    params = [EventParam(*param) for param in params]
    fields = ["time", "thread"] + _names([p.name for p in params], ["time", "thread"])
    record = namedtuple(_names([name])[0], fields)
    desc = EventDesc(name, code, always, kinds.get(kind), params, size, layout, doc, index, record)
    record.desc = desc
    return desc


def _registry(row):
    index, name, version, doc, kinds, events = row
    kinds = {code: KindDesc(name, code, doc) for code, name, doc in kinds}
    events = {event[0]: _event(index, kinds, event) for event in events}
    return RegistryDesc(index, name, version, doc, kinds, events)


def _namespace(name, descs):
    """A class with a description for each name, as in `Event.PoolInit`."""
    names = _names([desc.name for desc in descs])
    return type(name, (), dict(zip(names, descs)))


# Registries by their index: 0 is the store, with interned strings, labels and threads.
REGISTRY = {row[0]: _registry(row) for row in _REGISTRIES}
# Of the program's first registry: its version, its kinds and events, by code and by name.
_main = REGISTRY.get(1) or REGISTRY[min(REGISTRY)]
__version__ = _main.version
KIND, EVENT = _main.kinds, _main.events
Kind, Event = _namespace("Kind", KIND.values()), _namespace("Event", EVENT.values())
HEADER_SIZE = struct.calcsize(HEADER_FORMAT)
# An event whose code no registry has, and its bytes.
Unknown = namedtuple("Unknown", "time thread registry code bytes")
# What is called what, at most: what is beyond has no name.
NAME_COUNT_MAX = 1 << 20


def record(desc, time, thread, data):
    """Returns the named tuple of an event from its bytes, `data`. Missing values are None."""
    return _maker(desc)(time, thread, data, 0, len(data))


def _maker(desc):
    """What makes the named tuple of an event whose bytes are `data[at:end]`."""
    make, layout, size = desc.record._make, struct.Struct(desc.format), HEADER_SIZE + desc.maxsize
    unpack, has_string = layout.unpack_from, bool(desc.params) and desc.params[-1].sort == "S"

    def fixed(time, thread, data, at, end):
        if end - at < size:
            return _short(desc, time, thread, data, at, end)
        return make((time, thread) + unpack(data, at + HEADER_SIZE))

    def stringed(time, thread, data, at, end):
        if end - at < size:
            return _short(desc, time, thread, data, at, end)
        string = _string(data, at + size, end) if end - at > size else None
        return make((time, thread) + unpack(data, at + HEADER_SIZE) + (string,))

    return stringed if has_string else fixed


def _short(desc, time, thread, data, at, end):
    """A short event has only the first of its parameters."""
    found, layout = (), BYTE_ORDER
    for piece in re.findall(r"\d*x|[A-Za-z?]", desc.format[1:]):
        layout += piece
        if HEADER_SIZE + struct.calcsize(layout) > end - at:
            break
        found = struct.unpack_from(layout, data, at + HEADER_SIZE)
    missing = (None,) * (len(desc.params) - len(found))
    return desc.record._make((time, thread) + found + missing)


def _string(data, begin, end):
    """The string at the end of an event. Bytes that are not UTF-8 are surrogates (os.fsdecode):
    text.encode("utf-8", "surrogateescape") are all bytes as they were."""
    padding = data[end - 1]
    if not IS_MPS and padding < 8 and end - 1 - padding >= begin:
        text = data[begin : end - 1 - padding]
    else:
        text = data[begin:end].split(b"\0")[0]
    return text.decode("utf-8", "surrogateescape")


def events(path):
    """Gives the events of a log of this platform, each once, as named tuples, in the order of the
    file: of time, within a block. Damage is passed over without a word: eventcnv tells of it."""
    return _read(path, [0])


def _read(path, place, is_wanted=lambda registry: True):
    """The events of the registries that are wanted; `place` has the number of their stream."""
    with open(path, "rb") as file:
        yield from _mps_events(file) if IS_MPS else _stream_events(file, place, is_wanted)


class Log:
    """A log of this platform: its events, one after the other, and what is called what.

    Of the file a block is in memory at a time, and what is called what: at most NAME_COUNT_MAX
    names. They are read when one is asked for first. Labels, strings and threads are those of the
    stream whose event was given last."""

    def __init__(self, path):
        self.path, self._names, self._place, self._last = path, None, [0], None

    def __iter__(self):
        for self._last in _read(self.path, self._place):
            yield self._last

    def label(self, address, time=None):
        """What a pointer or address was called at a time, or else at that of the event that was
        given last. None, if it had no name."""
        labels = self._of_stream().labels.get(address, ())
        time = self._last.time if time is None and self._last else time
        at = len(labels) if time is None else bisect.bisect(labels, (time, float("inf")))
        return self.string(labels[at - 1][1]) if at else None

    def string(self, string_id):
        """An interned string by its number. None, if there is none."""
        return self._of_stream().strings.get(string_id)

    def thread_name(self, thread):
        """What a thread is called: that of an event, or by its number. None, if it has no name."""
        thread = getattr(thread, "thread", thread)
        return self._of_stream().threads.get(thread) or None

    def _of_stream(self):
        if self._names is None:
            self._names = self._read_names()
        return self._names.get(self._place[0]) or _Names({}, {}, {})

    def _read_names(self):
        found, count, place = {}, 0, [0]
        for event in _read(self.path, place, lambda registry: not registry):
            desc = getattr(type(event), "desc", None)
            is_name = desc and desc.name in ("Intern", "Label", "LabelPointer", "Thread")
            if not is_name or count >= NAME_COUNT_MAX or None in event:
                continue
            count += 1
            names = found.setdefault(place[0], _Names({}, {}, {}))
            if desc.name == "Intern":
                names.strings[event[2]] = event[3]
            elif desc.name == "Thread":
                names.threads[event[2]] = event[-1]
            else:
                names.labels.setdefault(event[2], []).append((event.time, event[3]))
        for names in found.values():
            for labels in names.labels.values():
                labels.sort()
        return found


_Names = namedtuple("_Names", "strings labels threads")
_MAKERS = {
    (index, code): _maker(desc)
    for index, registry in REGISTRY.items()
    for code, desc in registry.events.items()
}
# Bytes of a log of the MPS, which has no blocks, that are in memory at a time.
_PIECE_SIZE = 1 << 20


def _mps_events(file):
    index, data, at = min(REGISTRY), b"", 0
    makers = {code: maker for (_, code), maker in _MAKERS.items()}
    unpack = struct.Struct(HEADER_FORMAT).unpack_from
    while True:
        data, at = data[at:] + file.read(_PIECE_SIZE), 0
        begin = len(data)
        while at + HEADER_SIZE <= len(data):
            code, size, clock = unpack(data, at)
            if size < HEADER_SIZE:
                return
            if at + size > len(data):
                break
            maker = makers.get(code)
            if maker:
                yield maker(clock, 0, data, at, at + size)
            else:
                yield Unknown(clock, 0, index, code, data[at : at + size])
            at += size
        if begin < _PIECE_SIZE:
            return


_STREAM, _BLOCK = b"\xd5EVL\r\n\x1a\0", b"\xf7EL\x8a"
_LAYOUT = struct.Struct("<4sBBBBIHBx8sIIIIQQQQI")
_Block = namedtuple(
    "_Block",
    "magic type flags log_size words crc registry kind stream last count top buffer"
    " sequence first base base_last thread",
)
_HEAD_SIZE = 512


def _stream_events(file, place, is_wanted):
    size, given, streams = 0, {}, {}
    while True:
        at = file.tell()
        head = file.read(_HEAD_SIZE)
        if len(head) < _HEAD_SIZE and (not size or not head):
            if not size:
                raise ValueError("no stream begins the file")
            return
        if head[:8] == _STREAM and len(head) == _HEAD_SIZE:
            mark = b"\x0a\x0b\x0c\x0d" if BYTE_ORDER == ">" else b"\x0d\x0c\x0b\x0a"
            if head[16:20] != mark or head[20] != WORD_SIZE:
                raise ValueError("the log is of another platform: eventcnv py makes its module")
            (header,) = struct.unpack_from("<H", head, 14)
            (size,) = struct.unpack_from("<I", head, 24)
            name = head[32:40]
            if size not in [1 << n for n in range(12, 21)]:
                raise ValueError("the head of the stream is damaged")
            place[0] = streams.setdefault(name, len(streams))
            data = head + file.read(size - _HEAD_SIZE)
            at += yield from _parts(data, header, name, given, is_wanted)
        elif not size:
            raise ValueError("no stream begins the file")
        else:
            block = _block(head, 0, name)
            if block and block.type == 2:
                data = head + file.read(size - _HEAD_SIZE)
                at += yield from _parts(data, 8 * block.words, name, given, is_wanted)
            else:
                if block and block.type == 1 and is_wanted(block.registry):
                    data = head + file.read(size - _HEAD_SIZE)
                    yield from _chain(data, block.last, block, given)
                at += size
        file.seek(at)


def _block(data, at, name):
    if at + _LAYOUT.size > len(data) or data[at : at + 4] != _BLOCK:
        return None
    block = _Block(*_LAYOUT.unpack_from(data, at))
    return block if block.stream == name and block.last <= block.top <= 1 << 20 else None


def _parts(data, at, name, given, is_wanted):
    """The events of parts. Returns where they end: another stream may follow on a last block that
    is short (.stream.again)."""
    while at + 128 <= len(data):
        if data[at : at + 8] == _STREAM:
            return at
        block = _block(data, at, name)
        if block is None:
            at += 8
            continue
        begin = at + 8 * block.words
        if block.type == 1 and is_wanted(block.registry):
            yield from _chain(data, begin, block, given)
        at = begin + (block.top - block.last + 7) // 8 * 8
    return len(data)


_EVENT = struct.Struct(BYTE_ORDER + "HHL").unpack_from
_BASE = struct.Struct(BYTE_ORDER + "QQ").unpack_from
# No event has this number or a higher one.
_LAST = 2**64 - 1


def _chain(data, at, block, given):
    """The events of a block: the newest is first, and they are given from the oldest."""
    end, chain = at + block.top - block.last, []
    top = min(end, len(data))
    while at + 8 <= top:
        code, size, delta = _EVENT(data, at)
        if size < (8 if code else 24) or size % 8 or at + size > top:
            break
        chain.append((code, delta, at, size))
        at += size
    bases = [_BASE(data, c[2] + 8) for c in chain if not c[0]]
    base = bases[0][0] if bases else block.base if at == end else block.base_last
    found, bases = [], iter(bases)
    for code, delta, begin, size in chain:
        if code:
            found.append((code, (base + delta) % 2**64, begin, size))
        else:
            base = next(bases)[1]
    # A broken chain keeps its newest events.
    missing = 0 if at == end else max(block.count - len(found), 0)
    seen = given.setdefault((block.stream, block.buffer), array.array("Q"))
    registry, thread = block.registry, block.thread
    makers, last = _MAKERS, len(found) - 1
    for place, number, count in _runs(block, data, chain, missing, len(found)):
        for run_begin, run_end in _new(seen, number, number + count):
            for n in range(place + run_begin - number, place + run_end - number):
                code, time, begin, size = found[last - n]
                maker = makers.get((registry, code))
                if maker:
                    yield maker(time, thread, data, begin, begin + size)
                else:
                    yield Unknown(time, thread, registry, code, data[begin : begin + size])


def _runs(block, data, chain, missing, count):
    """The runs of numbers of the events of a block, the oldest first: the place of the first of
    them, its number, and how many they are. The oldest events may be missing. Sealed blocks whose
    flag 8 is set say which numbers were left out between others (.cut.numbers)."""
    number, place, stated = block.first, -missing, ()
    if block.flags & 9 == 9 and chain and not chain[0][0]:
        _, _, begin, size = chain[0]
        stated = _words(data[begin + 24 : begin + size])
    stated = iter(stated)
    while place < count and number < _LAST:
        size = min(next(stated, 0) or count - place, count - place, _LAST - number)
        first = max(place, 0)
        if place + size > first:
            yield first, number + first - place, place + size - first
        place, number = place + size, number + size + next(stated, 0)


def _words(data):
    """Numbers with seven bits a byte, the lowest first; the last byte of each is below 128."""
    word = shift = 0
    for byte in data:
        word |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield word
            word = shift = 0


def _new(seen, begin, end):
    """The runs of numbers in [begin, end) that are not in `seen`, which has them from then on: the
    bounds of all runs, in order."""
    i, j = bisect.bisect_left(seen, begin), bisect.bisect_right(seen, end)
    first, last = [] if i % 2 else [begin], [] if j % 2 else [end]
    bounds = first + list(seen[i:j]) + last
    seen[i:j] = array.array("Q", first + last)
    return [run for run in zip(bounds[::2], bounds[1::2]) if run[0] < run[1]]

#!/usr/bin/env python3
"""What reads logs: the end of every module of `eventcnv py`, after what a log declares."""


def _names(names, taken=()):
    """Names that Python takes for fields: what a log declares may be anything."""
    found = []
    for name in names:
        name = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_") or "unnamed"
        name = "p" + name if name[0].isdigit() else name
        while keyword.iskeyword(name) or name in found or name in taken:
            name += "_"
        found.append(name)
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


def record(desc, time, thread, data):
    """The named tuple of an event: `data` are its bytes. What is not there is None."""
    values = []
    if len(data) >= HEADER_SIZE + desc.maxsize:
        values = list(struct.unpack_from(desc.format, data, HEADER_SIZE))
        if desc.params and desc.params[-1].sort == "S" and len(data) > HEADER_SIZE + desc.maxsize:
            values.append(_string(data, HEADER_SIZE + desc.maxsize))
    else:
        # A short event has only the first of its parameters.
        found, layout = [], BYTE_ORDER
        for piece in re.findall(r"\d*x|[A-Za-z?]", desc.format[1:]):
            layout += piece
            if HEADER_SIZE + struct.calcsize(layout) > len(data):
                break
            found = struct.unpack_from(layout, data, HEADER_SIZE)
        values = list(found)
    values += [None] * (len(desc.params) - len(values))
    return desc.record(time, thread, *values)


def _string(data, begin):
    if IS_MPS:
        end = data.find(b"\0", begin)
        return data[begin:] if end < 0 else data[begin:end]
    padding = data[-1]
    if padding < 8 and len(data) - 1 - padding >= begin:
        return data[begin : len(data) - 1 - padding]
    return data[begin:].split(b"\0")[0]


def events(path):
    """Gives the events of a log of this platform, each once, as named tuples, in the order of the
    file: of time, within a block. Damage is passed over without a word: eventcnv tells of it."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield from (_mps_events if IS_MPS else _stream_events)(data)


def _give(registry, code, time, thread, data):
    desc = REGISTRY[registry].events.get(code) if registry in REGISTRY else None
    if desc is None:
        return Unknown(time, thread, registry, code, data)
    return record(desc, time, thread, data)


def _mps_events(data):
    at = 0
    while at + HEADER_SIZE <= len(data):
        code, size, clock = struct.unpack_from(HEADER_FORMAT, data, at)
        if size < HEADER_SIZE or at + size > len(data):
            break
        yield _give(min(REGISTRY), code, clock, 0, data[at : at + size])
        at += size


_STREAM, _BLOCK = b"\xd5EVL\r\n\x1a\0", b"\xf7EL\x8a"
_LAYOUT = struct.Struct("<4sBBBBIHBx8sIIIIQQQQI")
_Block = namedtuple(
    "_Block",
    "magic type flags log_size words crc registry kind stream last count top buffer"
    " sequence first base base_last thread",
)


def _stream_events(data):
    at, size, given = 0, 0, {}
    while at + 512 <= len(data):
        if data[at : at + 8] == _STREAM:
            mark = b"\x0a\x0b\x0c\x0d" if BYTE_ORDER == ">" else b"\x0d\x0c\x0b\x0a"
            if data[at + 16 : at + 20] != mark or data[at + 20] != WORD_SIZE:
                raise ValueError("the log is of another platform: eventcnv py makes its module")
            (header,) = struct.unpack_from("<H", data, at + 14)
            (size,) = struct.unpack_from("<I", data, at + 24)
            name = bytes(data[at + 32 : at + 40])
            if size not in [1 << n for n in range(12, 21)]:
                raise ValueError("the head of the stream is damaged")
            yield from _parts(data, at + header, min(at + size, len(data)), name, given)
        elif not size:
            raise ValueError("no stream begins the file")
        elif block := _block(data, at, name):
            if block.type == 1:
                yield from _chain(data, at + block.last, block, given)
            elif block.type == 2:
                begin, end = at + 8 * block.words, min(at + size, len(data))
                yield from _parts(data, begin, end, name, given)
        at += size


def _block(data, at, name):
    if at + _LAYOUT.size > len(data) or data[at : at + 4] != _BLOCK:
        return None
    block = _Block(*_LAYOUT.unpack_from(data, at))
    return block if block.stream == name and block.last <= block.top <= 1 << 20 else None


def _parts(data, at, end, name, given):
    while at + 128 <= end:
        block = _block(data, at, name)
        if block is None:
            at += 8
            continue
        begin = at + 8 * block.words
        if block.type == 1:
            yield from _chain(data, begin, block, given)
        at = begin + (block.top - block.last + 7) // 8 * 8


def _chain(data, at, block, given):
    """The events of a block: the newest is first, and they are given from the oldest."""
    end, chain = at + block.top - block.last, []
    top = min(end, len(data))
    while at + 8 <= top:
        code, size, delta = struct.unpack_from(BYTE_ORDER + "HHL", data, at)
        if size < (8 if code else 24) or size % 8 or at + size > top:
            break
        chain.append((code, delta, at, size))
        at += size
    bases = [struct.unpack_from(BYTE_ORDER + "QQ", data, c[2] + 8) for c in chain if not c[0]]
    base = bases[0][0] if bases else block.base if at == end else block.base_last
    found, bases = [], iter(bases)
    for code, delta, begin, size in chain:
        if code:
            found.append((code, (base + delta) % 2**64, begin, size))
        else:
            base = next(bases)[1]
    number = block.first + (0 if at == end else max(block.count - len(found), 0))
    seen = given.setdefault((block.stream, block.buffer), [])
    for run_begin, run_end in _new(seen, number, number + len(found)):
        for n in range(run_begin, run_end):
            code, time, begin, size = found[len(found) - 1 - (n - number)]
            data_of = data[begin : begin + size]
            yield _give(block.registry, code, time, block.thread, data_of)


def _new(seen, begin, end):
    """The runs of numbers in [begin, end) that are not in `seen`, which has them from then on."""
    runs, at = [], begin
    for first, last in seen:
        if last <= at or first >= end:
            continue
        if first > at:
            runs.append((at, first))
        at = max(at, last)
    if at < end:
        runs.append((at, end))
    merged = []
    for first, last in sorted(seen + runs):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    seen[:] = merged
    return runs

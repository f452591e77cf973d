#!/usr/bin/env python3
"""A reader of event logs, made from design/format.md alone: it proves that the document is complete.

`reader.py [LOG]` (standard input if there is no LOG; Python 3.9) prints each event once, in time order, in the
numeric form of eventcnv; faults go to standard error. Exit code 1: there were faults; 2: not a stream of ours.
"""
import re, struct, sys
from collections import Counter, namedtuple
from struct import calcsize, unpack_from

STREAM_MAGIC, BLOCK_MAGIC = b"\xd5EVL\r\n\x1a\0", b"\xf7EL\x8a"           # .header.magic .block.magic
EVENTS, PARTS, REGISTRY, END, SEALED, BIG, WIDE, NUMBERED = 1, 2, 3, 4, 1, 2, 4, 8  # .block.type .block.flags
LAYOUT = struct.Struct("<4sBBBBIH2x8sIIIIQQQQ32xQ12xI")                   # 3.1
Block = namedtuple("Block", "magic type flags log_size header_size crc registry stream last count top buffer"
                   " sequence first base base_last overwritten io at payload")
Event = namedtuple("Event", "group ticks stream buffer number registry code flags at size")
events, registries = {}, {}     # (stream, buffer, number) -> Event; (stream, index) -> {code: sorts}
uuids, groups, highest, accounted, reports, lowest, volumes, whole = {}, {}, Counter(), Counter(), set(), {}, {}, set()
KEEP, STEERING = ("utf8", "surrogateescape"), '["\\\\\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udc9f]'
TABLE = range(256)
for _ in range(8): TABLE = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in TABLE]
def crc32c(*pieces):                                                      # .crc
    c = 0xFFFFFFFF
    for byte in b"".join(pieces):
        c = TABLE[(c ^ byte) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF
take = lambda at, size: data[at:at + size].ljust(size, b"\0")             # .stream.tail
def report(what, at=None):
    if (what, at) not in reports:
        print("reader.py:", "warning" if at is None else f"offset {at}", what, file=sys.stderr)
    reports.add((what, at))
def header_checks(at):                                                    # .header.crc
    h = take(at, 512)
    return h[:8] == STREAM_MAGIC and crc32c(h[:28], bytes(4), h[32:]) == unpack_from("<I", h, 28)[0]

class Stream:                                                             # 2.2
    def __init__(self, start):
        magic, *version, size, mark, word, block, uuid, boot, clock, self.ring, volume = unpack_from(
            "<8sHHHH4sB3xI4x16s16s40xI40xI256xQ", take(start, 512))  # .header.ring, .header.volume
        self.start, self.end, self.encoded, self.block_size, self.count = start, len(data), {}, 0, 0
        self.sound = header_checks(start)
        part = None if self.sound else self.block(start + 512, True)
        if not part and (magic != STREAM_MAGIC or version[0] != 1):       # .read.no-magic .read.major
            report(f"not an event log, or one of version {version}; this reader reads [1, 0, 5]")
            sys.exit(2)
        if self.sound and version > [1, 0, 5]:                            # .read.minor
            report(f"format version {version}; this reader reads [1, 0, 5]")
        self.sound or report("the stream header is damaged", start)       # .read.header-damage
        self.block_size, self.id = (1 << part.log_size, part.stream) if part else (block, uuid[:8])
        self.flags = (BIG if mark == b"\x0a\x0b\x0c\x0d" else 0) | (WIDE if word == 8 else 0)
        is_known, self.uuid = self.id in uuids, uuids.setdefault(self.id, len(uuids))
        self.sound and volumes.setdefault(self.uuid, set()).add(volume)   # .volume.header
        is_known or volumes.setdefault(self.uuid, {volume}); self.ring & 2 or whole.add(self.uuid)  # .cut.flag
        self.group = groups.setdefault((boot, clock) if any(boot) else self.id, len(groups))  # .time.order
        if self.block_size in [1 << n for n in range(12, 21)]:            # .stream.blocks
            return self.blocks(size if self.sound else 512)
        report(f"block size {self.block_size}", start)
    def block(self, at, is_part):                     # .read.sealed: None if it is not sound
        b = Block(*LAYOUT.unpack(take(at, 128)), at, 0)
        size = 8 * b.header_size                                          # .block.header-size
        b = b._replace(payload=at + (size if is_part else b.last))
        lowest, highest = (0, 1 << 20) if is_part else (size, self.block_size)
        if b.magic != BLOCK_MAGIC or size < 128 or not lowest <= b.last <= b.top <= highest:
            return None
        if self.block_size and 1 << b.log_size != self.block_size:        # .block.size
            return None
        if b.flags & SEALED:                                              # .block.crc
            header, payload = take(at, size), take(b.payload, b.top - b.last)
            return b if crc32c(header[:8], bytes(4), header[12:], payload) == b.crc else None
        return None if is_part or self.sound and b.flags & (BIG | WIDE) != self.flags else b  # .read.open
    def look_for_stream(self, at, end):                                   # .stream.again
        while 0 <= (at := data.find(STREAM_MAGIC, at)) < end and not header_checks(at):
            at += 1
        self.end = at if 0 <= at < end else self.end
        return min(end, self.end)
    def blocks(self, header_size):
        at, hole = self.start, None
        while at < self.end:
            b = self.block(at, False)
            if at == self.start:
                self.parts(at + header_size, at + self.block_size)
            elif take(at, 8) == STREAM_MAGIC:
                self.end = at
            elif b is None:                                               # .read.resync .stream.hole
                written = any(take(at, 4)) and not report("a damaged block, or no block", at)
                hole = hole if written or self.ring & 1 else hole or at
                is_parts = take(at, 5) == BLOCK_MAGIC + bytes([PARTS])    # .parts.header
                (self.parts if is_parts else self.look_for_stream)(at + 128 * is_parts, at + self.block_size)
            else:
                hole = (hole and report("a hole", hole)) or self.give(b, False)
            at += self.block_size
        if self.end - self.start <= (self.count - 1) * self.block_size:   # .read.cut
            report("blocks are missing at the end", self.end)
    def parts(self, at, end):                                             # .parts.chain
        while at + 128 <= end:
            if b := self.block(at, True):
                self.give(b, True)
                at = b.payload + (b.top - b.last + 7) // 8 * 8            # .parts.payload
            else:
                end = self.look_for_stream(at, end)
                following = next((p for p in range(at + 8, end - 127, 8) if self.block(p, True)), end)
                if any(take(at, 4)) and at < end or following < end:      # .parts.sealed
                    report("a damaged part, or a hole among the parts", at)
                at = following
    def give(self, b, is_part):
        if b.stream != self.id:                                           # .block.stream
            report("a block of another stream", b.at)
        elif b.type == EVENTS:
            self.events(b)
        elif b.type == PARTS and not is_part:
            self.parts(b.at + 8 * b.header_size, b.at + self.block_size)
        elif b.type == REGISTRY and is_part:                              # .part.registry
            encoded = self.encoded.setdefault(b.registry, bytearray())
            encoded += take(b.payload, b.top) if b.first == len(encoded) else b""
            registries[self.uuid, b.registry], whole = parse_registry(encoded)
            if b.first > len(encoded) or len(encoded) == b.sequence and not whole:  # .registry.trust
                report(f"registry {b.registry} has a gap or does not parse", b.at)
        elif b.type == END and is_part:                                   # .part.end
            self.count = max(self.count, b.sequence)
        else:                                                             # .block.unknown
            report(f"skipped blocks or parts of type {b.type}")
    def events(self, b):                                                  # 3.2
        order, at, top, chain = ">" if b.flags & BIG else "<", b.payload, b.payload + b.top - b.last, []
        while at < top:                                                   # .event.fill
            code, size, delta, new, before = unpack_from(order + "HHIQQ", take(at, 24))
            if size < (8 if code else 24) or size % 8 or at + size > min(top, len(data)):
                report(f"an event of size {size} ends the chain", at)     # .read.chain .read.open
                b.flags & SEALED or self.look_for_stream(b.at, b.at + self.block_size)
                break
            chain.append((code, size, delta, new, before, at))
            at += size
        records = [c for c in chain if c[0] == 0]                         # .event.base
        base = records[0][3] if records else b.base if at == top else b.base_last
        number = b.first + (len(chain) - len(records) if at == top else b.count)  # .event.number
        numbers = [*range(b.first, number)]
        if b.flags & NUMBERED and records and at == top:                  # .cut.numbers
            words = re.findall(rb"[\x80-\xff]*[\0-\x7f]", take(b.payload + 24, records[0][1] - 24))
            words = [sum((byte & 127) << 7 * n for n, byte in enumerate(word)) for word in words]
            numbers, number = [], b.first
            for count, missing in zip(words[::2], words[1::2]):
                numbers, number = numbers + [*range(number, number + count)], number + count + missing
            numbers += range(number, number := number + b.count - len(numbers))
        key = self.uuid, b.buffer
        highest[key], accounted[key] = max(highest[key], number), max(accounted[key], b.overwritten + b.io)
        for code, size, delta, _, before, at in chain:
            if code == 0:
                base = before
            else:
                number = numbers.pop() if numbers else number - 1
                e = Event(self.group, (base + delta) % 2**64, *key, number, b.registry, code, b.flags, at, size)
                events.setdefault((*key, number), e)                      # .event.identity
        lowest[key] = min(lowest.get(key, (number, 2**65)), (number, b.overwritten + b.io))  # .volume.loss

def parse_registry(encoded):                                              # 5.1
    at, types = 0, {}
    def get(layout, strings=2):
        nonlocal at
        values = unpack_from("<" + layout, encoded, at)
        at += calcsize("<" + layout)
        for _ in range(strings):
            get("%dx" % get("H", 0)[0], 0)
        return values
    try:
        kinds, count = get("6xHI16x")
        [get("B") for _ in range(kinds)]
        for _ in range(count):
            code, parameters = get("H2xH")
            types.setdefault(code, b"".join(get("c")[0] for _ in range(parameters)))
        return types, True
    except struct.error:
        return types, False
def parameters(e):
    sorts = registries.get((e.stream, e.registry), {}).get(e.code)
    if sorts is None:                                                     # .event.unknown
        return report(f"unknown code {e.code:X} of registry {e.registry}")
    word, at, raw = "Q" if e.flags & WIDE else "I", 8, take(e.at, e.size)
    layouts = dict(P=word, A=word, W=word, U="I", D="d", B="?", S="c")
    for sort in sorts.decode("latin1"):
        if sort not in layouts:                                           # .registry.trust
            return report(f"unknown sort {sort!r}")
        size = calcsize(layouts[sort])
        at = (at + size - 1) // size * size                               # .event.params
        if at + size > e.size:                                            # .event.short
            return report("an event shorter than its parameters", e.at)
        value, = unpack_from((">" if e.flags & BIG else "<") + layouts[sort], raw, at)
        if sort == "S":                                                   # .event.string
            end = e.size - 1 - raw[-1]
            value = raw[at:end] if raw[-1] < 8 and end >= at else raw[at:].split(b"\0")[0]
            codes = lambda text: "".join("\\x%02X" % byte for byte in text.encode(*KEEP))
            escape = lambda m: "\\" + m[0] if m[0] in '"\\' else codes(m[0])
            value = re.sub(STEERING, escape, value.decode(*KEEP)).encode(*KEEP)
        yield {"S": b'"%s"', "D": b"%.10G"}.get(sort, b"%X") % value
        at += size

data, end = (open(sys.argv[1], "rb") if len(sys.argv) > 1 else sys.stdin.buffer).read(), 0
while not end or end < len(data):
    end = Stream(end).end
for e in sorted(events.values()):                                         # .time.order
    code = b"%4X" % e.code if e.registry < 2 else b"%d:%X" % (e.registry, e.code)
    sys.stdout.buffer.write(b" ".join([b"%016X %s" % (e.ticks, code), *parameters(e)]) + b"\n")
counts = Counter(key[:2] for key in events)
for key in highest:                                                       # .read.loss .volume.loss
    first, before = lowest[key] if min(volumes[key[0]]) else (0, 0)
    if (count := highest[key] - first - max(0, accounted[key] - before) - counts[key]) > 0 and key[0] in whole:
        report(f"{count} events of buffer {key[1]} lost", 0)
if any(max(v) - min(v) >= len(v) for v in volumes.values()):              # .volume.missing
    report("volumes are missing between others", 0)
sys.exit(1 if any(at is not None for _, at in reports) else 0)

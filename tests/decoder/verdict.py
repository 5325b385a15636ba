# SPDX-License-Identifier: Apache-2.0
"""What docs/FORMAT.md makes of a file: valid, damaged or refused, and how many records can be read.

Written from that page alone, like sbt.py, whose decoding it uses: walks through the file as section 15 says, and
compares index and trailer with what it finds.
"""

import struct

import sbt
import xxh3

INDEX, PIECES, KERNEL_EVENTS, VOID, END_OF_TYPES = 13, 15, 11, 17, 18
TABLES = (2, 3, 4, 5, 6, 7, 16)
END_MAGIC = bytes.fromhex("53425445d15e0d0a")
MAX = 64 << 20
NAMES = ("type flags codec number session stream_end count raw_size stored_size reserved first_seq last_seq "
         "first_time last_time stream_set payload_hash").split()


class Refused(Exception):
    pass


class Head:
    def __init__(self, data, at):
        for name, value in zip(NAMES, struct.unpack_from("<HBBIIIIIIIQQQQQQ", data, at + 8)):
            setattr(self, name, value)
        self.at, self.end = at, at + 96 + self.stored_size
        self.entry = struct.pack("<Q", at) + data[at + 8:at + 88]
        self.first_number = self.number + 1 - self.count if self.type == VOID else self.number

    def is_within_limits(self):
        if self.raw_size > MAX or self.stored_size > MAX or self.number > 0x7fffffff:
            return False
        if self.codec == 0 and self.raw_size != self.stored_size:
            return False
        room = 64 * (self.stored_size + 96)
        if self.type not in (8, 9, 10, 11, VOID) and self.type < END_OF_TYPES and self.raw_size > room:
            return False
        if self.type == sbt.BLOBS and 20 * self.count > room:
            return False
        if self.type == VOID:
            return self.codec == 0 and self.first_seq <= self.last_seq and self.count <= self.number + 1
        if self.type == sbt.EVENTS:
            return (self.count > 0 and self.last_seq - self.first_seq == self.count - 1 and
                    self.first_time <= self.last_time)
        return True


def header_at(data, at, session, due):
    """The intact header of a chunk that may come next, or None."""
    if at + 96 > len(data) or data[at:at + 8] != sbt.CHUNK_MAGIC:
        return None
    if xxh3.hash64(data[at:at + 88]) != struct.unpack_from("<Q", data, at + 88)[0]:
        return None
    head = Head(data, at)
    number = head.number + (head.type == VOID and head.count == 0)
    if not head.is_within_limits() or head.end > len(data) or number < due:
        return None
    return head if session in (None, head.session) else None


def is_sound(data, head):
    return xxh3.hash64(data[head.at + 96:head.end]) == head.payload_hash


def walk(data, start, session):
    """The chunks, and whether bytes lie between or behind them."""
    due, number, gaps, found = start, 0, False, []

    def trusted(head):
        return head and (header_at(data, head.end, session, head.number + 1) or
                         data[head.end:head.end + 8] == sbt.MAGIC or is_sound(data, head))

    while True:
        at = due
        head = header_at(data, at, session, number)
        if not trusted(head):
            head = None
            if data[at:at + 8] == sbt.MAGIC:
                return found, True
            while head is None:
                at = data.find(sbt.CHUNK_MAGIC, at + 1)
                if at < 0:
                    return found, gaps or due < len(data)
                head = header_at(data, at, session, number)
                head = head if trusted(head) else None
        gaps |= at > due
        found.append(head)
        due, number = head.end, head.number + 1


def unpack(data, head):
    stored = data[head.at + 96:head.end]
    if not is_sound(data, head) or head.codec > 2:
        raise sbt.Malformed("payload")
    if head.codec == 0:
        return stored
    payload = sbt.zstd_decompress(stored, head.raw_size)
    return payload if head.codec == 1 else sbt.join_pairs(payload)


class Judge:
    def __init__(self, data):
        self.data, self.wrong, self.records, self.seq = data, [], 0, 0
        self.schemas, self.trace, self.totals = {}, sbt.Trace(), [0, 0, 0]
        self.voids, self.lists, self.listed, self.leaves, self.root = False, {}, set(), [], None

    def expect(self, truth, what):
        if not truth:
            self.wrong.append(what)

    # the file header

    def file_header(self):
        data = self.data
        if len(data) < 64 or data[:8] != sbt.MAGIC:
            raise Refused("no trace")
        length = struct.unpack_from("<I", data, 12)[0]
        good = 64 <= length <= 4096 and length <= len(data)
        if not good or xxh3.hash64(data[:length - 8]) != struct.unpack_from("<Q", data, length - 8)[0]:
            self.wrong.append("file header")
            self.head = None
            return 64
        self.head = struct.unpack_from("<HH", data, 8) + (data[32:48],) + struct.unpack_from("<QQ", data, 16)
        self.expect(self.head[1] or data[48:56] == bytes(8), "reserved bytes of the file header")
        self.version(self.head[0], self.head[3])
        return length

    def version(self, major, required):
        if major != 1 or required & ~sbt.COMPACT_FEATURE:
            raise Refused("version")

    def stream_info(self, at):
        head = header_at(self.data, at, None, 0)
        if not head or head.type != sbt.STREAM_INFO or head.number:
            raise Refused("no STREAM_INFO")
        try:
            view = sbt.View(unpack(self.data, head))
            major, minor, session = view.u16(), view.u16(), view.take(16)
            required, optional = view.u64(), view.u64()
            view.take(16)
            clock = view.text()
        except sbt.Malformed as error:
            raise Refused("STREAM_INFO") from error
        if session[:4] != struct.pack("<I", head.session) or len(clock) > 255:
            raise Refused("STREAM_INFO")
        self.version(major, required)
        said = (major, minor, session, required, optional)
        self.expect(self.head in (None, said), "STREAM_INFO and the file header")
        self.minor, self.compact = minor, bool(required & 1)
        return head.session

    # chunks

    def fields(self, h):
        ours, events = self.minor == 0, h.type == sbt.EVENTS
        self.expect(h.type and (h.type < END_OF_TYPES or not ours), "type")
        if h.type >= END_OF_TYPES or h.type == 0:
            if h.flags & 1:
                raise Refused("a critical chunk that is not known")
        self.expect(h.type >= VOID or h.flags & 1, "not critical")
        self.expect(not (ours and h.flags & ~7), "flags")
        self.expect(not h.flags & 2 or h.type in (sbt.EVENTS, VOID), "notable")
        self.expect(not h.flags & 4 or events and self.compact, "compact")
        self.expect(not (ours and h.reserved), "reserved")
        self.expect(h.codec < 2 or h.codec == 2 and h.type == sbt.BLOBS and self.compact, "codec")
        self.expect(h.type != sbt.TRAILER or h.codec == 0, "codec of the trailer")
        if ours and h.type < END_OF_TYPES and not events:
            ids = h.type in (5, 6, VOID)
            self.expect(ids or not (h.first_seq or h.last_seq), "ids")
            self.expect(not (h.first_time or h.last_time or h.stream_set or h.stream_end), "ranges")

    def events(self, h, payload):
        expected = [struct.unpack_from("<I", payload, 8 + 16 * i)[0]
                    for i in range(struct.unpack_from("<I", payload)[0])] if len(payload) >= 8 else []
        rows = sbt.events(h, payload)
        if h.first_seq < self.seq:
            self.expect(False, "records go back")
            return
        self.expect(h.first_seq == self.seq, "records are missing")
        self.seq = h.last_seq + 1
        self.records += len(rows)
        missing = [t for t in expected if t not in self.trace.schemas]
        self.expect(self.voids or not missing, "schema")
        streams = [r.stream for r in rows if r.stream != sbt.NO_STREAM]
        bits = 0
        for r in rows:
            bits |= 1 << (63 if r.stream == sbt.NO_STREAM else r.stream % 63)
        self.expect((h.first_time, h.last_time) == (min(r.time for r in rows), max(r.time for r in rows)), "times")
        self.expect((h.stream_set, h.stream_end) == (bits, max(streams, default=-1) + 1), "streams")
        before = self.trace.totals[1:4]
        self.trace.add_totals(rows)
        notable = self.trace.totals[1:4] != before or any(r.type in (4, 11) for r in rows)
        self.expect(self.voids or notable == bool(h.flags & 2), "notable")

    def content(self, h, payload):
        trace = self.trace
        tables = {2: trace.add_metadata, 3: trace.add_schema, 4: trace.add_enum, 5: trace.add_string,
                  16: trace.add_struct}
        if h.type in TABLES:
            for item in sbt.items(h, payload):
                if h.type in tables:
                    tables[h.type](item)
        elif h.type == sbt.EVENTS:
            self.events(h, payload)
        elif h.type == sbt.BLOBS:
            if 20 * h.count > len(payload):
                raise sbt.Malformed("pieces")
            self.lists[h.number] = payload[len(payload) - 20 * h.count:]
        elif h.type == PIECES:
            self.pieces(h, payload)
        elif h.type == INDEX:
            self.index(h, payload)
        elif h.type == VOID and h.flags & 2:
            self.voids |= bool(h.count)
            if h.first_seq in (h.last_seq, self.seq):
                self.seq = max(self.seq, h.last_seq if h.first_seq == self.seq else 0)
            else:
                self.wrong.append("records of VOID")
        elif h.type == VOID:
            self.expect(h.first_seq == h.last_seq, "records of VOID")

    def pieces(self, h, payload):
        view = sbt.View(payload)
        for _ in range(h.count):
            number, count = view.u32(), view.u32()
            self.expect(self.lists.get(number) == view.take(20 * count), "listed pieces")
            self.listed.add(number)
        self.expect(not view.left(), "PIECES")

    def index(self, h, payload):
        kind, count = struct.unpack_from("<II", payload) if len(payload) >= 8 else (0, 0)
        entries = [payload[at:at + 88] for at in range(8, len(payload), 88)]
        if len(payload) != 8 + 88 * count or count != h.count or kind not in (1, 2):
            self.wrong.append("index")
        elif kind == 1:
            self.expect(entries == self.before[len(self.before) - count:] if count else True, "leaf")
            self.leaves.append(h.entry)
        else:
            named = count + sum(struct.unpack_from("<I", e, 24)[0] for e in entries)
            self.expect(not count or entries == self.leaves[-count:], "root")
            self.expect(named == len(self.before), "root names all")
            self.root = h

    def trailer(self, h, payload):
        if len(payload) < 128:
            raise sbt.Malformed("trailer")
        end, chunks, records, lost, filtered, tainted, streams, size, at, whole = struct.unpack_from(
            "<IIQQQQIIQQ", payload)
        self.expect(payload[-12:] == struct.pack("<I", h.end - h.at) + END_MAGIC, "trailer's end")
        self.expect(whole == h.end and chunks == h.number + 1, "trailer's sizes")
        self.expect(self.root and (at, size) == (self.root.at, self.root.end - self.root.at), "trailer's root")
        self.expect(end and (end < 4 or self.minor), "end")
        have = self.trace.totals
        self.expect((records, tainted, streams) == (self.records, have[3], have[4]), "totals")
        self.expect(lost >= have[1] and filtered >= have[2], "lost")
        self.expect(len(self.listed) == len(self.lists), "listed")

    def chunks(self, found):
        number = 0
        ended = False
        self.before = []
        for h in found:
            self.expect(h.first_number == number and not ended, "chunk numbers")
            number = h.number + 1
            self.expect(h.number or h.type == 1, "first chunk")
            self.expect(h.number != 1 or h.type in (2, VOID), "second chunk")
            self.expect(h.type != 1 or h.number == 0, "STREAM_INFO twice")
            self.fields(h)
            ended |= h.type == sbt.TRAILER
            try:
                payload = unpack(self.data, h)
                if h.type == sbt.TRAILER:
                    self.trailer(h, payload)
                else:
                    self.content(h, payload)
            except (sbt.Malformed, IndexError, ValueError, struct.error) as error:
                self.wrong.append("chunk %d: %s" % (h.number, error))
                if h.type == sbt.EVENTS:
                    self.seq = max(self.seq, h.last_seq + 1)
            self.before.append(h.entry)
        self.expect(ended, "no trailer")


def verdict(data):
    """(what, number of records, why)"""
    judge = Judge(data)
    try:
        start = judge.file_header()
        found, gaps = walk(data, start, judge.stream_info(start))
        judge.expect(not gaps, "bytes belong to no chunk")
        judge.chunks(found)
    except Refused as why:
        return "refused", 0, [str(why)]
    return ("damaged" if judge.wrong else "valid"), judge.records, judge.wrong

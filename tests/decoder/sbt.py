#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a trace as JSON lines, "tsview/1".

A second decoder of the SBT format, written from docs/FORMAT.md alone: it shares no code with the
library, so that the page is what both agree on. It walks from chunk to chunk and uses neither index
nor trailer, except for what the header line reports. Standard library only; zstd frames go through
libzstd.so.1 or the zstd program.

    sbt.py [--no-verify] TRACE      exit status 0, or 1 and a message
"""

import ctypes
import ctypes.util
import re
import struct
import subprocess
import sys

import xxh3

MAGIC = bytes.fromhex("89534254 0d0a1a0a".replace(" ", ""))
CHUNK_MAGIC = bytes.fromhex("53425443c47b9ae1")
STREAM_INFO, METADATA, SCHEMA, ENUMS, STRINGS = 1, 2, 3, 4, 5
EVENTS, BLOBS, CHECKPOINT, TRAILER, STRUCTS = 8, 9, 12, 14, 16
CHECKPOINT_END = 18
(UINT, INT, HEX, BOOL, F32, F64, HANDLE, DEVPTR, HOSTPTR, SIZE, ENUM, FLAGS, STRING, BYTES,
 BLOB, STRUCT) = range(1, 17)
ONE, LIST, CHAIN = range(3)
PIECE, VALUE_MAX, DEPTH_MAX = 65536, 32 << 20, 32
COMPACT_FEATURE, COMPACT_CHUNK, TURNED_MAX = 1, 4, 512
INLINE, INLINE_MAX = 1 << 63, 256
APIS = ["core", "cuda", "hsa", "hip", "vulkan", "drm"]
KINDS = ["other", "init", "query", "create", "destroy", "command", "sync", "state", "signal",
         "wait", "meta"]
ENDS = ["none", "finished", "recovered", "cut"]
RECORD_FLAGS = ["failed", "taints", "truncated", "unfinished", "late", "captured",
                "ordered", "held", "device", "spot"]
M64 = (1 << 64) - 1
NO_STREAM = 0xFFFFFFFF


class Malformed(Exception):
    pass


class Missing(Exception):
    """A blob of which a piece is not there."""


# ---- bytes ----

class View:
    """Takes fields from bytes, in order."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Malformed("a field is cut off")
        self.at += size
        return self.data[self.at - size:self.at]

    def left(self):
        return len(self.data) - self.at

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return struct.unpack("<H", self.take(2))[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def i64(self):
        return struct.unpack("<q", self.take(8))[0]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            if shift == 63 and byte > 1:
                break
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Malformed("a varint is too long")

    def text(self):
        size = self.u32()
        text = self.take(size + 1)
        if 0 in text[:-1] or text[-1] != 0:
            raise Malformed("a text does not end at its length")
        return text[:-1]


def unzigzag(v):
    return (v >> 1) ^ -(v & 1)


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def zstd_decompress(data, size):
    name = ctypes.util.find_library("zstd")
    if not name:
        out = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
    else:
        lib = ctypes.CDLL(name)
        lib.ZSTD_decompress.restype = ctypes.c_size_t
        space = ctypes.create_string_buffer(size or 1)
        got = lib.ZSTD_decompress(space, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
        out = space.raw[:got] if got <= size else b""
    if len(out) != size:
        raise Malformed("a payload cannot be decompressed")
    return out


# ---- chunks ----

class Chunk:
    def __init__(self, header):
        (self.type, self.flags, self.codec, self.number, self.session, self.stream_end, self.count,
         self.raw_size, self.stored_size, _, self.first_seq, self.last_seq, _, _, _,
         self.payload_hash) = struct.unpack_from("<HBBIIIIIIIQQQQQQ", header, 8)


def read_chunk(file, verify):
    """The next chunk and its payload; None when no whole chunk is there."""
    header = file.read(96)
    if len(header) < 96 or header[:8] != CHUNK_MAGIC:
        return None
    if verify and xxh3.hash64(header[:88]) != struct.unpack_from("<Q", header, 88)[0]:
        return None
    chunk = Chunk(header)
    stored = file.read(chunk.stored_size)
    if len(stored) < chunk.stored_size:
        return None
    if verify and xxh3.hash64(stored) != chunk.payload_hash:
        raise Malformed("chunk %d does not match its checksum" % chunk.number)
    if chunk.codec == 0:
        return chunk, stored
    payload = zstd_decompress(stored, chunk.raw_size)
    return chunk, join_pairs(payload) if chunk.codec == 2 else payload


def join_pairs(payload):
    joined, half = bytearray(len(payload)), (len(payload) + 1) // 2
    joined[::2], joined[1::2] = payload[:half], payload[half:]
    return bytes(joined)


def items(chunk, payload):
    view = View(payload)
    for _ in range(chunk.count):
        yield View(view.take(view.u32()))
    if view.left():
        raise Malformed("bytes after the last item")


# ---- EVENTS ----

def column(view, count):
    body = View(view.take(view.u32()))
    if count == 0:
        return []
    encoding = body.u8()
    storage = encoding & 15
    if encoding & ~0x1F:
        raise Malformed("a column has encoding %#x" % encoding)
    if storage == 0:
        values = [body.u64()] * count
    elif storage <= 4:
        width = 1 << (storage - 1)
        base = body.u64()
        packed = body.take(width * count)
        values = [(base + v) & M64 for v in struct.unpack("<%d%s" % (count, " BHIQ"[storage]), packed)]
    elif storage == 5:
        values = [body.varint() for _ in range(count)]
    elif storage in (7, 8, 9):
        width, base = 2 << (storage - 7), body.u64()
        planes = [body.take(count) for _ in range(width)]
        values = [(base + int.from_bytes(value, "little")) & M64 for value in zip(*planes)]
    elif storage == 6:
        known = [body.u64() for _ in range(0, body.u8() + 1)]
        values = [known[place] for place in body.take(count)]
    else:
        raise Malformed("a column has encoding %#x" % encoding)
    if body.left():
        raise Malformed("a column is too long")
    if encoding & 0x10:
        value = 0
        for i in range(count):
            value = (value + unzigzag(values[i])) & M64
            values[i] = value
    return values


class Record:
    pass


def compact_times(order, gaps, durations):
    """Stored group by group, and as what lies between the end of a record and the next one."""
    members = sorted(range(len(order)), key=lambda i: order[i])
    gap, duration, times, end = {}, {}, [], 0
    for place, i in enumerate(members):
        gap[i], duration[i] = gaps[place], durations[place]
    for i in range(len(order)):
        times.append((end + unzigzag(gap[i])) & M64)
        end = (times[i] + duration[i]) & M64
    return times, [duration[i] for i in range(len(order))]


def events(chunk, payload):
    view = View(payload)
    group_count, common_count = view.u32(), view.u32()
    groups = [(view.u32(), view.u32(), view.u32(), view.u32()) for _ in range(group_count)]
    common = [column(view, chunk.count) for _ in range(common_count)]
    order, times, durations, threads, streams, positions, results, flags, stacks = common[:9]
    if chunk.flags & COMPACT_CHUNK:
        times, durations = compact_times(order, times, durations)
    records, last = [], {}
    for i in range(chunk.count):
        r = Record()
        r.seq, r.type = chunk.first_seq + i, groups[order[i]][0]
        r.time, r.duration, r.thread, r.stream = times[i], durations[i], threads[i], streams[i]
        r.position = (last.get(r.stream, 0) + unzigzag(positions[i])) & M64
        last[r.stream] = r.position
        r.result, r.flags, r.stack = unzigzag(results[i]), flags[i], stacks[i]
        records.append(r)
    members = [[] for _ in groups]
    for r, group in zip(records, order):
        members[group].append(r)
    for (_, slot_count, count, _), rows in zip(groups, members):
        if count != len(rows):
            raise Malformed("a group's count is wrong")
        sizes = column(view, count)
        slots = [column(view, count) for _ in range(slot_count)]
        for i, r in enumerate(rows):
            r.data_size, r.slots = sizes[i], [values[i] for values in slots]
    for rows in members:
        sizes = {r.data_size for r in rows}
        if chunk.flags & COMPACT_CHUNK and len(sizes) == 1 and 0 < max(sizes) <= TURNED_MAX:
            turned = view.take(len(rows) * max(sizes))
            for i, r in enumerate(rows):
                r.data = turned[i::len(rows)]
            continue
        for r in rows:
            r.data = view.take(r.data_size)
    if view.left():
        raise Malformed("bytes after the last data area")
    return records


# ---- JSON ----

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f",
           "\r": "\\r"}


def quote(raw):
    out, at = [], 0
    while at < len(raw):
        for length in (1, 2, 3, 4):
            try:
                char = raw[at:at + length].decode("utf-8")
                break
            except UnicodeDecodeError:
                char = None
        if char is None or len(char) != 1:
            out.append("\\ufffd")
            at += 1
            continue
        at += length
        out.append(ESCAPES.get(char) or ("\\u%04x" % ord(char) if char < " " or "\x7f" <= char < "\xa0" else char))
    return '"' + "".join(out) + '"'


def number(value, bits, digits, width):
    if value != value:
        return '"nan:0x%0*x"' % (width, bits)
    if value in (float("inf"), float("-inf")):
        return '"inf"' if value > 0 else '"-inf"'
    return "%.*g" % (digits, value)


def is_inline(reference):
    size = struct.unpack_from("<Q", reference)[0]
    return bool(size & INLINE) and 0 < size - INLINE == len(reference) - 8 <= INLINE_MAX


class Pieces:
    """Where pieces lie in the file; they are read when a value needs them."""

    def __init__(self, file, verify):
        self.file, self.verify, self.places, self.last = file, verify, {}, (None, b"")

    def add(self, at, chunk, payload):
        lists, offset = len(payload) - 20 * chunk.count, 0
        for i in range(chunk.count):
            key, size = payload[lists + 20 * i:lists + 20 * i + 16], struct.unpack_from(
                "<I", payload, lists + 20 * i + 16)[0]
            self.places.setdefault(key, (at, offset, size))
            offset += size

    def piece(self, key, size):
        if not any(key):
            return bytes(size)
        if key not in self.places:
            raise Missing()
        at, offset, stored = self.places[key]
        if self.last[0] != at:
            self.file.seek(at)
            self.last = at, read_chunk(self.file, self.verify)[1]
        if stored != size:
            raise Missing()
        return self.last[1][offset:offset + size]

    def blob(self, reference):
        if len(reference) < 8:
            raise Malformed("no blob reference")
        size = struct.unpack_from("<Q", reference)[0]
        if size & INLINE:
            if not is_inline(reference):
                raise Malformed("no blob reference")
            return reference[8:]
        if size > VALUE_MAX or len(reference) != 8 + 16 * ((size + PIECE - 1) // PIECE):
            raise Malformed("no blob reference")
        try:
            return b"".join(self.piece(reference[8 + 16 * i:24 + 16 * i], min(PIECE, size - i * PIECE))
                            for i in range((size + PIECE - 1) // PIECE))
        except Missing:
            raise Missing(size) from None


class Trace:
    def __init__(self):
        self.metadata, self.schemas, self.enums, self.strings = {}, {}, {}, {}
        self.structs, self.struct_ids, self.pieces = {}, {}, None
        self.totals = [0, 0, 0, 0, 0]  # records, lost, filtered, tainted, streams
        self.end = 0

    # tables

    def add_metadata(self, item):
        name = item.text()
        self.metadata[name] = item.text()

    def add_schema(self, item):
        kind, fields = None, []
        type_, kind, flags, count = item.u32(), item.u32(), item.u32(), item.u32()
        name, result = item.text(), item.text()
        for _ in range(count):
            field = View(item.take(item.u32()))
            field_type, _ = field.u16(), field.u16()
            fields.append((field_type, field.text(), field.text()))
        self.schemas.setdefault(type_, (name, kind, flags, result, fields))

    def add_enum(self, item):
        count, name = item.u32(), item.text()
        values = {}
        for _ in range(count):
            value = item.i64()
            values.setdefault(value, item.text())
        self.enums.setdefault(name, values)

    def add_struct(self, item):
        id_, flags, count, name, members = item.u32(), item.u32(), item.u32(), item.text(), []
        for _ in range(count):
            member = View(item.take(item.u32()))
            type_, form = member.u16(), member.u16()
            members.append((type_, form, member.text(), member.text()))
        if name not in self.structs and id_ not in self.struct_ids:
            self.structs[name] = self.struct_ids[id_] = (name, flags, members)

    def add_string(self, item):
        id_ = item.u32()
        self.strings.setdefault(id_, item.text())

    def add_totals(self, records):
        totals = self.totals
        for r in records:
            flags = self.schemas[r.type][2] if r.type in self.schemas else 0
            totals[0] += 1
            totals[1] += r.slots[0] if r.type == 4 and r.slots else 0
            totals[2] += r.slots[0] if r.type == 11 and r.slots else 0
            totals[3] += bool(r.flags & 2) or bool(flags & 1) and not r.flags & 1
            if r.stream != NO_STREAM:
                totals[4] = max(totals[4], r.stream + 1)

    # values

    def enum(self, table, value):
        name = self.enums.get(table, {}).get(value)
        return quote(name) if name is not None else "%d" % value

    def bits(self, table, value):
        names = self.enums.get(table, {})
        if value == 0:
            return quote(names.get(0, b"0"))
        parts, rest = [], 0
        for bit in range(64):
            mask = value & (1 << bit)
            if mask and signed(mask) in names:
                parts.append(names[signed(mask)])
            else:
                rest |= mask
        if rest:
            parts.append(b"0x%x" % rest)
        return quote(b"|".join(parts))

    @staticmethod
    def blob(data):
        if data is None or (data and len(data) < 8):
            return "null"
        size = struct.unpack_from("<Q", data)[0] if data else 0
        if data and is_inline(data):
            return '{"size":%d,"bytes":"%s"}' % (len(data) - 8, data[8:].hex())
        if data and len(data) != 8 + 16 * ((size + 65535) // 65536):
            return "null"
        keys = [data[at:at + 16].hex() for at in range(8, min(len(data), 8 + 4 * 16), 16)]
        return '{"size":%d,"xxh128":[%s]}' % (size, ",".join('"%s"' % key for key in keys))

    # structured values

    def struct_value(self, view, described, depth, nothing=False):
        """A struct's JSON. `nothing`: it may take no bytes."""
        if depth > DEPTH_MAX:
            raise Malformed("a value nests too deep")
        start, (_, flags, members) = view.at, described
        if flags & 1:
            place = view.varint()
            if place > len(members):
                raise Malformed("a union has no such member")
            members = members[place - 1:place] if place else []
        parts = [quote(m[2]) + ":" + self.member(view, m, depth) for m in members]
        if view.at == start and not nothing:
            raise Malformed("a struct in a value takes no bytes")
        return "{" + ",".join(parts) + "}"

    def member(self, view, member, depth):
        type_, form, _, detail = member
        if form == CHAIN:
            return self.chain(view, depth + 1)
        if form == ONE:
            return self.one(view, type_, detail, depth)
        count = view.varint()
        if count == 0:
            return "null"
        if count - 1 > view.left() or depth + 1 > DEPTH_MAX:
            raise Malformed("a list is too long or too deep")
        return "[" + ",".join(self.one(view, type_, detail, depth + 1)
                              for _ in range(count - 1)) + "]"

    def chain(self, view, depth):
        if depth > DEPTH_MAX:
            raise Malformed("a value nests too deep")
        parts = []
        while True:
            id_ = view.varint()
            if id_ == 0:
                return "[" + ",".join(parts) + "]"
            if id_ >> 32:
                raise Malformed("a chain has an id of more than 32 bits")
            element = View(view.take(view.varint()))
            described = self.struct_ids.get(id_)
            if described:
                text = self.struct_value(element, described, depth + 1, True)
                if element.left():
                    raise Malformed("bytes after an element")
                parts.append("{%s:%s}" % (quote(described[0]), text))
            else:
                parts.append('{"0x%08x":"%s"}' % (id_, element.data.hex()))

    def one(self, view, type_, detail, depth):
        if type_ == STRUCT:
            if detail not in self.structs:
                raise Malformed("a struct is not described")
            return self.struct_value(view, self.structs[detail], depth + 1)
        if type_ in (STRING, BYTES):
            size = view.varint()
            if size == 0:
                return "null"
            data = view.take(size - 1)
            return quote(data) if type_ == STRING else '"%s"' % data.hex()
        if type_ in (F32, F64):
            slot = view.u32() if type_ == F32 else view.u64()
        elif type_ in (INT, ENUM):
            slot = unzigzag(view.varint()) & M64
        elif type_ < BLOB:
            slot = view.varint()
        else:
            raise Malformed("a member has an unknown type")
        return self.number(type_, detail, slot)

    def structured(self, detail, data):
        try:
            if data is None:
                raise Malformed("a value outside its record")
            if not data:
                return "null"
            if data[0] > 1:
                raise Malformed("a value is kept in no way that there is")
            view = View(self.pieces.blob(data[1:]) if data[0] else data[1:])
            if detail not in self.structs:
                raise Malformed("a struct is not described")
            text = self.struct_value(view, self.structs[detail], 1, True)
            if view.left():
                raise Malformed("bytes after a value")
            return text
        except Malformed:
            return '"malformed"'
        except Missing as missing:
            return '{"missing_blob":%d}' % missing.args[0]

    def value(self, field, slot, record):
        type_, _, detail = field
        if type_ == STRING:
            if slot == 0:
                return "null"
            text = self.strings.get(slot)
            return quote(text) if text is not None else '{"missing_string":%d}' % slot
        if type_ in (BYTES, BLOB, STRUCT):
            offset, size = slot >> 32, slot & 0xFFFFFFFF
            data = record.data[offset:offset + size] if offset + size <= len(record.data) else None
            if type_ == STRUCT:
                return self.structured(detail, data)
            if type_ == BLOB:
                return self.blob(data)
            return "null" if data is None else '"%s"' % data.hex()
        return self.number(type_, detail, slot)

    def number(self, type_, detail, slot):
        if type_ in (UINT, SIZE):
            return "%d" % slot
        if type_ == INT:
            return "%d" % signed(slot)
        if type_ == BOOL:
            return ("false", "true")[slot] if slot < 2 else "%d" % slot
        if type_ == F32:
            bits = slot & 0xFFFFFFFF
            return number(struct.unpack("<f", struct.pack("<I", bits))[0], bits, 9, 8)
        if type_ == F64:
            return number(struct.unpack("<d", struct.pack("<Q", slot))[0], slot, 17, 16)
        if type_ == HANDLE:
            return "null" if slot == 0 else quote(detail)[:-1] + '#%d"' % slot
        if type_ == ENUM:
            return self.enum(detail, signed(slot))
        if type_ == FLAGS:
            return self.bits(detail, slot)
        return '"0x%x"' % slot

    # lines

    def header(self, info):
        names = "records lost filtered tainted streams".split()
        id_ = info["session"].hex()
        return ('{"schema":"tsview/1","format":"%d.%d","session":"%s","clock":%s,'
                '"start_monotonic_ns":%d,"start_realtime_ns":%d,"end":%s,%s,"metadata":{%s}}' % (
                    info["major"], info["minor"],
                    "-".join((id_[:8], id_[8:12], id_[12:16], id_[16:20], id_[20:])),
                    quote(info["clock"]), info["monotonic"], info["realtime"],
                    '"%s"' % ENDS[self.end] if self.end < len(ENDS) else self.end,
                    ",".join('"%s":%d' % pair for pair in zip(names, self.totals)),
                    ",".join(quote(k) + ":" + quote(v) for k, v in self.metadata.items())))

    def record(self, r):
        schema = self.schemas.get(r.type)
        name, kind, schema_flags, table, fields = schema or (b"", None, 0, b"", [])
        api = r.type >> 16
        kind = ("null" if kind is None else
                '"%s"' % KINDS[kind] if kind < len(KINDS) else "%d" % kind)
        flags = [flag for i, flag in enumerate(RECORD_FLAGS) if r.flags >> i & 1]
        if r.flags >> len(RECORD_FLAGS):
            flags.append("0x%x" % (r.flags & ~0x1FF))
        args = []
        for i, slot in enumerate(r.slots):
            if i < len(fields):
                args.append(quote(fields[i][1]) + ":" + self.value(fields[i], slot, r))
            else:
                args.append('"slot%d":"0x%x"' % (i, slot))
        return ('{"seq":%d,"time_ns":%d,"duration_ns":%d,"thread":%d,"stream":%s,"position":%d,'
                '"api":"%s","call":%s,"kind":%s,"result":%s,"flags":[%s],"stack":%d,'
                '"args":{%s}}' % (
                    r.seq, r.time, r.duration, r.thread,
                    "null" if r.stream == NO_STREAM else r.stream, r.position,
                    APIS[api] if api < len(APIS) else "api%d" % api,
                    quote(name) if schema else '"0x%08x"' % r.type, kind,
                    self.enum(table, r.result) if schema_flags & 2 else r.result,
                    ",".join('"%s"' % flag for flag in flags), r.stack, ",".join(args)))


def read_file_header(file):
    header = file.read(64)
    if header[:8] != MAGIC or len(header) < 64:
        raise Malformed("not a TraceSmith trace")
    major, _, length, required = struct.unpack_from("<HHIQ", header, 8)
    if major != 1 or required & ~COMPACT_FEATURE:
        raise Malformed("this decoder reads version 1 with no feature but 1")
    header += file.read(length - 64)
    if xxh3.hash64(header[:-8]) != struct.unpack("<Q", header[-8:])[0]:
        raise Malformed("the file header does not match its checksum")


def check_checkpoint(chunk, payload, last):
    """It repeats the checkpoint_end record, which is the last one before it."""
    for item in items(chunk, payload):
        said = (item.u32(), item.u32(), item.u64(), item.u64(), item.u64(), item.u64())
        if last is None or last.type != CHECKPOINT_END or said != (
                last.slots[0], last.slots[1], last.seq, last.time, last.slots[2], last.slots[3]):
            raise Malformed("a CHECKPOINT chunk is not what the record before it says")


def stream_info(payload):
    view = View(payload)
    info = {"major": view.u16(), "minor": view.u16(), "session": view.take(16)}
    view.take(16)
    info.update(monotonic=view.u64(), realtime=view.u64(), clock=view.text())
    return info


def decode(path, verify, out):
    """Twice through the file: tables and totals, then records."""
    trace, info, positions, last = Trace(), None, [], None
    tables = {METADATA: trace.add_metadata, SCHEMA: trace.add_schema, ENUMS: trace.add_enum,
              STRINGS: trace.add_string, STRUCTS: trace.add_struct}
    with open(path, "rb") as file:
        trace.pieces = Pieces(file, verify)
        read_file_header(file)
        while True:
            at = file.tell()
            found = read_chunk(file, verify)
            if not found:
                break
            chunk, payload = found
            if chunk.type == STREAM_INFO:
                info = stream_info(payload)
            elif chunk.type in tables:
                for item in items(chunk, payload):
                    tables[chunk.type](item)
            elif chunk.type == BLOBS:
                trace.pieces.add(at, chunk, payload)
            elif chunk.type == EVENTS:
                positions.append(at)
                records = events(chunk, payload)
                trace.add_totals(records)
                last = records[-1] if records else None
            elif chunk.type == CHECKPOINT:
                check_checkpoint(chunk, payload, last)
            elif chunk.type == TRAILER:
                trace.end = struct.unpack_from("<I", payload)[0]
                trace.totals = list(struct.unpack_from("<QQQQI", payload, 8))
            elif chunk.type > 16 and chunk.flags & 1:
                raise Malformed("chunk type %d is needed and unknown" % chunk.type)
        if info is None:
            raise Malformed("there is no STREAM_INFO chunk")
        out.write(trace.header(info) + "\n")
        for at in positions:
            file.seek(at)
            for record in events(*read_chunk(file, False)):
                out.write(trace.record(record) + "\n")


def main():
    args = sys.argv[1:]
    verify = "--no-verify" not in args
    paths = [arg for arg in args if not re.match(r"--", arg)]
    if len(paths) != 1:
        sys.exit(__doc__)
    out = open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False)
    try:
        decode(paths[0], verify, out)
    except (Malformed, OSError) as error:
        out.flush()
        sys.exit("%s: %s" % (paths[0], error))
    out.flush()


if __name__ == "__main__":
    main()

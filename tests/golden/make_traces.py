#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the hand-made traces of this folder: corner cases, a later minor version, broken ones.

    make_traces.py FOLDER

The files are checked in and must decode the same for ever; this script is how they came about, and
where to add one. Never rewrite a file that a release has shipped: add another. Payloads are stored
raw, so the bytes depend on this script and docs/FORMAT.md only.
"""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "decoder"))
from xxh3 import hash64  # noqa: E402

SESSION = bytes.fromhex("00112233445566778899aabbccddeeff")
STREAM_INFO, METADATA, SCHEMA, ENUMS, STRINGS, STACKS, MAPPINGS, EVENTS, BLOBS = range(1, 10)
CHECKPOINT, INDEX, TRAILER, PIECES, STRUCTS = 12, 13, 14, 15, 16
NONE = 0xFFFFFFFF


def text(value):
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(raw)) + raw + b"\0"


def item(*parts):
    body = b"".join(parts)
    return struct.pack("<I", len(body)) + body


def constant(value):
    return item(b"\0", struct.pack("<Q", value))


def fixed8(values):
    return item(b"\4", struct.pack("<%dQ" % (len(values) + 1), 0, *values))


def schema(type_, name, fields, kind=0, flags=0, result=""):
    parts = [struct.pack("<IIII", type_, kind, flags, len(fields)), text(name), text(result)]
    parts += [item(struct.pack("<HH", field[1], 0), text(field[0]), text(field[2]))
              for field in fields]
    return item(*parts)


def struct_item(id_, name, members, flags=0):
    """members: [(name, type, form, detail), ...]"""
    parts = [struct.pack("<III", id_, flags, len(members)), text(name)]
    parts += [item(struct.pack("<HH", m[1], m[2]), text(m[0]), text(m[3])) for m in members]
    return item(*parts)


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def zigzag(value):
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


def events(groups, common=9):
    """groups: [(type, [slots of a record, ...], [data of a record, ...])], one after the other."""
    count = sum(len(slots) for _, slots, _ in groups)
    out = struct.pack("<II", len(groups), common)
    for type_, slots, data in groups:
        out += struct.pack("<IIII", type_, len(slots[0]), len(slots), sum(map(len, data)))
    order = [g for g, (_, slots, _) in enumerate(groups) for _ in slots]
    out += fixed8(order) + fixed8([1000 * (i + 1) for i in range(count)])
    for value in (50, 4711, 0, 2, 0, 0, 0):
        out += constant(value)
    out += constant(99) * (common - 9)
    for _, slots, data in groups:
        out += fixed8([len(d) for d in data])
        for column in zip(*slots):
            out += fixed8(list(column))
    for _, _, data in groups:
        out += b"".join(data)
    return out, count


class Trace:
    def __init__(self, major=1, minor=0, required=0, session=SESSION):
        self.minor, self.session = minor, session
        head = bytes.fromhex("895342540d0a1a0a")
        head += struct.pack("<HHIQQ", major, minor, 64, required, 0) + session + bytes(8)
        self.out = head + struct.pack("<Q", hash64(head))
        self.entries, self.number, self.records = [], 0, 0
        self.info = struct.pack("<HH", major, minor) + session + struct.pack(
            "<QQQQ", required, 0, 1, 2) + text("monotonic")
        self.chunk(STREAM_INFO, self.info, 1)

    def chunk(self, type_, payload, count, flags=1, codec=0, raw=None, stream=(0, 0), seq=(0, 0),
              time=(0, 0), number=None):
        number = self.number if number is None else number
        middle = struct.pack("<HBBIIIIIIIQQQQQQ", type_, flags, codec, number,
                             struct.unpack("<I", self.session[:4])[0], stream[0], count,
                             len(payload) if raw is None else raw, len(payload), 0, *seq, *time,
                             stream[1], hash64(payload))
        head = bytes.fromhex("53425443c47b9ae1") + middle
        self.entries.append(struct.pack("<Q", len(self.out)) + middle)
        self.out += head + struct.pack("<Q", hash64(head)) + payload
        self.number = number + 1

    def metadata(self, **pairs):
        self.chunk(METADATA, b"".join(item(text(k), text(v)) for k, v in pairs.items()), len(pairs))
        return self

    def table(self, type_, items, ids=(0, 0)):
        self.chunk(type_, b"".join(items), len(items), seq=ids)
        return self

    def events(self, payload, count, notable=0, **changes):
        values = {"flags": 1 | 2 * notable, "stream": (1, 1), "time": (1000, 1000 * count),
                  "seq": (self.records, self.records + count - 1)}
        values.update(changes)
        self.chunk(EVENTS, payload, count, **values)
        self.records += count
        return self

    def finish(self, lost=0, records=None, streams=1, tainted=0, edit=None):
        """`edit` makes other entries of the leaf's."""
        entries, self.entries = self.entries, []
        if edit:
            entries = edit(entries)
        self.chunk(INDEX, struct.pack("<II", 1, len(entries)) + b"".join(entries), len(entries))
        leaf, self.entries = self.entries, []
        at = len(self.out)
        self.chunk(INDEX, struct.pack("<II", 2, 1) + leaf[0], 1)
        size = len(self.out) - at
        payload = struct.pack("<IIQQQQIIQQ", 1, self.number + 1,
                              self.records if records is None else records, lost, 0, tainted,
                              streams if self.records else 0, size, at, len(self.out) + 224)
        payload += bytes(52) + struct.pack("<I", 224) + bytes.fromhex("53425445d15e0d0a")
        self.chunk(TRAILER, payload, 1)
        return self.out


def values_trace():
    """What the JSON form has rules for."""
    fields = [("f32", 5, ""), ("f64", 6, ""), ("bool", 4, ""), ("int", 2, ""), ("flags", 12, "F"),
              ("enum", 11, "E"), ("handle", 7, "ev\"ent"), ("string", 13, ""), ("bytes", 14, ""),
              ("blob", 15, ""), ("pointer", 8, "")]
    blob = struct.pack("<Q", 300000) + KEY + bytes(16 * 4)
    rows, data = [], []
    floats = [(0x7FC00001, 0x7FF8000000000002), (0x7F800000, 0xFFF0000000000000),
              (0x80000000, 0x8000000000000000), (1, 1), (0x3DCCCCCD, 0x3FB999999999999A),
              (0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF), (0x60AD78EC, 0x4415AF1D78B58C40)]
    for i, (f32, f64) in enumerate(floats):
        rows.append([f32, f64, i % 3, -i % (1 << 64), [0, 1, 3, 5, 8, 1 << 63, 9][i],
                     [0, 1, (1 << 64) - 5, 7, 0, 0, 0][i], i, i % 4, 2, 2 << 32 | len(blob),
                     0x7F0000000000 + i])
        data.append(bytes([i, 255]) + blob)
    t = Trace().metadata(a="1", quotes="\"\\\b\f\n\r\t\x01\x7f \u00e9 \u20ac \U0001f600", empty="")
    t.chunk(METADATA, item(text("a"), text("2")) +
            item(text("bytes"), text(b"\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80 \xe2\x82 ok \xc3")), 2)
    t.table(SCHEMA, [schema(0x10001, "values", fields, 5, 2, "E"),
                     schema(0x70001, "unknown api", [], 99, 0)])
    t.table(ENUMS, [item(struct.pack("<I", 3), text("F"), struct.pack("<q", 1), text("ONE"),
                         struct.pack("<q", 3), text("BOTH"), struct.pack("<q", -1 << 63),
                         text("TOP")),
                    item(struct.pack("<I", 4), text("E"), struct.pack("<q", 0), text("ZERO"),
                         struct.pack("<q", 0), text("NIL"), struct.pack("<q", 1), text("ONE"),
                         struct.pack("<q", -5), text("MINUS"))])
    t.table(STRINGS, [item(struct.pack("<I", 1), text("one")), item(struct.pack("<I", 2), text("")),
                      item(struct.pack("<I", 3), text(b"\xfe"))], (1, 3))
    t.chunk(BLOBS, b"\0\1" + KEY + struct.pack("<I", 2), 1)
    t.chunk(PIECES, struct.pack("<II", t.number - 1, 1) + KEY + struct.pack("<I", 2), 1)
    t.events(*events([(0x10001, rows, data), (0x70001, [[], []], [b"", b""])]))
    return t.finish()


ONE, LIST, CHAIN = 0, 1, 2
ALL = [("uint", 1, ONE, ""), ("int", 2, ONE, ""), ("hex", 3, ONE, ""), ("bool", 4, ONE, ""),
       ("f32", 5, ONE, ""), ("f64", 6, ONE, ""), ("handle", 7, ONE, "sem"), ("device", 8, ONE, ""),
       ("host", 9, ONE, ""), ("size", 10, ONE, ""), ("enum", 11, ONE, "E"), ("flags", 12, ONE, "F"),
       ("text", 13, ONE, ""), ("bytes", 14, ONE, "")]


def all_value(n):
    """Of ALL, the n-th."""
    bits = [0x3DCCCCCD, 0x7FC00001, 0xFF800000][n % 3]
    return (varint([0, 300, (1 << 64) - 1][n % 3]) + zigzag([0, -1, -(1 << 63)][n % 3]) +
            varint(16 + n) + varint(n % 3) + struct.pack("<I", bits) +
            struct.pack("<d", n - 0.75) + varint(n) + varint(0x7F0000000000) + varint(n << 40) +
            varint(4096) + zigzag([1, -5, 7][n % 3]) + varint([0, 9, 12][n % 3]) +
            [b"\0", b"\1", b"\6a\"\0\xff\xc3"][n % 3] + [b"\0", b"\1", b"\3\0\xff"][n % 3])


def structs_described():
    names = [(1, "All", ALL), (2, "Two", [("text", 13, ONE, ""), ("n", 1, ONE, "")]),
             (3, "Tree", [("n", 1, ONE, ""), ("children", 16, LIST, "Tree"), ("next", 16, CHAIN, "")]),
             (5, "Lists", [("numbers", 2, LIST, ""), ("flags", 12, LIST, "F"), ("texts", 13, LIST, ""),
                           ("floats", 5, LIST, ""), ("twos", 16, LIST, "Two")]),
             (6, "Nothing", []), (7, "Later", [("a", 1, ONE, ""), ("b", 16, ONE, "Not\u00e9")])]
    items = [struct_item(4 << 16 | number, name, members) for number, name, members in names]
    items.append(struct_item(4 << 16 | 4, "Either", [("all", 16, ONE, "All"), ("none", 16, LIST, "All"),
                                                     ("two", 16, ONE, "Two")], 1))
    return items


STRUCT_ROWS = (
    [("All", all_value(n)) for n in range(3)] +
    [("Two", b"\0\1"), ("Two", b"\x83\x80\0ab\x85\x80\x80\0"), ("Either", b"\0"),
     ("Either", b"\1" + all_value(1)), ("Either", b"\2\0"), ("Either", b"\3\1\7"),
     ("Nothing", b""), ("Lists", b"\0" * 5), ("Lists", b"\1" * 5),
     ("Lists", b"\3\1\2" + b"\2\3" + b"\4\0\1\2x" + b"\2\0\0\x80\x3f" + b"\3\0\1\2a\2"),
     ("Tree", b"\1\3\2\0\0\3\1\0\0"),
     # A chain of known, unknown, empty, and one with a chain of its own.
     ("Tree", b"\1\0" + varint(4 << 16 | 2) + b"\2\0\1" + varint(4 << 16 | 18) + b"\3abc" +
      varint(4 << 16 | 6) + b"\0" + varint(4 << 16 | 3) + b"\x86\0\5\0" + varint(9) + b"\1z\0" +
      b"\0")])


def structs_trace():
    """Structured values: every type, form and rule of the JSON form."""
    t = Trace().metadata(name="structs")
    t.table(STRUCTS, structs_described())
    t.table(ENUMS, [item(struct.pack("<I", 2), text("F"), struct.pack("<q", 1), text("ONE"),
                         struct.pack("<q", 8), text("EIGHT")),
                    item(struct.pack("<I", 1), text("E"), struct.pack("<q", -5), text("MINUS"))])
    names = ["All", "Two", "Tree", "Lists", "Nothing", "Either"]
    t.table(SCHEMA, [schema(0x40001 + i, "vk" + name, [(name, 16, name), ("after", 1, "")])
                     for i, name in enumerate(names)])
    t.chunk(BLOBS, b"\0\1" + KEY + struct.pack("<I", 2), 1)
    t.chunk(PIECES, struct.pack("<II", t.number - 1, 1) + KEY + struct.pack("<I", 2), 1)
    rows = [(name, b"\0" + value) for name, value in STRUCT_ROWS]
    rows += [("Two", b"\1" + struct.pack("<Q", 2) + KEY), ("Two", b""), ("Nothing", b"\1" + bytes(8)),
             ("Two", b"\1" + struct.pack("<Q", 2) + bytes(16))]
    groups = {}
    for name, data in rows:
        groups.setdefault(name, []).append(data)
    t.events(*events([(0x40001 + names.index(name), [[len(d), i] for i, d in enumerate(data)], data)
                      for name, data in groups.items()]))
    return t.finish()


def struct_record(name, data, structs=None, kind=0):
    """A trace with one value; `kind` 0: in the record."""
    t = Trace().metadata(name="structs")
    t.table(STRUCTS, structs_described() if structs is None else structs)
    t.table(SCHEMA, [schema(0x40001, "vkBad", [("value", 16, name)])])
    data = bytes([kind]) + data
    return t.events(*events([(0x40001, [[len(data)]], [data])])).finish()


def broken_structs():
    point = [("x", 1, ONE, ""), ("y", 1, ONE, "")]
    described = [
        ("struct_id", [struct_item(4 << 16, "Zero", point)]),
        ("struct_no_name", [struct_item(0x40001, "", point)]),
        ("struct_flags", [struct_item(0x40001, "Point", point, 2)]),
        ("struct_name_twice", [struct_item(0x40001, "A", point), struct_item(0x40002, "A", [])]),
        ("struct_id_twice", [struct_item(0x40001, "A", point), struct_item(0x40001, "B", [])]),
        ("struct_member_blob", [struct_item(0x40001, "A", [("b", 15, ONE, "")])]),
        ("struct_member_type", [struct_item(0x40001, "A", [("b", 17, ONE, "")])]),
        ("struct_member_form", [struct_item(0x40001, "A", [("b", 1, 3, "")])]),
        ("struct_chain_of_numbers", [struct_item(0x40001, "A", [("b", 1, CHAIN, "")])]),
        ("struct_chain_detail", [struct_item(0x40001, "A", [("b", 16, CHAIN, "A")])]),
        ("struct_count", [item(struct.pack("<III", 0x40001, 0, 0xFFFFFFFF), text("A"))])]
    for name, items in described:
        yield name, Trace().metadata(name=name).table(STRUCTS, items).finish()
    yield "struct_unknown", struct_record("Nowhere", b"\0\1")
    yield "value_kind", struct_record("Two", b"\0\1", kind=2)
    yield "value_cut", struct_record("Two", b"\5ab")
    yield "value_tail", struct_record("Two", b"\0\1\0")
    yield "value_varint", struct_record("Two", b"\0" + b"\xff" * 9 + b"\2")
    yield "value_float_cut", struct_record("All", b"\0\0\0\0\1\2")
    yield "value_union", struct_record("Either", b"\4")
    yield "value_list", struct_record("Lists", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1")
    yield "value_depth", struct_record("Tree", b"\1\2" * 17 + b"\0" * 40)
    yield "value_member_unknown", struct_record("Later", b"\1\1")
    yield "value_chain_open", struct_record("Tree", b"\0\0" + varint(0x40002) + b"\2\0\1")
    yield "value_chain_size", struct_record("Tree", b"\0\0" + varint(0x40002) + b"\3\0\1\0\0")
    yield "value_chain_over", struct_record("Tree", b"\0\0" + varint(0x40002) + b"\x7f\0\1\0")
    yield "value_chain_id", struct_record("Tree", b"\0\0" + varint(1 << 32) + b"\0\0")
    yield "value_reference", struct_record("Two", struct.pack("<Q", 2) + KEY[:15], kind=1)
    yield "value_no_piece", struct_record("Two", struct.pack("<Q", 2) + KEY, kind=1)
    yield "value_kept_malformed", struct_record("Two", struct.pack("<Q", 3) + bytes(16), kind=1)
    # 31 levels of 16 structs of nothing would be 16^31 steps.
    bomb = [struct_item(0x40001 + i, "S%d" % i, [("m", 16, ONE, "S%d" % (i + 1))] * 16)
            for i in range(31)] + [struct_item(0x40050, "S31", [])]
    yield "value_bomb", struct_record("S0", b"", bomb)
    t = Trace().metadata(name="structs")
    t.table(SCHEMA, [schema(0x40001, "vkBad", [("value", 16, "Two")])])
    t.events(*events([(0x40001, [[3]], [b"\0\0\1"])]))
    yield "struct_after_value", t.table(STRUCTS, structs_described()).finish()


# hash128 of bytes 0 and 1.
KEY = bytes.fromhex("6a4a5274c1b0d3add6645fc3051a9457")


def newer_minor():
    """Version 1.1: everything that a minor version may add. Must read as if it were not there."""
    t = Trace(minor=1)
    t.metadata(kind="newer")
    t.table(SCHEMA, [item(schema(0x10001, "call", [("x", 1, ""), ("y", 99, "")])[4:], b"more")])
    t.chunk(77, b"what is this", 1, flags=0)
    t.events(*events([(0x10001, [[1, 2], [3, 4]], [b"", b""])], common=11))
    return t.finish()


def mutated_indexes():
    """Intact chunks, and an index or a trailer that is wrong about them: (name, bytes)."""
    def begun():
        t = Trace().metadata(kind="mutated")
        t.table(SCHEMA, [schema(0x10001, "call", [("s", 13, "")])])
        t.table(STRINGS, [item(struct.pack("<I", 1), text("one"))], (1, 1))
        for i in range(3):
            t.events(*events([(0x10001, [[1], [0]], [b"", b""])]))
        return t

    def changed(entry, at, value):
        return entry[:at] + bytes([entry[at] ^ value]) + entry[at + 1:]

    for i in range(7):
        yield "left_out_%d" % i, begun().finish(edit=lambda e, i=i: e[:i] + e[i + 1:])
        yield "twice_%d" % i, begun().finish(edit=lambda e, i=i: e[:i] + e[i:i + 1] + e[i:])
        yield "cut_%d" % i, begun().finish(edit=lambda e, i=i: e[:i])
        yield "late_%d" % i, begun().finish(edit=lambda e, i=i: e[i + 1:])
    yield "order", begun().finish(edit=lambda e: e[:3] + e[4:5] + e[3:4] + e[5:])
    for at in (0, 8, 12):  # an entry's offset, type, number
        yield "entry_%d" % at, begun().finish(edit=lambda e, at=at: e[:4] + [changed(e[4], at, 3)] + e[5:])
    whole = begun().finish()
    for at, value in ((4, 1), (44, 1), (48, 8), (56, 1)):  # chunks, root's size, offset; session
        trailer = changed(whole[-224:], 96 + at, value)
        head = trailer[:80] + struct.pack("<Q", hash64(trailer[96:]))
        yield "trailer_%d" % at, whole[:-224] + head + struct.pack("<Q", hash64(head)) + trailer[96:]


class Newer(Trace):
    """Version 1.2 uses everything that is reserved: header bytes, flags, ranges of chunks."""

    def __init__(self):
        super().__init__(minor=2)
        start = self.out
        head = start[:12] + struct.pack("<I", 96) + start[16:48] + b"reserved" + bytes(range(32))
        self.out, self.entries, self.number = head + struct.pack("<Q", hash64(head)), [], 0
        self.chunk(STREAM_INFO, self.info + b"appended", 1)

    def chunk(self, type_, payload, count, flags=1, **values):
        at = len(self.out)
        if type_ != EVENTS:
            values.setdefault("seq", (7, 9))
            values.setdefault("time", (1, 2))
            values.setdefault("stream", (3, 4))
        super().chunk(type_, payload, count, flags=flags | 0x48, **values)
        head = self.out[at:at + 36] + b"more" + self.out[at + 40:at + 88]
        self.entries[-1] = self.entries[-1][:8] + head[8:]
        self.out = self.out[:at] + head + struct.pack("<Q", hash64(head)) + payload

    def finish(self):
        whole = super().finish()
        at = len(whole) - 224
        # A longer trailer, which ends in a way of its own.
        self.out, self.number = whole[:at], self.number - 1
        payload = bytearray(whole[at + 96:])
        payload[0] = 9
        payload[48 + 8:48 + 16] = struct.pack("<Q", len(whole) + 40)
        payload[64:72] = b"reserved"
        tail = struct.pack("<I", 264) + bytes(payload[-8:])
        self.chunk(TRAILER, bytes(payload[:-12]) + b"x" * 40 + tail, 1)
        return self.out


def newer_all():
    t = Newer()
    t.chunk(METADATA, item(text("kind"), text("newest"), b"more"), 1)
    t.table(STRINGS, [item(struct.pack("<I", 8), text("eight"), b"more")], (8, 8))
    t.table(SCHEMA, [item(schema(0x10001, "call", [("x", 1, ""), ("y", 99, ""), ("s", 13, "")], 88,
                                 0x70)[4:], b"more")])
    t.table(STRUCTS, [struct_item(0x40001, "A", [("b", 98, 9, "?")], 6)])
    t.chunk(77, b"what is this", 1, flags=0)
    payload, count = events([(0x10001, [[1, 2, 8], [3, 4, 0]], [b"", b""])], common=12)
    # All records have flag 2^20: the eighth common column.
    place = payload.index(constant(2)) + len(constant(2)) * 2
    assert payload[place:place + 13] == constant(0)
    payload = payload[:place] + constant(1 << 20) + payload[place + 13:]
    return t.events(payload, count).finish()


def checkpoint(size=5):
    """A checkpoint without memory, and a command behind it. `size`: what its chunk says."""
    t = Trace().metadata(kind="checkpoint")
    t.table(SCHEMA, [schema(0x10001, "call", [("x", 1, "")]),
                     schema(16, "checkpoint_begin", [("number", 1, ""), ("flags", 12, "")], 10),
                     schema(18, "checkpoint_end", [("number", 1, ""), ("flags", 12, ""),
                                                   ("items", 1, ""), ("size", 10, "")], 10)])
    t.events(*events([(16, [[7, 1]], [b""]), (18, [[7, 1, 0, 5]], [b""])]))
    t.chunk(CHECKPOINT, item(struct.pack("<IIQQQQ", 7, 1, 1, 2000, 0, size)), 1)
    t.events(*events([(0x10001, [[1]], [b""])]))
    return t.finish()


def planes(base, width, values):
    return item(bytes([{2: 7, 4: 8, 8: 9}[width]]), struct.pack("<Q", base), b"".join(
        bytes(value - base >> 8 * byte & 0xFF for value in values) for byte in range(width)))


def turned(data):
    return b"".join(bytes(record[i] for record in data) for i in range(len(data[0])))


def inline(data):
    return struct.pack("<Q", len(data) | 1 << 63) + data


def compact_events():
    """Six records in order of groups 0 1 0 1 2 0; each begins `gap` after the end of the one before."""
    gaps, durations = [5, -3, 0, 70000, 1, 1 << 40], [10, 20, 300, 0, 1 << 33, 7]
    groups = [(0x10001, [0, 2, 5], [inline(b"abc"), inline(b"\0\0\0"), inline(b"xyz")]),
              (0x10002, [1, 3], [inline(b"1"), inline(b"long" * 64)]),
              (0x40001, [4], [b"\1" + inline(b"\0\1")])]
    members = [i for _, places, _ in groups for i in places]
    out = struct.pack("<II", 3, 9)
    for type_, places, data in groups:
        out += struct.pack("<IIII", type_, 2, len(places), sum(map(len, data)))
    out += fixed8([0, 1, 0, 1, 2, 0])
    out += planes(0, 8, [gaps[i] << 1 if gaps[i] >= 0 else -gaps[i] * 2 - 1 for i in members])
    out += planes(0, 8, [durations[i] for i in members])
    for value in (4711, 0, 2, 0, 0, 0):
        out += constant(value)
    slots = [planes(1000, 2, [1000, 1001, 60000]), planes(1 << 40, 4, [1 << 40, (1 << 40) + 0xABCDEF]),
             fixed8([9])]
    for (_, places, data), column in zip(groups, slots):
        sizes = fixed8([len(d) for d in data])
        out += sizes + sizes + column
    out += turned(groups[0][2]) + b"".join(groups[1][2]) + groups[2][2][0]
    times, end = [], 0
    for gap, duration in zip(gaps, durations):
        times.append(end + gap)
        end = times[-1] + duration
    return out, times


def compact(required=1, flags=5):
    """Feature 1: dense records, small blobs in records, pieces of which the pairs are taken apart."""
    t = Trace(required=required).metadata(kind="compact")
    t.table(STRUCTS, structs_described())
    t.table(SCHEMA, [schema(type_, name, [("value", kind, detail), ("x", 1, "")]) for type_, name, kind, detail
                     in ((0x10001, "same", 15, ""), (0x10002, "other", 15, ""),
                         (0x40001, "vkTwo", 16, "Two"))])
    pieces = b"\0\1" + KEY + struct.pack("<I", 2)
    apart = pieces[::2] + pieces[1::2]
    frame = bytes.fromhex("28b52ffd20") + bytes([len(apart)]) + struct.pack(
        "<I", len(apart) << 3 | 1)[:3] + apart
    t.chunk(BLOBS, frame, 1, codec=2, raw=len(pieces))
    t.chunk(PIECES, struct.pack("<II", t.number - 1, 1) + KEY + struct.pack("<I", 2), 1)
    payload, times = compact_events()
    t.events(payload, 6, flags=flags, time=(min(times), max(times)))
    return t.finish()


def planes_alone(required):
    t = Trace(required=required).metadata(kind="planes")
    t.table(SCHEMA, [schema(0x10001, "call", [("x", 1, "")])])
    payload, count = events([(0x10001, [[7], [1000]], [b"", b""])])
    slots = fixed8([7, 1000])
    return t.events(payload[:-len(slots)] + planes(7, 2, [7, 1000]), count).finish()


def broken_compact():
    yield "compact_feature", compact(required=0)
    yield "planes_feature", planes_alone(required=0)
    rows = [(name, inline(b"ab") + tail) for name, tail in (("inline_long", b"c"), ("inline_short", b""))]
    rows += [("inline_empty", struct.pack("<Q", 1 << 63)), ("inline_large", inline(bytes(257)))]
    for name, data in rows:
        data = data[:-1] if name == "inline_short" else data
        t = Trace(required=1).metadata(name=name)
        t.table(SCHEMA, [schema(0x10001, "call", [("x", 15, "")])])
        yield name, t.events(*events([(0x10001, [[len(data)]], [data])])).finish()


def simple(**changes):
    t = Trace().metadata(name="simple")
    t.table(SCHEMA, [schema(0x10001, "call", [("x", 1, "")])])
    payload, count = events([(0x10001, [[1], [2], [3]], [b"", b"", b""])])
    return t.events(payload, count, **changes)


def with_payload(change):
    t = Trace().metadata(name="simple")
    t.table(SCHEMA, [schema(0x10001, "call", [("x", 1, "")])])
    payload, count = events([(0x10001, [[1], [2], [3]], [b"", b"", b""])])
    return t.events(change(payload), count).finish()


def broken():
    good = simple().finish()
    yield "empty", b""
    yield "png", bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(80)
    yield "text_mode", good.replace(b"\r\n", b"\n")
    yield "header_cut", good[:40]
    yield "info_cut", good[:100]
    yield "major_2", Trace(major=2).metadata(a="b").finish()
    yield "required_feature", Trace(required=1 << 40).metadata(a="b").finish()
    t = Trace().metadata(a="b")
    t.chunk(500, b"needed", 1, flags=1)
    yield "critical_chunk", t.finish()
    yield "header_hash", good[:56] + bytes(8) + good[64:]
    yield "no_trailer", good[:-224]
    yield "trailer_cut", good[:-1]
    yield "garbage_after", good + b"garbage"
    yield "two_sessions", good + good
    yield "torn_then_session", good[:-300] + Trace(session=SESSION[::-1]).metadata(
        name="another").finish()
    damaged = bytearray(good)
    for at in _headers(good)[1], _headers(good)[3]:
        damaged[at + 20] ^= 1
    yield "two_headers", bytes(damaged)
    yield "trailer_counts", simple().finish(records=7)
    t = Trace()
    t.table(SCHEMA, [schema(0x10001, "call", [])])
    yield "no_metadata", t.finish()
    yield "seq_gap", simple(seq=(5, 7)).finish()
    yield "wrong_streams", simple(stream=(3, 7)).finish()
    yield "wrong_times", simple(time=(0, 5)).finish()
    yield "not_notable", simple(notable=1).finish()
    yield "chunk_number", simple(number=9).finish()
    yield "group_count", with_payload(lambda p: struct.pack("<I", 0xFFFFFFFF) + p[4:])
    yield "record_bomb", with_payload(
        lambda p: p[:16] + struct.pack("<I", 0xFFFFFFF0) + p[20:])
    yield "group_place", with_payload(lambda p: p.replace(fixed8([0, 0, 0]), fixed8([0, 0, 9])))
    yield "column_size", with_payload(lambda p: p[:24] + struct.pack("<I", 0xFFFFFFFF) + p[28:])
    yield "column_encoding", with_payload(lambda p: p[:28] + b"\x47" + p[29:])
    yield "payload_tail", with_payload(lambda p: p + b"x")
    yield "data_size", with_payload(lambda p: p.replace(fixed8([0, 0, 0]) + fixed8([1, 2, 3]),
                                                        fixed8([0, 9, 0]) + fixed8([1, 2, 3])))
    dictionary = item(b"\x06", b"\x00", struct.pack("<Q", 1), b"\x00\x00\x05")
    yield "dictionary_place", with_payload(lambda p: p.replace(fixed8([1, 2, 3]), dictionary))
    varint = item(b"\x05", b"\xff" * 9 + b"\x7f", b"\x01\x01")
    yield "varint", with_payload(lambda p: p.replace(fixed8([1, 2, 3]), varint))
    t = Trace().metadata(name="bomb")
    frame = bytes.fromhex("28b52ffd") + b"\xa0" + struct.pack("<I", 1 << 30) + b"\x01\x00\x00"
    t.chunk(STRINGS, frame, 1, codec=1, raw=200, seq=(1, 1))
    yield "zstd_bomb", t.finish()
    t = Trace().metadata(name="codec")
    t.chunk(STRINGS, b"1234", 1, codec=9, seq=(1, 1))
    yield "codec", t.finish()
    yield "text_without_end", Trace().metadata(name="x").table(
        STRINGS, [item(struct.pack("<II", 1, 3), b"abcd")], (1, 1)).finish()
    yield "item_size", Trace().metadata(name="x").table(
        STRINGS, [struct.pack("<II", 0xFFFFFFF0, 1)], (1, 1)).finish()
    yield "schema_fields", Trace().metadata(name="x").table(
        SCHEMA, [schema(0x10001, "many", [("f", 1, "")] * 65)]).finish()
    yield "checkpoint_size", checkpoint(size=6)
    t = simple()
    t.chunk(CHECKPOINT, item(struct.pack("<IIQQQQ", 7, 1, 2, 3000, 0, 0)), 1)
    yield "checkpoint_alone", t.finish()
    yield "piece_key", _bad_piece(b"abc", 3)
    yield "piece_size", _bad_piece(b"abc", 4)
    t = simple()
    out = t.finish()
    at = out.rindex(bytes.fromhex("53425443c47b9ae1"), 0, len(out) - 300)
    yield "index_damaged", out[:at + 100] + b"\xee" + out[at + 101:]


def _headers(trace):
    magic = bytes.fromhex("53425443c47b9ae1")
    return [at for at in range(len(trace)) if trace.startswith(magic, at)]


def _bad_piece(data, size):
    t = Trace().metadata(name="piece")
    entry = b"\x42" * 16 + struct.pack("<I", size)
    t.chunk(BLOBS, data + entry, 1)
    t.chunk(PIECES, struct.pack("<II", t.number - 1, 1) + entry, 1)
    return t.finish()


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "bad"), exist_ok=True)
    traces = [("values", values_trace()), ("newer_minor", newer_minor()), ("newer_all", newer_all()),
              ("checkpoint", checkpoint()), ("structs", structs_trace()), ("compact", compact())]
    traces += [("bad/" + name, data)
               for made in (broken(), broken_structs(), broken_compact()) for name, data in made]
    for name, data in traces:
        with open(os.path.join(folder, name + ".sbt"), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()

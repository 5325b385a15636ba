# SPDX-License-Identifier: Apache-2.0
"""mma and wmma against products of whole matrices. The places of elements in registers are written
down here again, from the tables of the instruction set's description."""

import struct
from fractions import Fraction

import single
from exact import BF16, E4M3, E5M2, F16, F32, F64
from instructions import clamp, decode_small, to_signed

LANES = 32


def element(kind, code):
    """A number, exact."""
    if kind in ("s8", "s4"):
        return to_signed(code, int(kind[1:]))
    if kind in ("u8", "u4", "b1"):
        return code
    x = decode_small({"e4m3": E4M3, "e5m2": E5M2}[kind], code) if kind[0] == "e" else \
        {"f16": F16, "bf16": BF16, "tf32": F32, "f64": F64}[kind].decode(code)
    return -x[1] if x[0] else x[1]


BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8}
INTEGERS = ("s8", "u8", "s4", "u4", "b1")
BYTE, HALF = ("s8", "u8"), ("f16", "bf16")
SHAPES = [("m8n8k16", BYTE), ("m16n8k16", BYTE), ("m16n8k32", BYTE), ("m8n8k32", ("s4", "u4")), ("m16n8k32", ("s4", "u4")),
          ("m16n8k64", ("s4", "u4")), ("m16n8k8", HALF), ("m16n8k16", HALF), ("m16n8k4", ("tf32",)), ("m16n8k8", ("tf32",)),
          ("m8n8k128", ("b1",)), ("m16n8k128", ("b1",)), ("m16n8k256", ("b1",)), ("m16n8k32", ("e4m3", "e5m2")),
          ("m16n8k16", ("e4m3", "e5m2"))]


def value(kind, rng):
    """Small numbers, so that sums are exact whatever their order."""
    if kind in INTEGERS:
        return rng.getrandbits(BITS[kind])
    number = rng.randrange(-4, 5)
    sign, size = int(number < 0), Fraction(abs(number))
    form = {"f16": F16, "bf16": BF16, "tf32": F32, "e4m3": E4M3, "e5m2": E5M2}[kind]
    return form.encode((sign, size))


def numbers(shape):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def a_place(m, per, lane, i):
    """Row and column of the i-th element that a lane holds of A; `per` of them lie in a register."""
    r, j = divmod(i, per)
    row = lane // 4 + (8 if m == 16 and r % 2 else 0)
    return row, lane % 4 * per + j + 4 * per * (r // 2 if m == 16 else r)


def b_place(per, lane, i):
    r, j = divmod(i, per)
    return lane % 4 * per + j + 4 * per * r, lane // 4


def c_place(lane, i):
    return lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2


def packed(places, matrix, bits):
    words = [0] * max(1, len(places) * bits // 32)
    for i, (row, column) in enumerate(places):
        words[i * bits // 32] |= matrix[row][column] << i * bits % 32
    return words


def result_bits(total, kind):
    if kind == "s32":
        return total & 0xFFFFFFFF
    return F32.encode((int(total < 0), Fraction(abs(total))))


def kernel(number, text, counts, keep, selector=None):
    """counts: registers of D, A, B, C, and of metadata; the two results from `keep` on are stored."""
    regs = ["{" + ",".join("%%%s%d" % (letter, i) for i in range(n)) + "}" for letter, n in zip("dabc", counts)]
    regs += ["%%e0, %d" % selector] if selector is not None else []
    loads, at = "", 0
    for letter, n in zip("abce", counts[1:]):
        for i in range(n):
            loads += "ld.global.b32 %%%s%d, [%%x0+%d]; " % (letter, i, 4 * at)
            at += 1
    second = keep + 1 if keep + 1 < counts[0] else keep
    return (".visible .entry k%d(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%d<8>, %%a<8>, %%b<8>, %%c<8>, %%e<2>;"
            " .reg .u64 %%x<3>; .reg .u32 %%t;\nmov.u32 %%t, %%tid.x; ld.param.u64 %%x0, [in];"
            " mad.wide.u32 %%x0, %%t, 64, %%x0; ld.param.u64 %%x1, [out]; mad.wide.u32 %%x1, %%t, 8, %%x1;\n" % number +
            loads + "\n" + text + " " + ",".join(regs) + ";\nst.global.v2.b32 [%%x1], {%%d%d, %%d%d};\nret;\n}\n" % (keep, second))


def one(rng, shape, kinds):
    m, n, k = numbers(shape)
    ka, kb = rng.choice(kinds), rng.choice(kinds)
    if ka in HALF or ka == "tf32":
        kb = ka
    bits, per = BITS[ka], 32 // BITS[ka]
    integer = ka in INTEGERS
    a = [[value(ka, rng) for _ in range(k)] for _ in range(m)]
    b = [[value(kb, rng) for _ in range(n)] for _ in range(k)]
    c = [[rng.choice([0, 1, 5, 0x7FFFFFFF, 0x80000000]) if integer else F32.encode((rng.getrandbits(1), Fraction(rng.randrange(9))))
          for _ in range(n)] for _ in range(m)]
    sat = integer and ka != "b1" and rng.random() < 0.5
    how = rng.choice(["xor", "and"])
    totals = [[0] * n for _ in range(m)]
    for i in range(m):
        for j in range(n):
            if ka == "b1":
                s = sum((a[i][x] ^ b[x][j]) if how == "xor" else a[i][x] & b[x][j] for x in range(k))
            else:
                s = sum(element(ka, a[i][x]) * element(kb, b[x][j]) for x in range(k))
            start = to_signed(c[i][j], 32) if integer else (-1 if c[i][j] >> 31 else 1) * F32.decode(c[i][j])[1]
            s += start
            totals[i][j] = clamp(s, "s", 32) if sat else s
    counts = [m * n // 32, m * k * bits // 1024, n * k * bits // 1024, m * n // 32]
    words, wanted = [], []
    for lane in range(LANES):
        mine = packed([a_place(m, per, lane, i) for i in range(counts[1] * per)], a, bits)
        mine += packed([b_place(per, lane, i) for i in range(counts[2] * per)], b, bits)
        places = [c_place(lane, i) for i in range(counts[3])]
        mine += [c[row][column] for row, column in places]
        words.append(mine + [0] * (16 - len(mine)))
        wanted.append([result_bits(totals[row][column], "s32" if integer else "f32") for row, column in places])
    acc = "s32" if integer else "f32"
    text = "mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s%s" % (
        shape, ".satfinite" * sat, acc, ka, kb, acc, ".%s.popc" % how if ka == "b1" else "")
    return text, counts, words, wanted


SPARSE = [("m16n8k16", HALF), ("m16n8k32", HALF), ("m16n8k8", ("tf32",)), ("m16n8k16", ("tf32",)), ("m16n8k32", BYTE),
          ("m16n8k64", BYTE), ("m16n8k64", ("s4", "u4")), ("m16n8k128", ("s4", "u4")), ("m16n8k64", ("e4m3", "e5m2"))]


def thinned(row, bits, rng):
    """-> what of a row is stored, the row with the rest zero, its metadata."""
    wide, chunk = {16: 1, 8: 1, 32: 1, 4: 2}[bits], {16: 4, 8: 4, 32: 2, 4: 8}[bits]
    stored, dense, metadata = [], [0] * len(row), 0
    for start in range(0, len(row), chunk):
        kept = sorted(rng.sample(range(chunk // wide), chunk // wide // 2))
        nibble = (0b1110 if kept[0] else 0b0100) if bits == 32 else kept[0] | kept[1] << 2
        metadata |= nibble << start // chunk * 4
        for at in [start + wide * i + j for i in kept for j in range(wide)]:
            stored.append(row[at])
            dense[at] = row[at]
    return stored, dense, metadata


def metadata_words(metadata, bits, k):
    """The registers of the lanes that have it, for the eight pairs of rows."""
    out = []
    for g in range(8):
        low, high = metadata[g], metadata[g + 8]
        if bits >= 16:
            parts = (k if bits == 16 else 2 * k) // 16
            out.append([low >> 16 * i & 0xFFFF | (high >> 16 * i & 0xFFFF) << 16 for i in range(parts)])
        else:
            parts = (k if bits == 8 else k // 2) // 32
            out.append([row >> 32 * i & 0xFFFFFFFF for i in range(parts) for row in (low, high)])
    return out


def one_sparse(rng, shape, kinds):
    m, n, k = numbers(shape)
    ka, kb = rng.choice(kinds), rng.choice(kinds)
    if ka in HALF or ka == "tf32":
        kb = ka
    bits, per, integer = BITS[ka], 32 // BITS[ka], ka in INTEGERS
    rows = [thinned([value(ka, rng) for _ in range(k)], bits, rng) for _ in range(m)]
    a, dense = [r[0] for r in rows], [r[1] for r in rows]
    b = [[value(kb, rng) for _ in range(n)] for _ in range(k)]
    c = [[rng.randrange(99) if integer else F32.encode((0, Fraction(rng.randrange(9)))) for _ in range(n)] for _ in range(m)]
    words_of = metadata_words([r[2] for r in rows], bits, k)
    selector = rng.randrange(4 // len(words_of[0]))
    counts = [4, m * k * bits // 2048, n * k * bits // 1024, 4, 1]
    words, wanted = [], []
    for lane in range(LANES):
        mine = packed([a_place(m, per, lane, i) for i in range(counts[1] * per)], a, bits)
        mine += packed([b_place(per, lane, i) for i in range(counts[2] * per)], b, bits)
        places = [c_place(lane, i) for i in range(4)]
        mine += [c[row][column] for row, column in places]
        at = lane % 4 - selector * len(words_of[0])
        mine.append(words_of[lane // 4][at] if 0 <= at < len(words_of[0]) else rng.getrandbits(32))
        words.append(mine + [0] * (16 - len(mine)))
        wanted.append([])
        for row, column in places:
            total = sum(element(ka, dense[row][x]) * element(kb, b[x][column]) for x in range(k) if dense[row][x])
            total += c[row][column] if integer else F32.decode(c[row][column])[1]
            wanted[-1].append(result_bits(total, "s32" if integer else "f32"))
    acc = "s32" if integer else "f32"
    text = "mma.sp%s.sync.aligned.%s.row.col.%s.%s.%s.%s" % (rng.choice(["", "::ordered_metadata"]), shape, acc, ka, kb, acc)
    return text, counts, words, wanted, selector


def check(runner, rng):
    kernels, inputs, expected = [], b"", []
    for shape, kinds in SPARSE:
        text, counts, words, wanted, selector = one_sparse(rng, shape, kinds)
        for keep in range(0, counts[0], 2):
            kernels.append(kernel(len(kernels), text, counts, keep, selector))
            inputs += b"".join(struct.pack("<16I", *w) for w in words)
            expected.append((text, [w[keep] | w[keep + 1] << 32 for w in wanted]))
    for shape, kinds in SHAPES:
        text, counts, words, wanted = one(rng, shape, kinds)
        for keep in range(0, counts[0], 2):
            kernels.append(kernel(len(kernels), text, counts, keep))
            inputs += b"".join(struct.pack("<16I", *w) for w in words)
            expected.append((text, [w[keep] | w[min(keep + 1, counts[0] - 1)] << 32 for w in wanted]))
    # The runner gives each kernel 32 bytes a thread: twice the threads for 64.
    source = single.HEAD % "sm_90" + "".join(kernels)
    got = single.run(runner, source, inputs, LANES, 90, bytes_each=64)
    if isinstance(got, str):
        print(got)
        return False
    for (text, wanted), values in zip(expected, got):
        if list(values) != wanted:
            lane = next(i for i in range(LANES) if values[i] != wanted[i])
            print("%s  lane %d: got %#x, expected %#x" % (text, lane, values[lane], wanted[lane]))
            return False
    return len(expected) * LANES

# SPDX-License-Identifier: Apache-2.0
"""Single instructions and what they compute, written from the instruction set's description.

Each is (text, result, sources, function, pools): operands are {d} {a} {b} {c} {e}; kinds are h, r, d
for registers of 16, 32, 64 bits and p for a predicate; the function takes and gives bit patterns.
A result may be a set of bit patterns, or a predicate over one."""

from fractions import Fraction
from exact import (BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, F64, INF, NAN, add, compare, divide,
                   extreme, flush, multiply, negate, number, root, signed, to_integral, to_unit)

KIND = {16: "h", 32: "r", 64: "d"}
TABLE = []


def row(text, result, sources, function, pools):
    TABLE.append((text, result, sources, function, pools))


def mask(bits):
    return (1 << bits) - 1


def to_signed(value, bits):
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def typed(value, kind, bits):
    return to_signed(value, bits) if kind == "s" else value & mask(bits)


def clamp(value, kind, bits):
    low, high = (-(1 << (bits - 1)), mask(bits - 1)) if kind == "s" else (0, mask(bits))
    return max(low, min(high, value))


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# ---- integers ----

def integers():
    for bits in (16, 32, 64):
        k, ints = KIND[bits], "i%d" % bits
        for s in "us":
            t = "%s%d" % (s, bits)

            def val(x, s=s, bits=bits):
                return typed(x, s, bits)

            two = (k + k, [ints] * 2)
            row("add.%s {d},{a},{b};" % t, k, two[0], lambda a, b: a + b, two[1])
            row("sub.%s {d},{a},{b};" % t, k, two[0], lambda a, b: a - b, two[1])
            row("mul.lo.%s {d},{a},{b};" % t, k, two[0], lambda a, b: a * b, two[1])
            row("mul.hi.%s {d},{a},{b};" % t, k, two[0],
                lambda a, b, v=val, n=bits: v(a) * v(b) >> n, two[1])
            row("mad.lo.%s {d},{a},{b},{c};" % t, k, k * 3, lambda a, b, c: a * b + c, [ints] * 3)
            row("mad.hi.%s {d},{a},{b},{c};" % t, k, k * 3,
                lambda a, b, c, v=val, n=bits: (v(a) * v(b) >> n) + c, [ints] * 3)
            row("sad.%s {d},{a},{b},{c};" % t, k, k * 3,
                lambda a, b, c, v=val: c + abs(v(a) - v(b)), [ints] * 3)
            row("min.%s {d},{a},{b};" % t, k, two[0], lambda a, b, v=val: min(v(a), v(b)), two[1])
            row("max.%s {d},{a},{b};" % t, k, two[0], lambda a, b, v=val: max(v(a), v(b)), two[1])
            row("div.%s {d},{a},{b};" % t, k, two[0],
                lambda a, b, v=val: quotient(v(a), v(b)) if v(b) else -1, two[1])
            row("rem.%s {d},{a},{b};" % t, k, two[0],
                lambda a, b, v=val: v(a) - v(b) * quotient(v(a), v(b)) if v(b) else a, two[1])
            row("shr.%s {d},{a},{b};" % t, k, k + "r",
                lambda a, b, v=val, n=bits: v(a) >> min(b, n), [ints, "shift"])
            for name, test in (("eq", lambda o: o == 0), ("ne", lambda o: o != 0),
                               ("lt", lambda o: o < 0), ("le", lambda o: o <= 0),
                               ("gt", lambda o: o > 0), ("ge", lambda o: o >= 0)):
                row("setp.%s.%s {d},{a},{b};" % (name, t), "p", two[0],
                    lambda a, b, v=val, f=test: f((v(a) > v(b)) - (v(a) < v(b))), two[1])
            if bits < 64:
                w = KIND[2 * bits]
                row("mul.wide.%s {d},{a},{b};" % t, w, two[0],
                    lambda a, b, v=val: v(a) * v(b), two[1])
                row("mad.wide.%s {d},{a},{b},{c};" % t, w, k + k + w,
                    lambda a, b, c, v=val: v(a) * v(b) + c, [ints, ints, "i%d" % (2 * bits)])
        row("neg.s%d {d},{a};" % bits, k, k, lambda a: -a, [ints])
        row("abs.s%d {d},{a};" % bits, k, k, lambda a, n=bits: abs(to_signed(a, n)), [ints])
        row("shl.b%d {d},{a},{b};" % bits, k, k + "r", lambda a, b, n=bits: a << min(b, n),
            [ints, "shift"])
        for name, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b),
                        ("xor", lambda a, b: a ^ b)):
            row("%s.b%d {d},{a},{b};" % (name, bits), k, k + k, f, [ints] * 2)
        row("not.b%d {d},{a};" % bits, k, k, lambda a: ~a, [ints])
        row("cnot.b%d {d},{a};" % bits, k, k, lambda a: int(a == 0), [ints])
        row("selp.b%d {d},{a},{b},{c};" % bits, k, k + k + "p", lambda a, b, c: a if c else b,
            [ints, ints, "bit"])
        row("slct.b%d.s32 {d},{a},{b},{c};" % bits, k, k + k + "r",
            lambda a, b, c: a if to_signed(c, 32) >= 0 else b, [ints, ints, "i32"])
        row("slct.b%d.f32 {d},{a},{b},{c};" % bits, k, k + k + "r",
            lambda a, b, c: a if at_least_zero(c) else b, [ints, ints, "f32"])
    for bits in (32, 64):
        k, ints = KIND[bits], "i%d" % bits
        row("popc.b%d {d},{a};" % bits, "r", k, lambda a: bin(a).count("1"), [ints])
        row("clz.b%d {d},{a};" % bits, "r", k, lambda a, n=bits: n - a.bit_length(), [ints])
        row("brev.b%d {d},{a};" % bits, k, k,
            lambda a, n=bits: int(format(a, "0%db" % n)[::-1], 2), [ints])
        for s in "us":
            row("bfind.%s%d {d},{a};" % (s, bits), "r", k,
                lambda a, s=s, n=bits: top_bit(a, s, n), [ints])
            row("bfind.shiftamt.%s%d {d},{a};" % (s, bits), "r", k,
                lambda a, s=s, n=bits: -1 if top_bit(a, s, n) < 0 else n - 1 - top_bit(a, s, n),
                [ints])
            row("bfe.%s%d {d},{a},{b},{c};" % (s, bits), k, k + "rr",
                lambda a, b, c, s=s, n=bits: field(a, b & 255, c & 255, s, n),
                [ints, "shift", "shift"])
        row("bfi.b%d {d},{a},{b},{c},{e};" % bits, k, k + k + "rr",
            lambda a, b, c, e, n=bits: insert(a, b, c & 255, e & 255, n),
            [ints, ints, "shift", "shift"])
    carries()


def at_least_zero(c):
    x = F32.decode(c)
    return x != NAN and (x[1] == 0 or not x[0])


def top_bit(a, s, n):
    if s == "s" and a >> (n - 1):
        a = ~a & mask(n)
    return a.bit_length() - 1


def field(a, pos, length, s, n):
    """Bit by bit, as the description has it."""
    sign = 0
    if s == "s" and length:
        sign = a >> min(pos + length - 1, n - 1) & 1
    out = 0
    for i in range(n):
        out |= (a >> (pos + i) & 1 if i < length and pos + i < n else sign) << i
    return out


def insert(a, b, pos, length, n):
    for i in range(length):
        if pos + i < n:
            b = b & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return b


def carries():
    for t, n in (("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)):
        k, ints = KIND[n], "i%d" % n
        row("add.cc.%s {d},{a},{b}; addc.%s {d},{c},{c};" % (t, t), k, k * 3,
            lambda a, b, c, n=n: 2 * c + (a + b >> n), [ints] * 3)
        row("sub.cc.%s {d},{a},{b}; subc.%s {d},{c},{a};" % (t, t), k, k * 3,
            lambda a, b, c: c - a - (a < b), [ints] * 3)
        row("add.cc.%s {d},{a},{b}; addc.cc.%s {d},{a},{c}; addc.%s {d},{b},{c};" % (t, t, t), k,
            k * 3, lambda a, b, c, n=n: b + c + (a + c + (a + b >> n) >> n), [ints] * 3)
        row("mad.lo.cc.%s {d},{a},{b},{c}; madc.hi.%s {d},{a},{b},{c};" % (t, t), k, k * 3,
            lambda a, b, c, t=t, n=n: (typed(a, t[0], n) * typed(b, t[0], n) >> n) + c +
            ((a * b & mask(n)) + c >> n), [ints] * 3)


def words():
    i3 = ["i32"] * 3
    row("add.sat.s32 {d},{a},{b};", "r", "rr",
        lambda a, b: clamp(to_signed(a, 32) + to_signed(b, 32), "s", 32), i3[:2])
    row("sub.sat.s32 {d},{a},{b};", "r", "rr",
        lambda a, b: clamp(to_signed(a, 32) - to_signed(b, 32), "s", 32), i3[:2])
    row("mad.hi.sat.s32 {d},{a},{b},{c};", "r", "rrr",
        lambda a, b, c: clamp((to_signed(a, 32) * to_signed(b, 32) >> 32) + to_signed(c, 32), "s", 32), i3)
    for s in "us":
        def v24(x, s=s):
            return typed(x, s, 24)

        row("mul24.lo.%s32 {d},{a},{b};" % s, "r", "rr", lambda a, b, v=v24: v(a) * v(b), i3[:2])
        row("mul24.hi.%s32 {d},{a},{b};" % s, "r", "rr", lambda a, b, v=v24: v(a) * v(b) >> 16, i3[:2])
        row("mad24.lo.%s32 {d},{a},{b},{c};" % s, "r", "rrr", lambda a, b, c, v=v24: v(a) * v(b) + c, i3)
        row("mad24.hi.%s32 {d},{a},{b},{c};" % s, "r", "rrr",
            lambda a, b, c, v=v24: (v(a) * v(b) >> 16) + c, i3)
        for t in "us":
            row("dp4a.%s32.%s32 {d},{a},{b},{c};" % (s, t), "r", "rrr",
                lambda a, b, c, s=s, t=t: c + sum(typed(a >> 8 * k, s, 8) * typed(b >> 8 * k, t, 8)
                                                  for k in range(4)), i3)
            for half in ("lo", "hi"):
                row("dp2a.%s.%s32.%s32 {d},{a},{b},{c};" % (half, s, t), "r", "rrr",
                    lambda a, b, c, s=s, t=t, h=half: c + sum(
                        typed(a >> 16 * k, s, 16) * typed(b >> 8 * k + 16 * (h == "hi"), t, 8)
                        for k in range(2)), i3)
        for mode in ("clamp", "wrap"):
            row("szext.%s.%s32 {d},{a},{b};" % (mode, s), "r", "rr",
                lambda a, b, s=s, m=mode: extend(a, b, s, m), ["i32", "shift"])
    row("mad24.hi.sat.s32 {d},{a},{b},{c};", "r", "rrr",
        lambda a, b, c: clamp((to_signed(a, 24) * to_signed(b, 24) >> 16) + to_signed(c, 32), "s", 32), i3)
    for table in (0x00, 0x1B, 0x80, 0xE8, 0x96, 0xFE):
        row("lop3.b32 {d},{a},{b},{c},%d;" % table, "r", "rrr", lambda a, b, c, t=table: look_up(a, b, c, t), i3)
    row("{{ .reg .b32 x; lop3.or.b32 x|{d},{a},{b},{c},128,{e}; }}", "p", "rrrp",
        lambda a, b, c, e: bool(a & b & c) or bool(e), i3 + ["bit"])
    row("prmt.b32 {d},{a},{b},{c};", "r", "rrr", permute, i3)
    for mode, f in MODES.items():
        row("prmt.b32.%s {d},{a},{b},{c};" % mode, "r", "rrr",
            lambda a, b, c, f=f: permute(a, b, sum(f(c & 3, k) << 4 * k for k in range(4))), i3)
    for mode in ("clamp", "wrap"):
        amount = (lambda c: min(c, 32)) if mode == "clamp" else (lambda c: c & 31)
        row("shf.l.%s.b32 {d},{a},{b},{c};" % mode, "r", "rrr",
            lambda a, b, c, n=amount: (b << 32 | a) << n(c) >> 32, ["i32", "i32", "shift"])
        row("shf.r.%s.b32 {d},{a},{b},{c};" % mode, "r", "rrr",
            lambda a, b, c, n=amount: (b << 32 | a) >> n(c), ["i32", "i32", "shift"])
        row("bmsk.%s.b32 {d},{a},{b};" % mode, "r", "rr",
            lambda a, b, m=mode: bit_mask(a, b, m), ["shift", "shift"])
    row("fns.b32 {d},{a},{b},{c};", "r", "rrr", find_set, ["i32", "lane", "near"])
    for op, f in (("min", min), ("max", max)):
        for s in "us":
            row("%s.%s16x2 {d},{a},{b};" % (op, s), "r", "rr",
                lambda a, b, s=s, f=f: pair(lambda x, y: f(typed(x, s, 16), typed(y, s, 16)), a, b), i3[:2])
    row("add.u16x2 {d},{a},{b};", "r", "rr", lambda a, b: pair(lambda x, y: x + y, a, b), i3[:2])
    row("max.relu.s32 {d},{a},{b};", "r", "rr",
        lambda a, b: max(to_signed(a, 32), to_signed(b, 32), 0), i3[:2])
    row("min.relu.s16x2 {d},{a},{b};", "r", "rr",
        lambda a, b: pair(lambda x, y: max(min(to_signed(x, 16), to_signed(y, 16)), 0), a, b), i3[:2])
    row("setp.lt.and.s32 {d},{a},{b},!{c};", "p", "rrp",
        lambda a, b, c: to_signed(a, 32) < to_signed(b, 32) and not c, ["i32", "i32", "bit"])
    row("set.gt.xor.u32.u32 {d},{a},{b},{c};", "r", "rrp", lambda a, b, c: -int((a > b) != bool(c)),
        ["i32", "i32", "bit"])
    row("set.le.f32.s32 {d},{a},{b};", "r", "rr",
        lambda a, b: 0x3F800000 if to_signed(a, 32) <= to_signed(b, 32) else 0, i3[:2])


def look_up(a, b, c, table):
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))


MODES = {"f4e": lambda c, k: c + k, "b4e": lambda c, k: (c - k) & 7, "rc8": lambda c, k: c,
         "ecl": lambda c, k: max(c, k), "ecr": lambda c, k: min(c, k), "rc16": lambda c, k: (c & 1) * 2 + (k & 1)}


def permute(a, b, c):
    out = 0
    for k in range(4):
        n = c >> 4 * k & 15
        byte = (b << 32 | a) >> 8 * (n & 7) & 255
        out |= (255 * (byte >> 7) if n & 8 else byte) << 8 * k
    return out


def extend(a, b, s, mode):
    if mode == "clamp" and b >= 32:
        return a
    b &= 31
    return typed(a, s, b) if b else 0


def bit_mask(a, b, mode):
    if mode == "clamp":
        return mask(min(b, 32)) << a if a < 32 else 0
    return mask(b & 31) << (a & 31)


def find_set(bits, base, offset):
    offset = to_signed(offset, 32)
    if offset == 0:
        return base if bits >> base & 1 else -1
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    hits = [i for i in places if bits >> i & 1]
    return hits[abs(offset) - 1] if abs(offset) <= len(hits) else -1


def pair(f, *words):
    low = f(*(w & 0xFFFF for w in words)) & 0xFFFF
    return low | (f(*(w >> 16 for w in words)) & 0xFFFF) << 16


# ---- video ----

def part(word, bits, at, s):
    return typed(word >> bits * at, s, bits)


VIDEO = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "absdiff": lambda a, b: abs(a - b),
         "min": min, "max": max}


def video():
    picks = (("", 32, 0), (".b0", 8, 0), (".b3", 8, 3), (".h1", 16, 1))
    for n, (op, f) in enumerate(VIDEO.items()):
        for k, (d, s, t) in enumerate((("u", "u", "u"), ("s", "s", "u"), ("u", "u", "s"), ("s", "s", "s"))):
            pa, pb = picks[(n + k) % 4], picks[(n + 2 * k + 1) % 4]

            def value(a, b, f=f, s=s, t=t, pa=pa, pb=pb):
                return f(part(a, pa[1], pa[2], s), part(b, pb[1], pb[2], t))

            head = "v%s.%s32.%s32.%s32" % (op, d, s, t)
            ab = "{a}%s,{b}%s" % (pa[0], pb[0])
            row("%s {d},%s;" % (head, ab), "r", "rr", value, ["i32"] * 2)
            row("%s.sat {d},%s;" % (head, ab), "r", "rr",
                lambda a, b, v=value, d=d: clamp(v(a, b), d, 32), ["i32"] * 2)
            row("%s.sat.add {d},%s,{c};" % (head, ab), "r", "rrr",
                lambda a, b, c, v=value, d=d: clamp(v(a, b), d, 32) + c, ["i32"] * 3)
            row("%s.min {d},%s,{c};" % (head, ab), "r", "rrr",
                lambda a, b, c, v=value, d=d: min(typed(v(a, b), d, 32), typed(c, d, 32)), ["i32"] * 3)
            row("%s.sat {d}.h1,%s,{c};" % (head, ab), "r", "rrr",
                lambda a, b, c, v=value, d=d: (clamp(v(a, b), d, 16) & 0xFFFF) << 16 | c & 0xFFFF, ["i32"] * 3)
    for s in "us":
        row("vshl.u32.%s32.u32.clamp {d},{a},{b};" % s, "r", "rr",
            lambda a, b, s=s: typed(a, s, 32) << min(b, 32), ["i32", "shift"])
        row("vshr.s32.%s32.u32.wrap.sat {d},{a}.h0,{b};" % s, "r", "rr",
            lambda a, b, s=s: clamp(part(a, 16, 0, s) >> (b & 31), "s", 32), ["i32", "shift"])
        row("vset.%s32.s32.le.max {d},{a}.b1,{b}.h1,{c};" % s, "r", "rrr",
            lambda a, b, c, s=s: max(int(part(a, 8, 1, s) <= part(b, 16, 1, "s")), c), ["i32"] * 3)
        row("vmad.s32.%s32.s32.sat.shr7 {d},{a}.h0,-{b}.b2,{c};" % s, "r", "rrr",
            lambda a, b, c, s=s: clamp((-part(a, 16, 0, s) * part(b, 8, 2, "s") + to_signed(c, 32)) >> 7, "s", 32),
            ["i32"] * 3)
    row("vmad.u32.u32.u32.po.shr15 {d},{a}.h1,{b}.h0,{c};", "r", "rrr",
        lambda a, b, c: (a >> 16) * (b & 0xFFFF) + c + 1 >> 15, ["i32"] * 3)
    simd()


def lanes(a, b, n, order, s):
    both = b << 32 | a
    return [part(both, 32 // n, k, s) for k in order]


def simd():
    ops = dict(VIDEO, avrg=lambda a, b: (a + b + (a + b >= 0)) >> 1)
    for n, letter in ((2, "h"), (4, "b")):
        bits = 32 // n
        for k, (op, f) in enumerate(ops.items()):
            for d, s, t in (("u", "u", "u"), ("s", "s", "s"), ("s", "u", "s")):
                def value(a, b, f=f, s=s, t=t, n=n):
                    return [f(x, y) for x, y in zip(lanes(a, b, n, range(n), s), lanes(a, b, n, range(n, 2 * n), t))]

                head = "v%s%d.%s32.%s32.%s32" % (op, n, d, s, t)
                row("%s.sat {d},{a},{b},{c};" % head, "r", "rrr",
                    lambda a, b, c, v=value, d=d, w=bits: sum((clamp(x, d, w) & mask(w)) << w * i for i, x in enumerate(v(a, b))),
                    ["i32"] * 3)
                row("%s {d}.%s0,{a},{b},{c};" % (head, letter), "r", "rrr",
                    lambda a, b, c, v=value, w=bits: c & ~mask(w) | v(a, b)[0] & mask(w), ["i32"] * 3)
                row("%s.add {d},{a},{b},{c};" % head, "r", "rrr",
                    lambda a, b, c, v=value: c + sum(v(a, b)), ["i32"] * 3)
        order = [2 * n - 1, 0, n, 1][:n]
        name = letter + "".join(str(k) for k in reversed(order))
        row("vset%d.s32.u32.gt {d},{a}.%s,{b},{c};" % (n, name), "r", "rrr",
            lambda a, b, c, n=n, o=order: sum((x > y) << 32 // n * i for i, (x, y) in enumerate(
                zip(lanes(a, b, n, o, "s"), lanes(a, b, n, range(n, 2 * n), "u")))), ["i32"] * 3)


# ---- floats ----

ROUNDS = {"rn": "n", "rz": "z", "rm": "m", "rp": "p"}


def arith(form, f, ftz=False, sat=False, relu=False):
    """f over decoded floats and a rounding, as a function of bit patterns."""
    def run(*codes):
        if ftz:
            codes = [flush(form, c) for c in codes]
        out = f(*(form.decode(c) for c in codes))
        rounding = run.rounding
        if out != NAN and ftz and out[1] != INF and 0 < out[1]:
            code = flush(form, form.encode(out, rounding))
        else:
            code = form.encode(out, rounding)
        if sat:
            code = form.encode(to_unit(form.decode(code)))
        if relu and code != form.nan and (code & form.sign):
            code = 0
        return code
    run.rounding = "n"
    return run


def floats():
    for name, form, bits in (("f32", F32, 32), ("f64", F64, 64)):
        k, pool = KIND[bits], name
        for r, rounding in ROUNDS.items():
            for ftz in ((False, True) if bits == 32 else (False,)):
                for sat in ((False, True) if bits == 32 else (False,)):
                    tail = "%s%s.%s" % (".ftz" * ftz, ".sat" * sat, name)
                    for op, f, count in (("add", add, 2), ("sub", lambda a, b, r: add(a, negate(b), r), 2),
                                         ("mul", lambda a, b, r: multiply(a, b), 2),
                                         ("fma", lambda a, b, c, r: add(multiply(a, b), c, r), 3)):
                        run = arith(form, lambda *x, f=f, r=rounding: f(*x, r), ftz, sat)
                        run.rounding = rounding
                        regs = ",".join(["{d}", "{a}", "{b}", "{c}"][:count + 1])
                        row("%s.%s%s %s;" % (op, r, tail, regs), k, k * count, run, [pool] * count)
                tail = "%s.%s" % (".ftz" * ftz, name)
                for op, f, count in (("div", divide, 2), ("rcp", lambda a: divide((0, Fraction(1)), a), 1),
                                     ("sqrt", root, 1)):
                    run = arith(form, f, ftz)
                    run.rounding = rounding
                    regs = ",".join(["{d}", "{a}", "{b}"][:count + 1])
                    row("%s.%s%s %s;" % (op, r, tail, regs), k, k * count, run, [pool] * count)
        for least, op in ((True, "min"), (False, "max")):
            row("%s.%s {d},{a},{b};" % (op, name), k, k + k,
                arith(form, lambda a, b, x=least: extreme(a, b, x)), [pool] * 2)
        comparisons(name, form, k, pool)
        for test, f in TESTS.items():
            row("testp.%s.%s {d},{a};" % (test, name), "p", k,
                lambda a, f=f, form=form: f(form, a, form.decode(a)), [pool])
        row("copysign.%s {d},{a},{b};" % name, k, k + k,
            lambda a, b, form=form: a & form.sign | b & (form.sign - 1), [pool] * 2)
    for ftz in (False, True):
        for least, op in ((True, "min"), (False, "max")):
            row("%s%s.NaN.f32 {d},{a},{b};" % (op, ".ftz" * ftz), "r", "rr",
                arith(F32, lambda a, b, x=least: extreme(a, b, x, True), ftz), ["f32"] * 2)
    row("min.xorsign.abs.f32 {d},{a},{b};", "r", "rr", least_size, ["f32"] * 2)
    approximations()
    halves()


def least_size(a, b):
    """The lesser size with the product's sign; a NaN's sign is not specified."""
    if NAN in (F32.decode(a), F32.decode(b)):
        return lambda code: True
    return min(a & 0x7FFFFFFF, b & 0x7FFFFFFF) | (a ^ b) & 0x80000000


TESTS = {"finite": lambda f, c, x: x != NAN and x[1] != INF, "infinite": lambda f, c, x: x != NAN and x[1] == INF,
         "number": lambda f, c, x: x != NAN, "notanumber": lambda f, c, x: x == NAN,
         "normal": lambda f, c, x: x != NAN and x[1] != INF and bool(c & f.infinity),
         "subnormal": lambda f, c, x: not c & f.infinity and bool(c & (f.sign - 1))}
ORDERS = {"eq": lambda o: o == 0, "ne": lambda o: o != 0, "lt": lambda o: o < 0, "le": lambda o: o <= 0,
          "gt": lambda o: o > 0, "ge": lambda o: o >= 0}


def comparisons(name, form, k, pool):
    def ordered(f, otherwise):
        def run(a, b):
            o = compare(form.decode(a), form.decode(b))
            return otherwise if o is None else f(o)
        return run

    for word, f in ORDERS.items():
        row("setp.%s.%s {d},{a},{b};" % (word, name), "p", k + k, ordered(f, False), [pool] * 2)
        row("setp.%su.%s {d},{a},{b};" % (word, name), "p", k + k, ordered(f, True), [pool] * 2)
    row("setp.num.%s {d},{a},{b};" % name, "p", k + k, ordered(lambda o: True, False), [pool] * 2)
    row("setp.nan.%s {d},{a},{b};" % name, "p", k + k, ordered(lambda o: False, True), [pool] * 2)


def near(form, exact, ulps):
    """Accepts what lies within so many units in the last place of the exact value."""
    def accept(code):
        got = form.decode(code)
        if exact == NAN or got == NAN:
            return exact == got
        want = form.encode(exact)
        size = lambda c: -(c & (form.sign - 1)) if c & form.sign else c
        return abs(size(want) - size(code)) <= ulps
    return accept


def approximations():
    for text, f, count in (("div.full.f32 {d},{a},{b};", divide, 2), ("rcp.approx.f32 {d},{a};", lambda a: divide((0, Fraction(1)), a), 1),
                           ("sqrt.approx.f32 {d},{a};", root, 1)):
        row(text, "r", "r" * count, lambda *c, f=f: near(F32, f(*(F32.decode(x) for x in c)), 2), ["f32"] * count)
    row("rsqrt.approx.f32 {d},{a};", "r", "r",
        lambda a: near(F32, divide((0, Fraction(1)), root(F32.decode(a))) if F32.decode(a) == NAN or F32.decode(a)[1]
                       else (F32.decode(a)[0], INF), 2), ["f32"])
    # Precise, but with .ftz: the upper halves of operand and result.
    for text, f in (("rcp", lambda a: divide((0, Fraction(1)), a)),
                    ("rsqrt", lambda a: divide((0, Fraction(1)), root(a)) if a == NAN or a[1] else (a[0], INF))):
        row(text + ".approx.f64 {d},{a};", "d", "d", lambda a, f=f: near(F64, f(F64.decode(a)), 1), ["f64"])


def halves():
    for name, form in (("f16", F16), ("bf16", BF16)):
        full = name == "f16"
        for ftz in ((False, True) if full else (False,)):
            for tail_mod in (("", ".sat", ".relu") if full else ("", ".relu")):
                sat, relu = tail_mod == ".sat", tail_mod == ".relu"
                tail = ".ftz" * ftz + tail_mod
                for op, f, count in (("add.rn", add, 2), ("sub.rn", lambda a, b: add(a, negate(b)), 2),
                                     ("mul.rn", multiply, 2),
                                     ("fma.rn", lambda a, b, c: add(multiply(a, b), c), 3)):
                    if relu and op != "fma.rn":
                        continue
                    run = arith(form, f, ftz, sat, relu)
                    regs = ",".join(["{d}", "{a}", "{b}", "{c}"][:count + 1])
                    row("%s%s.%s %s;" % (op, tail, name, regs), "h", "h" * count, run, [name] * count)
                    row("%s%s.%sx2 %s;" % (op, tail, name, regs), "r", "r" * count,
                        lambda *w, r=run: pair(r, *w), [name + "x2"] * count)
        for least, op in ((True, "min"), (False, "max")):
            for nan in (False, True):
                run = arith(form, lambda a, b, x=least, n=nan: extreme(a, b, x, n))
                row("%s%s.%s {d},{a},{b};" % (op, ".NaN" * nan, name), "h", "hh", run, [name] * 2)
                row("%s%s.%sx2 {d},{a},{b};" % (op, ".NaN" * nan, name), "r", "rr",
                    lambda *w, r=run: pair(r, *w), [name + "x2"] * 2)
        row("neg.%s {d},{a};" % name, "h", "h",
            lambda a, form=form: any_nan(form) if form.decode(a) == NAN else a ^ 0x8000, [name])
        row("abs.%s {d},{a};" % name, "h", "h",
            lambda a, form=form: any_nan(form) if form.decode(a) == NAN else a & 0x7FFF, [name])
        comparisons(name, form, "h", name)


def any_nan(form):
    return lambda code: form.decode(code) == NAN


# ---- conversions ----

FORMS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def int_to_float(form, s, n, rounding, sat):
    def run(a):
        x = signed(Fraction(typed(a, s, n)))
        code = form.encode(x, rounding)
        return form.encode(to_unit(form.decode(code))) if sat else code
    return run


def float_to_int(name, s, n, rounding, ftz):
    form = FORMS[name]

    def run(a):
        x = form.decode(flush(form, a) if ftz else a)
        if x == NAN:
            return 1 << (n - 1) if name == "f64" or n == 64 else 0
        low, high = (-(1 << (n - 1)), mask(n - 1)) if s == "s" else (0, mask(n))
        if x[1] == INF:
            return low if x[0] else high
        return clamp(int(number(to_integral(x, rounding))), s, n)
    return run


def float_to_float(to, name, rounding, ftz, sat, relu=False, finite=False):
    form, out = FORMS[name], FORMS[to]

    def run(a):
        x = form.decode(flush(form, a) if ftz and name == "f32" else a)
        code = out.encode(x, rounding, finite)
        if ftz and to == "f32":
            code = flush(out, code)
        if sat:
            code = out.encode(to_unit(out.decode(code)))
        if relu and x != NAN and code & out.sign:
            code = 0
        return code
    return run


def store_kind(n):
    return KIND[max(n, 16)]


def conversions():
    for s in "us":
        for n in (8, 16, 32, 64):
            pool = "i%d" % max(n, 16)
            for t in "us":
                for m in (8, 16, 32, 64):
                    row("cvt.%s%d.%s%d {d},{a};" % (t, m, s, n), store_kind(m), store_kind(n),
                        lambda a, s=s, n=n, t=t, m=m: typed(typed(a, s, n), t, m), [pool])
                    if (n > m or (s != t and n == m)) or (s == "s" and t == "u"):
                        row("cvt.sat.%s%d.%s%d {d},{a};" % (t, m, s, n), store_kind(m), store_kind(n),
                            lambda a, s=s, n=n, t=t, m=m: clamp(typed(a, s, n), t, m), [pool])
            for name, form in FORMS.items():
                for r, rounding in ROUNDS.items():
                    k = KIND[BITS[name]]
                    row("cvt.%s.%s.%s%d {d},{a};" % (r, name, s, n), k, store_kind(n),
                        int_to_float(form, s, n, rounding, False), [pool])
                    row("cvt.%si.%s%d.%s {d},{a};" % (r, s, n, name), store_kind(n), k,
                        widened(float_to_int(name, s, n, rounding, False), s, n), [name + "int"])
    for to in FORMS:
        for name in FORMS:
            if to == name:
                for r, rounding in ROUNDS.items():
                    row("cvt.%si.%s.%s {d},{a};" % (r, to, to), KIND[BITS[to]], KIND[BITS[to]],
                        arith(FORMS[to], lambda a, x=rounding: a if a == NAN or a[1] == INF else to_integral(a, x)), [name])
                continue
            k, j = KIND[BITS[to]], KIND[BITS[name]]
            plain = (to, name) in (("f32", "f16"), ("f64", "f16"), ("f64", "f32"), ("f32", "bf16"))
            for r, rounding in ({"": "n"} if plain else ROUNDS).items():
                row("cvt%s.%s.%s {d},{a};" % ("." + r if r else "", to, name), k, j,
                    float_to_float(to, name, rounding, False, False), [name])
    for r in ("rn", "rz"):
        for to in ("f16", "bf16"):
            for relu, finite in ((True, False), (False, True), (True, True)):
                tail = ".relu" * relu + ".satfinite" * finite
                one = float_to_float(to, "f32", ROUNDS[r], False, False, relu, finite)
                row("cvt.%s%s.%s.f32 {d},{a};" % (r, tail, to), "h", "r", one, ["f32"])
                row("cvt.%s%s.%sx2.f32 {d},{a},{b};" % (r, tail, to), "r", "rr",
                    lambda a, b, f=one: f(a) << 16 | f(b), ["f32"] * 2)
    row("cvt.ftz.f64.f32 {d},{a};", "d", "r", float_to_float("f64", "f32", "n", True, False), ["f32"])
    row("cvt.rn.ftz.sat.f32.f64 {d},{a};", "r", "d", float_to_float("f32", "f64", "n", True, True), ["f64"])
    row("cvt.rn.ftz.f16.f32 {d},{a};", "h", "r", float_to_float("f16", "f32", "n", True, False), ["f32"])
    row("cvt.sat.f32.f16 {d},{a};", "r", "h", float_to_float("f32", "f16", "n", False, True), ["f16"])
    for r, letter in (("rna", "a"), ("rn", "n"), ("rz", "z")):
        row("cvt.%s.tf32.f32 {d},{a};" % r, "r", "r", lambda a, x=letter: to_tf32(a, x), ["f32"])
    small_floats()
    for s in "us":
        for n in (2, 4, 8):
            row("cvt.pack.sat.%s%d.s32.b32 {d},{a},{b},{c};" % (s, n), "r", "rrr",
                lambda a, b, c, s=s, n=n: pack(a, b, c, s, n), ["i32"] * 3)
        row("cvt.pack.sat.%s16.s32 {d},{a},{b};" % s, "r", "rr",
            lambda a, b, s=s: pack(a, b, 0, s, 16), ["i32"] * 2)


def widened(f, s, n):
    """Results of 8 bits are extended into their register."""
    return lambda a: typed(f(a), s, n)


def to_tf32(a, rounding):
    x = F32.decode(a)
    if x == NAN:
        return lambda code: F32.decode(code) == NAN
    wide = 13
    size, rest = (a & 0x7FFFFFFF) >> wide, a & mask(wide)
    up = rounding == "a" and rest >= 1 << 12 or rounding == "n" and (rest > 1 << 12 or (rest == 1 << 12 and size & 1))
    return a & 0x80000000 | size + up << wide


def pack(a, b, c, s, n):
    low = clamp(to_signed(b, 32), s, n) & mask(n) | (clamp(to_signed(a, 32), s, n) & mask(n)) << n
    return low | c << 2 * n


SMALL = {"e4m3x2": (E4M3, 8), "e5m2x2": (E5M2, 8), "e2m3x2": (E2M3, 8), "e3m2x2": (E3M2, 8), "e2m1x2": (E2M1, 4)}


def small_floats():
    def down(form, x, relu):
        code = form.encode(x, "n", True)
        return 0 if relu and x != NAN and x[0] else code

    def up(form, code, relu):
        x = decode_small(form, code)
        out = F16.encode(x)
        return 0 if relu and x != NAN and out & 0x8000 else out

    for name, (form, n) in SMALL.items():
        for relu in (False, True):
            tail = ".relu" * relu
            row("cvt.rn.satfinite%s.%s.f32 {d},{a},{b};" % (tail, name), "h", "rr",
                lambda a, b, f=form, n=n, r=relu: down(f, F32.decode(a), r) << n | down(f, F32.decode(b), r),
                ["f32small"] * 2)
            if n == 8 and name[1] in "45":
                row("cvt.rn.satfinite%s.%s.f16x2 {d},{a};" % (tail, name), "h", "r",
                    lambda a, f=form, r=relu: down(f, F16.decode(a >> 16), r) << 8 | down(f, F16.decode(a & 0xFFFF), r),
                    ["f16x2"])
            row("cvt.rn%s.f16x2.%s {d},{a};" % (tail, name), "r", "h",
                lambda a, f=form, n=n, r=relu: up(f, a >> n & mask(n), r) << 16 | up(f, a & mask(n), r), ["i16"])


def decode_small(form, code):
    code &= mask(form.bits)
    if form is E5M2 and code & 0x7C == 0x7C:
        return NAN if code & 3 else (code >> 7, INF)
    return form.decode(code)


integers()
words()
video()
floats()
conversions()

# SPDX-License-Identifier: Apache-2.0
"""Random PTX programs of integers with branches, loops and calls, and the same program run here.

A program is a list of statements over eight 32-bit and four 64-bit registers. Every thread starts
with its own values, so that warps diverge."""

import struct

import single

MASK = {"r": 0xFFFFFFFF, "d": 0xFFFFFFFFFFFFFFFF}
BITS = {"r": 32, "d": 64}
COUNT = {"r": 8, "d": 4}
COMPARES = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
            "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}


def low_signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def divide(a, b):
    return a // b if b else (1 << 64) - 1


BINARY = {"add.u{n}": lambda a, b, n: a + b, "sub.u{n}": lambda a, b, n: a - b,
          "mul.lo.u{n}": lambda a, b, n: a * b, "xor.b{n}": lambda a, b, n: a ^ b,
          "and.b{n}": lambda a, b, n: a & b, "or.b{n}": lambda a, b, n: a | b,
          "mul.hi.u{n}": lambda a, b, n: a * b >> n, "min.u{n}": lambda a, b, n: min(a, b),
          "max.s{n}": lambda a, b, n: max(low_signed(a, n), low_signed(b, n)),
          "div.u{n}": lambda a, b, n: divide(a, b), "rem.u{n}": lambda a, b, n: a % b if b else a}


class Program:
    def __init__(self, rng):
        self.rng, self.labels, self.text, self.counters = rng, 0, [], 0
        self.main = self.block(3)

    def register(self, kind):
        return (kind, self.rng.randrange(COUNT[kind]))

    def operand(self, kind):
        if self.rng.random() < 0.3:
            return self.rng.choice([0, 1, 3, 0x7FFFFFFF, self.rng.getrandbits(31)])
        return self.register(kind)

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def block(self, depth):
        return [self.statement(depth) for _ in range(self.rng.randrange(2, 7))]

    def statement(self, depth):
        kind = self.rng.choice("rrd")
        what = self.rng.random()
        if depth and what < 0.15:
            return ("if", self.rng.choice(list(COMPARES)), self.rng.choice("us"), self.register(kind),
                    self.operand(kind), self.block(depth - 1), self.block(depth - 1))
        if depth and what < 0.25:
            self.counters += 1
            return ("loop", self.counters, self.rng.randrange(1, 6), self.register("r"), self.block(depth - 1))
        if depth and what < 0.3:
            return ("switch", self.register("r"), [self.block(depth - 1) for _ in range(4)])
        if what < 0.4:
            return ("widen", self.register("d"), self.register("r"))
        if what < 0.45:
            return ("narrow", self.register("r"), self.register("d"))
        if what < 0.55:
            return ("when", self.rng.choice(list(COMPARES)), self.register(kind), self.operand(kind),
                    self.register(kind), self.operand(kind))
        if what < 0.6:
            return ("call", self.register("r"), self.register("r"), self.register("r"))
        if what < 0.65:
            return ("shift", self.rng.choice(["shl.b", "shr.u"]), self.register(kind), self.register(kind),
                    self.rng.randrange(70))
        return ("binary", self.rng.choice(list(BINARY)), self.register(kind), self.register(kind),
                self.operand(kind))


def name(x):
    return str(x) if isinstance(x, int) else "%%%s%d" % x


def emit(program, block, out):
    for s in block:
        EMIT[s[0]](program, out, *s[1:])


def emit_if(p, out, how, sign, a, b, yes, no):
    other, end = p.label(), p.label()
    out.append("setp.%s.%s%d %%p1, %s, %s; @!%%p1 bra %s;" % (how, sign, BITS[a[0]], name(a), name(b), other))
    emit(p, yes, out)
    out.append("bra %s; %s:" % (end, other))
    emit(p, no, out)
    out.append("%s:" % end)


def emit_loop(p, out, counter, least, extra, body):
    top = p.label()
    out.append("and.b32 %%c%d, %s, 3; add.u32 %%c%d, %%c%d, %d; %s:" % (counter, name(extra), counter, counter,
                                                                      least, top))
    emit(p, body, out)
    out.append("sub.u32 %%c%d, %%c%d, 1; setp.ne.u32 %%p2, %%c%d, 0; @%%p2 bra %s;" % ((counter,) * 3 + (top,)))


def emit_switch(p, out, index, blocks):
    labels, end, table = [p.label() for _ in blocks], p.label(), p.label()
    out.append("and.b32 %%t, %s, 3; %s: .branchtargets %s; brx.idx %%t, %s;" % (name(index), table, ", ".join(labels), table))
    for label, block in zip(labels, blocks):
        out.append("%s:" % label)
        emit(p, block, out)
        out.append("bra %s;" % end)
    out.append("%s:" % end)


def emit_when(p, out, how, a, b, d, value):
    n = BITS[a[0]]
    out.append("setp.%s.u%d %%p3, %s, %s; @%%p3 mov.b%d %s, %s;" % (how, n, name(a), name(b), n, name(d), name(value)))


def emit_call(p, out, d, a, b):
    out.append("{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %s; st.param.b32 [y], %s;"
               " call (z), mix, (x, y); ld.param.b32 %s, [z]; }" % (name(a), name(b), name(d)))


EMIT = {
    "if": emit_if, "loop": emit_loop, "switch": emit_switch, "when": emit_when, "call": emit_call,
    "widen": lambda p, out, d, a: out.append("cvt.s64.s32 %s, %s;" % (name(d), name(a))),
    "narrow": lambda p, out, d, a: out.append("cvt.u32.u64 %s, %s;" % (name(d), name(a))),
    "shift": lambda p, out, op, d, a, n: out.append("%s%d %s, %s, %d;" % (op, BITS[d[0]], name(d), name(a), n)),
    "binary": lambda p, out, op, d, a, b: out.append("%s %s, %s, %s;" % (op.format(n=BITS[d[0]]), name(d), name(a), name(b))),
}

MIX = """.func (.param .b32 out) mix (.param .b32 x, .param .b32 y)
{ .reg .b32 %r<4>; .reg .pred %p;
  ld.param.b32 %r0, [x]; ld.param.b32 %r1, [y];
  setp.lt.u32 %p, %r0, %r1; @%p bra less;
  sub.u32 %r0, %r0, %r1; st.param.b32 [out], %r0; ret;
less: mad.lo.u32 %r0, %r0, 31, %r1; st.param.b32 [out], %r0; ret;
}
"""


def text_of(program, threads):
    out = []
    emit(program, program.main, out)
    loads = "".join("ld.global.b32 %%r%d, [%%x0+%d];\n" % (k, 4 * k) for k in range(8))
    loads += "".join("cvt.u64.u32 %%d%d, %%r%d;\n" % (k, k + 2) for k in range(4))
    # One number of all registers.
    fold = "mov.b64 %x2, 0;\n"
    fold += "".join("mul.lo.u64 %%x2, %%x2, 1000003; cvt.u64.u32 %%x3, %%r%d; xor.b64 %%x2, %%x2, %%x3;\n" % k for k in range(8))
    fold += "".join("mul.lo.u64 %%x2, %%x2, 1000003; xor.b64 %%x2, %%x2, %%d%d;\n" % k for k in range(4))
    return (single.HEAD % "sm_70" + MIX + ".visible .entry k0(.param .u64 in, .param .u64 out)\n{\n"
            ".reg .b32 %%r<8>; .reg .b64 %%d<4>; .reg .u64 %%x<4>; .reg .u32 %%t; .reg .pred %%p<4>; .reg .b32 %%c<%d>;\n"
            % (program.counters + 1) +
            "mov.u32 %t, %tid.x; ld.param.u64 %x0, [in]; mad.wide.u32 %x0, %t, 32, %x0;\n"
            "ld.param.u64 %x1, [out]; mad.wide.u32 %x1, %t, 8, %x1;\n" + loads + "\n".join(out) + "\n" + fold +
            "st.global.b64 [%x1], %x2; ret;\n}\n")


class Machine:
    def __init__(self, words):
        self.r = {"r": list(words), "d": [words[k + 2] for k in range(4)]}

    def get(self, x, kind):
        return x & MASK[kind] if isinstance(x, int) else self.r[x[0]][x[1]]

    def put(self, d, value):
        self.r[d[0]][d[1]] = value & MASK[d[0]]

    def run(self, block):
        for s in block:
            getattr(self, "do_" + s[0])(*s[1:])

    def holds(self, how, sign, a, b):
        x, y = self.get(a, a[0]), self.get(b, a[0])
        if sign == "s":
            x, y = low_signed(x, BITS[a[0]]), low_signed(y, BITS[a[0]])
        return COMPARES[how](x, y)

    def do_if(self, how, sign, a, b, yes, no):
        self.run(yes if self.holds(how, sign, a, b) else no)

    def do_loop(self, counter, least, extra, body):
        for _ in range((self.get(extra, "r") & 3) + least):
            self.run(body)

    def do_switch(self, index, blocks):
        self.run(blocks[self.get(index, "r") & 3])

    def do_when(self, how, a, b, d, value):
        if self.holds(how, "u", a, b):
            self.put(d, self.get(value, d[0]))

    def do_call(self, d, a, b):
        x, y = self.get(a, "r"), self.get(b, "r")
        self.put(d, x * 31 + y if x < y else x - y)

    def do_widen(self, d, a):
        self.put(d, low_signed(self.get(a, "r"), 32))

    def do_narrow(self, d, a):
        self.put(d, self.get(a, "d"))

    def do_shift(self, op, d, a, n):
        x = self.get(a, d[0])
        self.put(d, 0 if n >= BITS[d[0]] else x << n if op == "shl.b" else x >> n)

    def do_binary(self, op, d, a, b):
        self.put(d, BINARY[op](self.get(a, d[0]), self.get(b, d[0]), BITS[d[0]]))

    def result(self):
        out = 0
        for value in self.r["r"] + self.r["d"]:
            out = out * 1000003 & MASK["d"] ^ value
        return out


def check(runner, rng, threads=96):
    for _ in range(4):
        program = Program(rng)
        text = text_of(program, threads)
        words = [[rng.choice([0, 1, 2, rng.getrandbits(32), rng.getrandbits(32) >> rng.randrange(32)])
                  for _ in range(8)] for _ in range(threads)]
        got = single.run(runner, text, b"".join(struct.pack("<8I", *w) for w in words), threads, 90)
        for k, one in enumerate(words):
            machine = Machine(one)
            machine.run(program.main)
            if isinstance(got, str) or got[0][k] != machine.result():
                print(text)
                print(got if isinstance(got, str) else "thread %d: got %#x, expected %#x" % (k, got[0][k], machine.result()))
                return False
    return 4 * threads

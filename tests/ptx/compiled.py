# SPDX-License-Identifier: Apache-2.0
"""Random C functions, compiled by clang-14 to PTX in three ways and for this machine."""

import os
import shutil
import struct
import subprocess
import tempfile

import single

CLANG = shutil.which("clang-14")
WAYS = (["-O0", "-g"], ["-O3"], ["-O1"])  # its -g with -O1 crashes
THREADS = 64

HEAD = """typedef unsigned int u32; typedef unsigned long u64; typedef int s32; typedef long s64;
typedef unsigned short u16; typedef signed char s8;
"""
TAIL = """
#ifdef __OPENCL_C_VERSION__
kernel void k0(global const ulong *in, global ulong *out)
{
    u32 i = __nvvm_read_ptx_sreg_tid_x();
    out[i] = f(in[4 * i], in[4 * i + 1], (u32)in[4 * i + 2], (u32)in[4 * i + 3]);
}
#else
#include <stdio.h>
int main(void)
{
    u64 in[4], out;
    while (fread(in, 8, 4, stdin) == 4) {
        out = f(in[0], in[1], (u32)in[2], (u32)in[3]);
        fwrite(&out, 8, 1, stdout);
    }
    return 0;
}
#endif
"""


class Source:
    def __init__(self, rng):
        self.rng = rng
        self.lines, self.helpers, self.depth = [], [], 1

    def atom(self):
        return self.rng.choice(["a", "b", "c", "d", "t[%s & 7]" % self.rng.choice("abcd"), "(u64)c", "(s32)d",
                                "(s64)(s8)a", "(u16)b", "%du" % self.rng.getrandbits(31), "%dul" % self.rng.getrandbits(62)])

    def expression(self, depth):
        if depth == 0 or self.rng.random() < 0.15:
            return self.atom()
        x, y = self.expression(depth - 1), self.expression(depth - 1)
        op = self.rng.choice(["+", "-", "*", "^", "&", "|", "<<", ">>", "/", "%", "<", "==", "?", "call", "float", "double"])
        if op in ("<<", ">>"):
            return "((u64)%s %s (%s & 31))" % (x, op, y)
        if op in "/%":
            return "((u64)%s %s ((u64)%s | 1))" % (x, op, y)
        if op == "?":
            return "(%s ? (u64)%s : (u64)%s)" % (self.expression(depth - 1), x, y)
        if op == "call":
            return "g%d((u32)%s, (u64)%s)" % (self.rng.randrange(3), x, y)
        if op in ("float", "double"):
            return self.real(op, x, y)
        return "((u64)%s %s (u64)%s)" % (x, op, y)

    def real(self, kind, x, y):
        """Of moderate size, so that the conversion back is defined."""
        a = "(%s)(s32)(%s & 0xfffff)" % (kind, x)
        b = "(%s)((s32)(%s & 0xfff) + 1)" % (kind, y)
        op = self.rng.choice(["%s / %s", "%s * %s", "%s - %s", "%s + 1.5f / %s"])
        return "((u64)(s64)((" + op % (a, b) + ") * 1.25f))"

    def statement(self, depth):
        pad = "    " * self.depth
        what = self.rng.random()
        if depth and what < 0.2:
            self.nest(pad + "if (%s) {" % self.expression(2), depth)
            if self.rng.random() < 0.5:
                self.nest(pad + "} else {", depth)
            self.lines.append(pad + "}")
        elif depth and what < 0.35:
            i = "i%d" % len(self.lines)
            self.nest(pad + "for (u32 %s = 0; %s < (u32)(%s & 7); %s++) {" % (i, i, self.atom(), i), depth)
            self.lines.append(pad + "}")
        elif depth and what < 0.42:
            self.lines.append(pad + "switch ((u32)%s %% 5) {" % self.expression(1))
            for k in range(4):
                self.nest(pad + "case %d:" % k, depth)
                self.lines.append(pad + "    break;")
            self.lines.append(pad + "default: a ^= 7; }")
        elif what < 0.55:
            self.lines.append(pad + "t[%s & 7] = (u32)%s;" % (self.rng.choice("abcd"), self.expression(3)))
        else:
            self.lines.append(pad + "%s = %s;" % (self.rng.choice("abcd"), self.expression(3)))

    def nest(self, line, depth):
        self.lines.append(line)
        self.depth += 1
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth - 1)
        self.depth -= 1

    def text(self):
        helpers = "".join("static __attribute__((noinline)) u64 g%d(u32 x, u64 y)\n{\n    return %s;\n}\n" % (k, e)
                          for k, e in enumerate(["x < y ? y - x : (u64)x * 7 + y", "(y >> (x & 31)) ^ x",
                                                 "(u64)((s32)x >> 3) + (y & 0xffff)"]))
        for _ in range(self.rng.randrange(4, 10)):
            self.statement(3)
        body = "\n".join(self.lines)
        return (HEAD + helpers + "static u64 f(u64 a, u64 b, u32 c, u32 d)\n{\n"
                "    u32 t[8] = {1, 2, 3, 5, 7, 11, 13, 17};\n" + body +
                "\n    u64 sum = a ^ b ^ c ^ d;\n    for (int i = 0; i < 8; i++) sum = sum * 31 + t[i];\n    return sum;\n}\n" + TAIL)


def host_results(folder, source, inputs):
    program = os.path.join(folder, "host")
    subprocess.run([CLANG, "-w", "-O1", "-ffp-contract=off", "-o", program, source], check=True)
    done = subprocess.run([program], input=inputs, capture_output=True, check=True, timeout=60)
    return struct.unpack("<%dQ" % THREADS, done.stdout)


def device_text(folder, source, way):
    out = os.path.join(folder, "k.ptx")
    subprocess.run([CLANG, "-w", "--target=nvptx64-nvidia-cuda", "-nogpulib", "-x", "cl", "-cl-std=CL2.0",
                    "-ffp-contract=off", "-S", "-Xclang", "-target-cpu", "-Xclang", "sm_70", *way, source, "-o", out],
                   check=True)
    with open(out) as file:
        return file.read()


def check(runner, rng):
    if not CLANG:
        return 0
    text = Source(rng).text()
    values = [[rng.choice([0, 1, rng.getrandbits(64), rng.getrandbits(64) >> rng.randrange(64)]) for _ in range(4)]
              for _ in range(THREADS)]
    inputs = b"".join(struct.pack("<4Q", *v) for v in values)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "k.c")
        with open(source, "w") as file:
            file.write(text)
        wanted = host_results(folder, source, inputs)
        for way in WAYS:
            got = single.run(runner, device_text(folder, source, way), inputs, THREADS, 90)
            if isinstance(got, str) or list(got[0]) != list(wanted):
                print(text)
                print("clang %s:" % " ".join(way), got if isinstance(got, str) else
                      [(k, hex(g), hex(w)) for k, (g, w) in enumerate(zip(got[0], wanted)) if g != w][:3])
                return False
    return len(WAYS) * THREADS

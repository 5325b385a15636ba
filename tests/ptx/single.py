# SPDX-License-Identifier: Apache-2.0
"""Runs rows of instructions.py: a kernel each, a thread for each choice of operands."""

import os
import struct
import subprocess
import tempfile

import instructions
from exact import BF16, F16, F32, F64, NAN

THREADS = 64
ROWS = 160  # a module
WIDTH = {"h": 16, "r": 32, "d": 64, "p": 1}

HEAD = """.version 9.0
.target %s
.address_size 64
"""
KERNEL = """.visible .entry k%d(.param .u64 in, .param .u64 out)
{
  .reg .b16 %%h<6>; .reg .b32 %%r<8>; .reg .b64 %%d<8>; .reg .pred %%p<6>; .reg .u64 %%x<4>; .reg .u32 %%t;
  mov.u32 %%t, %%tid.x;
  ld.param.u64 %%x0, [in]; mad.wide.u32 %%x0, %%t, 32, %%x0;
  ld.param.u64 %%x1, [out]; mad.wide.u32 %%x1, %%t, 8, %%x1;
%s  ret;
}
"""


def boundary(bits):
    top = 1 << (bits - 1)
    return [0, 1, 2, 3, 7, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 0x5555555555555555 % (2 * top),
            0x80, 0x7F, 0xFF, 0x100 % (2 * top), 0x8000 % (2 * top), 0x7FFF % (2 * top), 0xFFFF % (2 * top)]


def floats(form):
    one = form.bias << form.fraction
    out = [0, 1, 2, one, one + 1, one - 1, form.infinity, form.infinity - 1, form.infinity + 1,
           form.infinity | 1 << (form.fraction - 1), 1 << form.fraction, (1 << form.fraction) - 1,
           (form.bias + 1) << form.fraction, one + (1 << (form.fraction - 1)),
           (form.bias + 23) << form.fraction, (form.bias - 1) << form.fraction]
    out = [c % form.sign for c in out]
    return out + [c | form.sign for c in out]


FORMS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def pick(pool, rng):
    if pool == "bit":
        return rng.getrandbits(1)
    if pool == "lane":
        return rng.randrange(32)
    if pool == "near":
        return rng.randrange(-6, 7) & 0xFFFFFFFF
    if pool == "shift":
        return rng.choice([0, 1, 5, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 255, 256, 0xFFFFFFFF, rng.randrange(70)])
    if pool[0] == "i":
        bits = int(pool[1:])
        return rng.choice(boundary(bits)) if rng.random() < 0.5 else rng.getrandbits(bits) >> rng.randrange(bits)
    if pool.endswith("x2"):
        return pick(pool[:-2], rng) << 16 | pick(pool[:-2], rng)
    if pool == "f32small":  # around the range of floats of 8 bits
        e = rng.randrange(F32.bias - 20, F32.bias + 20)
        bits = rng.getrandbits(23) & rng.choice([0x7FFFFF, 0x700000, 0x780000, 0x7C0000])
        return rng.choice(floats(F32)) if rng.random() < 0.2 else rng.getrandbits(1) << 31 | e << 23 | bits
    name = pool.removesuffix("int")
    form = FORMS[name]
    if rng.random() < 0.4:
        return rng.choice(floats(form))
    if pool != name or rng.random() < 0.5:  # of moderate size
        e = form.bias + rng.randrange(-4, min(66, form.bias))
        return rng.getrandbits(1) << (form.bits - 1) | e << form.fraction | rng.getrandbits(form.fraction)
    return rng.getrandbits(form.bits)


def body(text, result, sources):
    lines, names = [], {}
    for k, kind in enumerate(sources):
        name = "abce"[k]
        names[name] = "%%%s%d" % (kind, k)
        if kind == "p":
            lines.append("  ld.global.b32 %%r7, [%%x0+%d]; setp.ne.b32 %%p%d, %%r7, 0;" % (8 * k, k))
        else:
            lines.append("  ld.global.b%d %s, [%%x0+%d];" % (WIDTH[kind], names[name], 8 * k))
    names["d"] = "%%%s5" % result
    lines.append("  " + text.format(**names))
    if result == "p":
        lines.append("  selp.u32 %r7, 1, 0, %p5; st.global.b32 [%x1], %r7;")
    else:
        lines.append("  st.global.b%d [%%x1], %s;" % (WIDTH[result], names["d"]))
    return "".join(line + "\n" for line in lines)


def run(runner, text, inputs, threads, target, bytes_each=32):
    """The results, a tuple for each kernel; or the log of a module that does not load."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("m.ptx", "in")]
        for path, data in zip(paths, (text.encode(), inputs)):
            with open(path, "wb") as file:
                file.write(data)
        done = subprocess.run([runner, *paths, str(threads), str(target), str(bytes_each)], capture_output=True, timeout=120)
    if done.returncode:
        return done.stderr.decode(errors="replace")
    values = struct.unpack("<%dQ" % (len(done.stdout) // 8), done.stdout)
    return [values[k:k + threads] for k in range(0, len(values), threads)]


def agrees(want, got, result, text):
    if callable(want):
        return want(got)
    want = int(want) & ((1 << WIDTH[result]) - 1)
    if want == got:
        return True
    # The payload of an f64 NaN is not specified.
    return ".f64" in text.split(" ")[0] and result == "d" and F64.decode(want) == NAN == F64.decode(got)


def check(runner, rng):
    rows = rng.sample(instructions.TABLE, ROWS)
    operands = [[[pick(pool, rng) for pool in r[4]] for _ in range(THREADS)] for r in rows]
    text = HEAD % "sm_100a" + "".join(KERNEL % (k, body(*r[:3])) for k, r in enumerate(rows))
    inputs = b"".join(struct.pack("<4Q", *(values + [0] * (4 - len(values)))) for one in operands for values in one)
    results = run(runner, text, inputs, THREADS, 100)
    if isinstance(results, str):
        print(results)
        print("\n".join("%d: %s" % item for item in enumerate(text.split("\n"), 1) if "error" in results and
                        "line %d;" % item[0] in results))
        return False
    bad = 0
    for r, values, got in zip(rows, operands, results):
        for one, value in zip(values, got):
            want = r[3](*one)
            if not agrees(want, value, r[1], r[0]):
                shown = want if callable(want) else hex(int(want) & ((1 << WIDTH[r[1]]) - 1))
                print("%s  with %s: got %s, expected %s" % (r[0], " ".join(map(hex, one)), hex(value), shown))
                bad += 1
                break
    return False if bad else len(rows) * THREADS

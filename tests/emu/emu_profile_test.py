#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""emu_profile_test.py PROGRAM TRACESMITH: counts of a kernel whose instructions are known, and the
forms in which other tools get the samples."""
import json
import os
import subprocess
import sys
import tempfile

program, tracesmith = map(os.path.abspath, sys.argv[1:3])
EVERY = 3
folder = tempfile.TemporaryDirectory(prefix="ts-profile-")
os.chdir(folder.name)


def record(case, name, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TS_")}
    env.update(TS_EMU_PROFILE=name, **settings)
    subprocess.run([program, case], env=env, check=True, stdout=subprocess.DEVNULL, timeout=60)


def tool(*arguments):
    return subprocess.run([tracesmith, "profile", *arguments], check=True, stdout=subprocess.PIPE,
                          text=True, timeout=60).stdout


# Case "loop": 3 blocks of 48 threads, so 6 warps, 3 of them half full; 10 turns.
record("loop", "p", TS_EMU_PROFILE_EVERY=str(EVERY))
profile = json.loads(tool("--json", "p"))
assert profile["schema"] == "tsprofile/1" and profile["complete"] is True, profile
lines = {one["text"]: one for one in profile["lines"]}
for text, warps, threads in (("mov.u32 %r1, %tid.x;", 6, 144),
                             ("A: add.u32 %r5, %r5, 1;", 60, 1440),
                             ("@%p1 bra A;", 60, 9 * 144),
                             ("@%p2 add.u32 %r6, %r5, 1;", 6, 3 * 5),
                             ("ret;", 6, 144)):
    got = lines[text]["warps"], lines[text]["threads"]
    assert got == (warps, threads), (text, got)
    assert lines[text]["lanes"] == warps * 24, lines[text]
assert lines["bar.sync 0;"]["waits"] == 3, lines["bar.sync 0;"]
assert lines["bar.sync 0;"]["wait_instructions"] > 3 * 30, lines["bar.sync 0;"]
total = 6 * 8 + 60 * 3 + 6 * 5
assert profile["warps"] == total == profile["functions"][0]["warps"], profile["functions"]
assert profile["samples"] == total // EVERY, profile["samples"]

# The same again gives the same: only times differ.
record("loop", "q", TS_EMU_PROFILE_EVERY=str(EVERY))
assert tool("--json", "q") == tool("--json", "p")
assert tool("--folded=-", "q") == tool("--folded=-", "p")

# A function that a kernel calls: its stack names both, and the host's.
record("bounds_right", "c", TS_EMU_PROFILE_EVERY="1")
folded = tool("--folded=-", "c").splitlines()
inner = [line for line in folded if ";helper:" in line]
assert inner and all(";k:" in line and ";main " in line and "k<<<(1,1,1),(100,1,1)>>>"
                     in line for line in inner), folded
assert all(line.rsplit(" ", 1)[1].isdigit() for line in folded), folded
functions = {f["function"]: f["warps"] for f in json.loads(tool("--json", "c"))["functions"]}
assert functions["helper"] == 4 * 4, functions # 4 warps, 4 instructions

# speedscope: what its schema asks of a file with one sampled profile.
tool("--speedscope=s.json", "c")
with open("s.json", encoding="utf-8") as f:
    scope = json.load(f)
assert scope["$schema"] == "https://www.speedscope.app/file-format-schema.json"
frames = scope["shared"]["frames"]
assert all(isinstance(f["name"], str) and f["name"] for f in frames)
assert all(isinstance(f["line"], int) for f in frames if "file" in f)
sampled, = scope["profiles"]
assert sampled["type"] == "sampled" and sampled["unit"] == "none" and sampled["name"]
assert len(sampled["samples"]) == len(sampled["weights"]) > 0
assert sampled["startValue"] == 0 and sampled["endValue"] == sum(sampled["weights"])
assert all(0 <= i < len(frames) for stack in sampled["samples"] for i in stack)
stacks = [[frames[i]["name"] for i in stack] for stack in sampled["samples"]]
assert all(any(name.startswith("k<<<") for name in stack) for stack in stacks)

# Trace events: every event has what its phase needs; slices of a track nest.
tool("--perfetto=t.json", "c")
with open("t.json", encoding="utf-8") as f:
    events = json.load(f)["traceEvents"]
assert {e["ph"] for e in events} == {"M", "X", "C"}, events
for e in events:
    assert isinstance(e["name"], str) and isinstance(e["pid"], int) and isinstance(e["tid"], int)
    assert e["ph"] == "M" or e["ts"] >= 0
    assert e["ph"] != "X" or e["dur"] >= 0
tracks = {}
for e in events:
    if e["ph"] == "X":
        tracks.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
assert len(tracks) == 2, tracks.keys()
for slices in tracks.values():
    for a in slices:
        for b in slices:
            apart = a[1] <= b[0] + 1e-6 or b[1] <= a[0] + 1e-6
            inside = (a[0] >= b[0] - 1e-6 and a[1] <= b[1] + 1e-6) or \
                     (b[0] >= a[0] - 1e-6 and b[1] <= a[1] + 1e-6)
            assert apart or inside, (a, b)

# The annotated text holds every line of the module.
text = tool("--lines", "p")
assert "              60          1440     75%       0         0     18  A: add.u32 %r5, %r5, 1;"[2:] \
    in text, text

# Cut short, as by SIGKILL: the samples that are there are shown, and it is said.
with open("p", "rb") as f:
    whole = f.read()
with open("cut", "wb") as f:
    f.write(whole[:whole.index(b"\ncount")] + b"\nsam")
cut = json.loads(tool("--json", "cut"))
assert cut["complete"] is False and cut["samples"] == profile["samples"], cut
# Nonsense is refused, not believed.
for bad in (b"", b"hello\n", whole.replace(b"\nsample\t1\t", b"\nsample\t9\t", 1),
            whole.replace(b"\nstack\t1\t0", b"\nstack\t1\t7", 1),
            whole.replace(b"\nmodule\t1\t", b"\nmodule\t1\t9", 1)):
    with open("bad", "wb") as f:
        f.write(bad)
    done = subprocess.run([tracesmith, "profile", "bad"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2 and "bad" in done.stderr and not done.stdout, (bad[:40], done)
os.chdir("/")
folder.cleanup()

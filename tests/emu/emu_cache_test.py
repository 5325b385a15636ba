#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""emu_cache_test.py PROGRAM: what is remembered of PTX is used, never trusted, and never in the way."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

program = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="ts-cache-")
top = pathlib.Path(folder.name)
WHOLE, DISK, MEMORY = "decoded whole", "from disk", "from memory"


def start(*case, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TS_", "XDG_"))}
    env.update(TS_LOG="module/cache:debug", HOME=str(top / "home"))
    env.update(settings)
    return subprocess.Popen([program, *case], env=env, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def end(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (process.args, out, err)
    return out, [how for line in err.splitlines() for how in (WHOLE, DISK, MEMORY) if how in line]


def run(*case, **settings):
    return end(start(*case, **settings))[1]


def names(path):
    return sorted(p.name for p in path.iterdir())


# Used: by the same process, by the next one.
one = top / "a" / "folder"
assert run("twice", "7", TS_EMU_CACHE=str(one)) == [WHOLE, MEMORY]
assert len(names(one)) == 1, names(one)
record = one / names(one)[0]
assert run("twice", "7", TS_EMU_CACHE=str(one)) == [DISK, MEMORY]
assert run("all", TS_EMU_CACHE=str(one)) == [DISK]
assert run("threads", TS_EMU_CACHE=str(one)) == [DISK]

# Another device is another load.
assert run("one", "3", TS_EMU_CACHE=str(one), TS_EMU_CC="9.0") == [WHOLE]
assert len(names(one)) == 2, names(one)

# Damaged in any place: decoded whole, the right results, and remembered anew.
good = record.read_bytes()
damaged = [b"", good[:20], good[:-1], good + b"x", b"\0" * len(good)]
damaged += [good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:]
            for at in (0, 8, 12, 16, 33, 41, 48, 60, len(good) // 2, len(good) - 1)]
for content in damaged:
    record.write_bytes(content)
    assert run("one", "11", TS_EMU_CACHE=str(one)) == [WHOLE], content
    assert record.read_bytes() == good

# Something else where the file would be.
record.unlink()
record.mkdir()
assert run("one", "12", TS_EMU_CACHE=str(one)) == [WHOLE]
record.rmdir()
os.mkfifo(record)
assert run("one", "13", TS_EMU_CACHE=str(one)) == [WHOLE]

# Many at once.
many = top / "many"
crowd = [start("one", str(k), TS_EMU_CACHE=str(many)) for k in range(8)]
assert all(end(p)[1] in ([WHOLE], [DISK]) for p in crowd)
assert len(names(many)) == 1, names(many)

# No folder can be made, or nothing written in it: only the process remembers.
assert run("twice", "2", TS_EMU_CACHE="/proc/no") == [WHOLE, MEMORY]
assert run("twice", "2", TS_EMU_CACHE="/dev/null") == [WHOLE, MEMORY]
if os.geteuid() != 0:
    many.chmod(0o500)
    assert run("one", "2", TS_EMU_CACHE=str(many)) == [DISK]
    many.chmod(0o700)

# Switched off: nothing is remembered anywhere.
home = top / "home"
home.mkdir()
assert run("twice", "4", TS_EMU_CACHE="0") == []
assert names(home) == []

# Where it goes by itself.
assert run("one", "5") == [WHOLE]
assert len(names(home / ".cache" / "tracesmith" / "emu")) == 1
assert run("one", "5", XDG_CACHE_HOME=str(top / "xdg")) == [WHOLE]
assert len(names(top / "xdg" / "tracesmith" / "emu")) == 1
assert run("one", "5", HOME="", XDG_CACHE_HOME="relative") == [WHOLE]
assert not pathlib.Path("relative").exists()

# It does not grow without bound: what was used last stays. What others left is cleared away later.
small = top / "small"
assert run("many", "5", TS_EMU_CACHE=str(small)) == [WHOLE] * 5
limit = len(good) * 3
old = small / ".newABCDEF"
old.write_text("")
os.utime(old, (time.time() - 7200,) * 2)
mine = small / "mine"
mine.write_bytes(b"\0" * 100000)
assert run("one", "1", TS_EMU_CACHE=str(small), TS_EMU_CACHE_SIZE=str(limit)) == [WHOLE]
left = [n for n in names(small) if n != "mine"]
assert sum((small / n).stat().st_size for n in left) <= limit and old.name not in left, left
assert mine.exists()
assert run("one", "1", TS_EMU_CACHE=str(small)) == [DISK]

# What cannot run is refused at load, with its line, however often; and is not remembered.
refused = top / "refused"
texts = {end(start("refused", "31", TS_EMU_CACHE=str(refused)))[0] for _ in range(2)}
assert len(texts) == 1 and "mma.nothing.sync" in texts.pop(), texts
assert not refused.exists() or names(refused) == []

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that read no trace never send a control character of somebody else to a terminal.

usage: controls_test.py TRACESMITH

profile, doctor and ctl get names with escape sequences: in a profile's kernels, functions, lines and stacks; in the
environment, a driver's path and its error; in the path of a process's lanes file and in words of the command line.
Their text, JSON and exports may hold line ends, and no other control character. (hostile.py does it for traces.)
"""

import json
import mmap
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

TOOL = os.path.abspath(sys.argv[1])
EVIL = "\x1b]0;evil\x07\x1b[2J\r\x7f\u009b31m\b\u202e\u2066\u200f\u2028"
ORDER = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
failures = 0


def check(words, statuses=(0,), **settings):
    """Runs the tool; reports a status that is not expected and each control character that came out."""
    global failures
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **settings}
    done = subprocess.run([TOOL, *words], capture_output=True, env=environment, timeout=100, check=False)
    is_json = "--json" in words or any(w.startswith(("--perfetto", "--speedscope")) for w in words)
    for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
        text = data.decode("utf-8", "surrogateescape")
        found = sorted({c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or
                        (c in ORDER and not (is_json and name == "stdout"))})
        if found:
            at = min(text.index(c) for c in found)
            failures += 1
            print(words, name, "control characters", found, repr(text[max(0, at - 60):at + 40]))
    if done.returncode not in statuses:
        failures += 1
        print(words, "status", done.returncode, done.stderr[-300:])
    if is_json and done.stdout:
        json.loads(done.stdout)
    return done


def profile_text():
    """A profile as docs/emu.md describes it, with each text replaced."""
    evil = EVIL.replace("\r", "")
    source = f"// {evil}\n{evil} ret;\n"
    return (f"tsprofile\t1\t1000\nmodule\t1\t{len(source.encode())}\n{source}\n"
            f"launch\t1\t1\tkernel{evil}\t4,1,1\t256,1,1\t2\t4\t100\n"
            f"stack\t1\t0\t1\t2\t{evil}function\n"
            "sample\t1\t1\t0\t0\t32\t200\n"
            f"count\t1\t2\tfunction{evil}\t32\t1024\t1024\t0\t0\n"
            f"done\t1\t1000\nhost\t4\tmain{evil}\t{evil}\nend\n")


def test_profile():
    path = pathlib.Path("evil" + EVIL.replace("/", "") + ".txt")
    path.write_bytes(profile_text().encode())
    for words in ([], ["--lines"], ["--json"], ["--folded=-"], ["--perfetto=-"], ["--speedscope=-"]):
        done = check(["profile", *words, str(path)])
        if b"evil" not in done.stdout:
            print("profile", words, "the profile is not shown", done.stdout)
            sys.exit(1)
    check(["profile", "no" + EVIL], (2,))
    path.write_bytes(profile_text().encode()[:200])
    check(["profile", str(path)], (0, 2))
    path.write_bytes(profile_text().replace("count\t1\t2", f"{EVIL}\t1\t2").encode())
    check(["profile", str(path)], (0, 2))


def test_doctor():
    folder = pathlib.Path("lib" + EVIL.replace(";", "")).absolute()  # the dynamic linker splits there
    folder.mkdir()
    for name in ("libcuda.so.1", "libvulkan.so.1", "libhsa-runtime64.so.1"):
        (folder / name).write_text(EVIL)
    evil = {name: str(folder) for name in ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "VK_ICD_FILENAMES", "VK_DRIVER_FILES",
                                           "XDG_DATA_HOME", "TS_OUTPUT", "TS_NONSENSE", "TS_EMU_HSA_ISA", "TERM")}
    for words in (["doctor"], ["doctor", "--json"]):
        done = check(words, (0, 1), **evil)
        if "--json" not in words and b"evil" not in done.stdout:
            print("doctor: the driver's error is not shown", done.stdout)
            sys.exit(1)


def test_ctl():
    """This process looks recorded: it maps a file that begins like lanes."""
    path = pathlib.Path("trace" + EVIL + ".sbt.lanes")
    path.write_bytes((b"TSLANES\n" + struct.pack("<II", 3, os.getpid())).ljust(4096, b"\0"))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        done = check(["ctl", "status", str(os.getpid())])
        if b"evil" not in done.stdout:
            print("ctl: the trace's name is not shown", done)
            sys.exit(1)
        check(["ctl", "--json", "status", str(os.getpid())])
        check(["ctl", "--wait=1", "checkpoint", str(os.getpid())], (0, 1))
    check(["ctl", "status" + EVIL, "1"], (2,))
    check(["ctl", "status", EVIL], (2,))
    check(["ctl", "--" + EVIL, "status", "1"], (2,))


with tempfile.TemporaryDirectory(prefix="ts-controls-") as top:
    os.chdir(top)
    test_profile()
    test_doctor()
    test_ctl()
sys.exit(1 if failures else 0)

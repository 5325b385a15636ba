#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each chunk of a recorded trace damaged in turn: no tool calls it the same without having said so.

usage: damage_chunks.py [PROGRAM [ARGUMENT]...]

A header's bit flipped, a payload's bit flipped, the chunk removed. Then tsreplay, tsdiff against the whole
trace, and both of what a repair and a trim make of it. "Same" (exit status 0) is right only where all
records are there and the damage was told; of a repaired trace, where all records are there.
Environment: see util.sh.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

WAYS = ["header", "payload", "removed"]
INDEX_TYPES = (13, 14, 15)


def tool(name, *words):
    return subprocess.run([f"{os.environ['TEST_BIN']}/{name}", *words], capture_output=True,
                          text=True, check=False)


def replay(path):
    return tool("tsreplay", "--device", "emu", path)


def records(path):
    """Number of records that can be read, without what a repair adds."""
    lines = tool("tsview", "--json", path).stdout.splitlines()[1:]
    return sum('"call":"lost"' not in line for line in lines)


def chunks(data):
    """(offset, size, type) of each."""
    found, at = [], struct.unpack_from("<I", data, 12)[0]
    while at < len(data):
        size = 96 + struct.unpack_from("<I", data, at + 32)[0]
        found.append((at, size, struct.unpack_from("<H", data, at + 8)[0]))
        at += size
    return found


def damage(data, chunk, way):
    at, size, _ = chunk
    if way == "removed":
        return data[:at] + data[at + size:]
    place = at + 30 if way == "header" else at + 96 + (size - 96) // 2
    return data[:place] + bytes([data[place] ^ 8]) + data[place + 1:]


class Judge:
    def __init__(self, total):
        self.total, self.failures, self.sames = total, 0, 0

    def fail(self, what, chunk, way, done=None):
        print(f"{what}: chunk at {chunk[0]} of type {chunk[2]}, {way}")
        if done:
            print(done.stdout[-500:], done.stderr[-500:])
        self.failures += 1

    def answer(self, what, done, path, chunk, way, must_tell):
        """Of one tool about one damaged trace, or about what was made of it."""
        if done.returncode not in (0, 1, 2):
            self.fail(f"{what} ended with {done.returncode}", chunk, way, done)
        if done.returncode == 1 and what.startswith("tsdiff"):
            self.fail(f"{what} calls different what is only missing", chunk, way, done)
        if done.returncode != 0:
            return
        self.sames += 1
        if records(path) != self.total:
            self.fail(f"{what} says same of less", chunk, way, done)
        if must_tell and all(" on TraceSmith" in line for line in done.stderr.splitlines()):
            self.fail(f"{what} says same and nothing else", chunk, way, done)

    def both(self, name, path, chunk, way, must_tell):
        self.answer(f"tsreplay {name}", replay(path), path, chunk, way, must_tell)
        self.answer(f"tsdiff {name}", tool("tsdiff", "whole.sbt", path), path, chunk, way,
                    must_tell)


def judge_trim(judge, chunk, way):
    """Of the whole range: its end is far behind the trace's."""
    path = pathlib.Path("part.sbt")
    path.unlink(missing_ok=True)
    done = tool("tracesmith", "trim", "--device", "emu", "--range", "0:100000000", "-o", str(path),
                "bad.sbt")
    if done.returncode == 0 and not done.stderr:
        judge.fail("trim says nothing", chunk, way, done)
    if done.returncode == 0:
        judge.both("of a part", str(path), chunk, way, False)
    elif path.exists():
        judge.fail("trim failed and left a trace", chunk, way, done)
    done = tool("tracesmith", "trim", "--lossy", "--device", "emu", "--range", "0:100000000", "-o",
                "lossy.sbt", "bad.sbt")
    if done.returncode == 0:
        judge.both("of a lossy part", "lossy.sbt", chunk, way, False)
        os.unlink("lossy.sbt")


def judge_repair(judge, chunk, way):
    shutil.copy("bad.sbt", "mended.sbt")
    done = tool("tsview", "--repair", "mended.sbt")
    if done.returncode == 0:
        judge.both("after a repair", "mended.sbt", chunk, way, False)


def main():
    words = sys.argv[1:] or ["pipeline", "4"]
    env = {**os.environ, "LD_LIBRARY_PATH": os.environ["TEST_EMU"], "TS_OUTPUT": "whole.sbt",
           "LD_PRELOAD": os.environ["TEST_CAPTURE"], "TS_CHECKSUM": "sync", "TS_STACKS": "all",
           "TS_CHECKPOINT": "12",
           "TS_TEST_PTX": os.environ["TEST_PROGRAMS"] + "/kernels.ptx"}
    with tempfile.TemporaryDirectory(prefix="ts-damage-") as folder:
        os.chdir(folder)
        subprocess.run([f"{os.environ['TEST_PROGRAMS']}/{words[0]}", *words[1:]], env=env,
                       check=True, stdout=subprocess.DEVNULL)
        data = pathlib.Path("whole.sbt").read_bytes()
        if replay("whole.sbt").returncode or tool("tsdiff", "whole.sbt", "whole.sbt").returncode:
            print("the whole trace is not the same as itself")
            return 1
        judge, places = Judge(records("whole.sbt")), chunks(data)
        step = 1 if os.environ.get("TS_TEST_ALL") else 4
        for chunk, way in [(chunk, way) for chunk in places for way in WAYS][::step]:
            pathlib.Path("bad.sbt").write_bytes(damage(data, chunk, way))
            judge.both("", "bad.sbt", chunk, way, True)
            judge_repair(judge, chunk, way)
            if way != "header":
                judge_trim(judge, chunk, way)
        print(json.dumps({"chunks": len(places), "sames": judge.sames,
                          "failures": judge.failures}))
        os.chdir("/")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    if os.environ.get("TEST_SANITIZED"):
        sys.exit(77)
    sys.exit(main())

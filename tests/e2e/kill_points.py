#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random points of a run, with settings that change how it is written.

usage: kill_points.py [COUNT [SEED [SECONDS]]]

Each time: what had returned is in the trace, or the trace counts it as lost or left out; nothing is
there twice; the checker finds nothing; no file but the trace is left. Or nothing was begun, nothing had
returned, and that is said in one line. Environment: see util.sh.
"""

import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ["TEST_PROGRAMS"] + "/many"
SETTINGS = [
    {}, {"TS_LANE_SIZE": "256K"}, {"TS_LEVEL": "9", "TS_THREADS": "4"}, {"TS_THREADS": "0"},
    {"TS_STACKS": "all"}, {"TS_KEEP": "0.02", "TS_LANE_SIZE": "256K"},
    {"TS_FULL": "drop", "TS_LANE_SIZE": "256K"}, {"TS_SAMPLE": "3"}, {"TS_CHECKSUM": "sync"},
]


def tool(name, *words):
    return subprocess.run([f"{os.environ['TEST_BIN']}/{name}", *words], capture_output=True,
                          text=True, check=False)


def run_and_kill(settings, delay):
    """How many launches had returned."""
    env = {**os.environ, **settings, "LD_LIBRARY_PATH": os.environ["TEST_EMU"],
           "LD_PRELOAD": os.environ["TEST_CAPTURE"], "TS_OUTPUT": "t.sbt",
           "TS_TEST_PTX": os.environ["TEST_PROGRAMS"] + "/kernels.ptx"}
    with open("log", "w", encoding="utf-8") as log:
        child = subprocess.Popen([PROGRAM, "100000000", "progress"], env=env, stdout=log, stderr=log)
        time.sleep(delay)
        child.kill()
        child.wait()
    progress = pathlib.Path("progress")
    return int.from_bytes(progress.read_bytes(), "little") if progress.exists() else 0


def check_trace(returned):
    """What is wrong, "" for nothing."""
    shown = tool("tsview", "--json", "t.sbt")
    if shown.returncode != 0:
        return f"tsview: {shown.returncode} {shown.stderr}"
    launches = [line for line in shown.stdout.splitlines() if '"call":"cuLaunchKernel"' in line]
    finished = sum('"unfinished"' not in line for line in launches)
    head = shown.stdout[:shown.stdout.index("\n")]
    lost, filtered = (int(re.search(f'"{name}":([0-9]*)', head)[1]) for name in ("lost", "filtered"))
    if not '"end":"recovered"' in head:
        return f"end: {head}"
    if finished > returned + 1 or len(launches) - finished > 1:
        return f"{len(launches)} launches, {finished} of them finished, but {returned} returned"
    if finished + lost + filtered < returned:
        return f"{returned} returned, {finished} are there, {lost} lost, {filtered} left out"
    checked = tool("tracesmith", "check", "t.sbt")
    return checked.stdout if checked.returncode else ""


def check_nothing(returned, lanes_left):
    if returned:
        return f"no trace, but {returned} launches had returned"
    shown = tool("tsview", "t.sbt")
    if shown.returncode != 2 or shown.stderr.count("\n") != 1:
        return f"tsview: {shown.returncode} {shown.stderr}"
    if lanes_left and "before its first call, nothing was recorded" not in shown.stderr:
        return shown.stderr
    return ""


def one(settings, delay, outcomes):
    for left in pathlib.Path(".").iterdir():
        left.unlink()
    returned = run_and_kill(settings, delay)
    if os.path.exists("t.sbt"):
        outcomes["recovered"] += 1
        outcomes["launches"] += returned
        wrong = check_trace(returned)
    else:
        lanes = os.path.exists("t.sbt.lanes")
        outcomes["killed while beginning" if lanes else "killed before"] += 1
        wrong = check_nothing(returned, lanes)
    left = {path.name for path in pathlib.Path(".").iterdir()} - {"t.sbt", "log", "progress"}
    return wrong or (f"left: {left}" if left else "")


def main():
    if os.environ.get("TEST_SANITIZED"):
        return 77
    count, seed = (int(sys.argv[i]) if len(sys.argv) > i else (24, 1)[i - 1] for i in (1, 2))
    longest = float(sys.argv[3]) if len(sys.argv) > 3 else 0.3
    chance = random.Random(seed)
    outcomes = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="ts-kill.") as folder:
        os.chdir(folder)
        for i in range(count):
            settings = SETTINGS[i % len(SETTINGS)]
            # A third of them while it begins.
            delay = chance.uniform(0, 0.06 if i % 3 == 0 else longest)
            wrong = one(settings, delay, outcomes)
            if wrong:
                print(f"point {i}, {settings}, after {delay:.4f} s: {wrong}")
                os.chdir("/")
                return 1
        os.chdir("/")
    print(f"{count} points: {dict(outcomes)}")
    return 0 if outcomes["recovered"] else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""emu_stacks_test.py PROGRAM: a launch has the stack of the place that sent it, also where one from the
same frames was sent before."""
import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "profile.txt")
    env = {k: v for k, v in os.environ.items() if not k.startswith("TS_")}
    subprocess.run([sys.argv[1]], env=dict(env, TS_EMU_PROFILE=path), check=True, timeout=60)
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]

# launch ID MODULE KERNEL GRID BLOCK STREAM HOST NS; host ID FRAME...
of_launches = [line[7] for line in lines if line[0] == "launch"]
def name(frame):
    """Without its place, and what the compiler added."""
    return frame.split(" ")[0].split("+")[0].split(".")[0]


frames = {line[1]: [name(frame) for frame in line[2:]] for line in lines if line[0] == "host"}
assert len(of_launches) == 12, of_launches
assert of_launches[:4] == of_launches[4:8] == of_launches[8:], of_launches
assert len(set(of_launches)) == 4, of_launches
first, second, shallow, deepest = [frames[host] for host in of_launches[:4]]
assert first[:3] == second[:3] == ["launch", "place", "main"], (first, second)
assert shallow[:6] == ["launch"] + ["deep"] * 4 + ["main"], shallow
assert deepest[:8] == ["launch"] + ["deep"] * 6 + ["main"], deepest

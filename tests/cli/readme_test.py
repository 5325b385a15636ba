#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md shows commands with their output: each is run, and what it says must have the same shape.

usage: readme_test.py BUILD_FOLDER README [--show]

A block ```console holds lines "$ command" with the output below. All commands run in one empty folder, in order, with
the build's tools in PATH and its test programs in $programs. Of both outputs numbers, hexadecimal numbers, times, the
rest of a cut line ("...") and the frames of stacks below the first are one mark each; "[...]" stands for any lines.
Files that the README links to must exist. --show prints what the commands say.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
README = pathlib.Path(sys.argv[2]).absolute()
COMMANDS_MIN = 10


def blocks(text):
    """Yields each command with the output that the README gives."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def shape(text):
    """Returns lines without what changes from run to run."""
    text = re.sub(r"\b0x[0-9a-f]+|\b(?:[0-9a-f]{2} )+[0-9a-f]{2}\b|\b[0-9a-f]{8}\b", "#", text)
    text = re.sub(r"\d+(?:\.\d+)?", "#", text)
    text = re.sub(r"(#/)?\S*/build/\S*", "PATH", text)
    return [re.sub(r" +", " ", line).rstrip() for line in text.splitlines()]


def matches(expected, actual):
    """Compares line by line; "[...]" swallows any number of lines."""
    if not expected or not actual:
        return not actual if not expected else expected == ["[...]"]
    if expected[0] == "[...]":
        return any(matches(expected[1:], actual[k:]) for k in range(len(actual) + 1))
    want, got = expected[0], actual[0]
    same = got.startswith(want[:-3].rstrip()) if want.endswith("...") else want == got
    return same and matches(expected[1:], actual[1:])


def main():
    text = README.read_text(encoding="utf-8")
    environment = {**os.environ, "PATH": f"{BUILD}/tools:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
                   "programs": f"{BUILD}/tests/programs", "TS_TEST_PTX": f"{BUILD}/tests/programs/kernels.ptx"}
    bad = count = 0
    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", text):
        if not (README.parent / link).exists():
            print(f"README.md links to {link}, which is not there")
            bad += 1
    with tempfile.TemporaryDirectory(prefix="ts-readme-") as folder:
        for command, output in blocks(text):
            done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False)
            said = done.stdout.decode("utf-8", "replace")
            count += 1
            if "--show" in sys.argv:
                print(f"$ {command}\n{said}", end="")
            elif not matches(shape(output), shape(said)):
                bad += 1
                print(f"$ {command}\nREADME.md has\n{output}\nbut it says\n{said}")
    if count < COMMANDS_MIN:
        print(f"README.md shows {count} commands, not {COMMANDS_MIN}")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small rules that a reader notices: licence lines, file names, no machine's paths, sizes."""

import pathlib
import re
import subprocess
import sys

CODE = {".c", ".h", ".S", ".py", ".sh"}
FOREIGN = re.compile(r"(^|[^a-z])/(work|home|root|Users)/")
LINES_MAX = 800
# Where the folder says it, the name does not: api/cuda/replay/stream.c, not cuda_replay_stream.c.
NAMED_BY_FOLDER = {"api", "emu", "tools", "analysis", "capture"}


def tracked(top: pathlib.Path) -> list:
    git = subprocess.run(["git", "-C", str(top), "ls-files", "-z"], capture_output=True, text=True)
    if git.returncode == 0 and git.stdout:
        return [top / name for name in git.stdout.split("\0") if name]
    return [p for p in top.rglob("*") if p.is_file() and "build" not in p.relative_to(top).parts[0]
            and ".git" not in p.parts]


def main(root: str) -> int:
    top = pathlib.Path(root)
    bad = []
    for file in tracked(top):
        path = file.relative_to(top)
        if not file.is_file():
            continue
        if path.suffix in {".c", ".h"} and path.parts[0] in NAMED_BY_FOLDER:
            bad += [f"{path}: the name begins with a folder that it lies in" for folder in path.parts[:-1]
                    if path.stem.startswith(folder + "_")]
        if path.suffix not in CODE:
            continue
        text = file.read_text(errors="replace")
        lines = text.splitlines()
        if not any("SPDX-License-Identifier" in line for line in lines[:3]):
            bad.append(f"{path}: no SPDX-License-Identifier in its first three lines")
        if len(lines) > LINES_MAX:
            bad.append(f"{path}: {len(lines)} lines, more than {LINES_MAX}")
        for number, line in enumerate(lines, 1):
            if FOREIGN.search(line) and path.name != "tidy.py":
                bad.append(f"{path}:{number}: a path of somebody's machine")
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

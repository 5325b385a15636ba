#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file is created but by base/file.c and base/output_file.c: for its owner alone, never through a link.

usage: outputs.py SOURCE_ROOT

A line may be an exception where a comment on it or in the two lines above says "output:" and why.
"""

import pathlib
import re
import sys

FOLDERS = ["base", "format", "capture", "interpose", "api", "replay", "analysis", "emu", "tools", "kernel"]
OWN = {"base/file.c", "base/output_file.c"}
CREATES = re.compile(
    r"""\bf(?:re)?open(?:64)?\s*\([^;]*?,\s*"[wa][^"]*"|\bfopen\s*\([^;"]*,\s*[a-z_]+\s*\)
      |\bcreat\s*\(|\bO_CREAT\b|\bO_TMPFILE\b|\bmko?s?temps?\s*\(|\btmpfile\s*\(|\bmknod\s*\(|\bmkfifo\s*\(""",
    re.VERBOSE,
)


def main(root: str) -> int:
    bad = 0
    for folder in FOLDERS:
        for path in sorted((pathlib.Path(root) / folder).rglob("*.[ch]")):
            name = str(path.relative_to(root))
            if name in OWN or "/tests/" in name:
                continue
            text = path.read_text()
            lines = text.split("\n")
            for found in CREATES.finditer(text):
                line = text.count("\n", 0, found.start()) + 1
                if any("output:" in near for near in lines[max(0, line - 3) : line]):
                    continue
                print(f"{name}:{line}: {found.group(0)!r}: use base/file.h or base/output_file.h")
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

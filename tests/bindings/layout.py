#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares structs and functions that a binding declares with the C headers.

usage: layout.py INCLUDE_FOLDER COMPILER... <DECLARED

Lines of DECLARED: "struct NAME MEMBER OFFSET SIZE", "struct NAME - 0 SIZE" of the whole, "function NAME ARGUMENTS", the
number of them.
"""

import pathlib
import re
import subprocess
import sys


def arguments_of(headers: str) -> dict:
    """Returns the number of arguments of each function."""
    text = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    found = {}
    for match in re.finditer(r"^[a-z][\w \*]*?\b((?:tsm|sbt)_\w+)\((?!\*)", text, re.M):
        depth, count, at = 1, 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            count += text[at] == "," and depth == 1
            at += 1
        found[match.group(1)] = 0 if text[match.end(): at - 1].strip() == "void" else count
    return found


def main() -> int:
    include = pathlib.Path(sys.argv[1])
    lines = [line.split() for line in sys.stdin.read().splitlines() if line.startswith(("struct ", "function "))]
    known = arguments_of("\n".join(header.read_text() for header in include.glob("tracesmith/*.h")))
    bad = [f"{words[1]}: {words[2]} arguments, not {known.get(words[1])}" for words in lines
           if words[0] == "function" and known.get(words[1]) != int(words[2])]
    code = ["#include <tracesmith/tracesmith.h>"]
    for _, name, member, offset, size in (words for words in lines if words[0] == "struct"):
        if member == "-":
            code.append(f'_Static_assert(sizeof(struct {name}) == {size}, "size of {name}");')
            continue
        code.append(f'_Static_assert(offsetof(struct {name}, {member}) == {offset}, "place of {name}.{member}");')
        code.append(f'_Static_assert(sizeof(((struct {name} *)0)->{member}) == {size}, "size of {name}.{member}");')
    done = subprocess.run([*sys.argv[2:], "-std=gnu11", "-fsyntax-only", "-I", include, "-x", "c", "-"], text=True,
                          input="\n".join(code) + "\n", stderr=subprocess.PIPE)
    print("\n".join(bad) + done.stderr)
    # Nothing declared, nothing compared.
    return 1 if bad or done.returncode or len(code) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())

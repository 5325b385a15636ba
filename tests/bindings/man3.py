#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of section 3: each exported function is on one, with what its header says, and groff has no complaint.

usage: man3.py SOURCE_ROOT
"""

import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(sys.argv[1])
HEADERS = sorted((TOP / "include/tracesmith").glob("*.h"))
MAN3 = [sys.executable, str(TOP / "include/man3.py")]


def output(*command, **options) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def main() -> int:
    bad = []
    exported = set(re.findall(r"^    (\w+);$", (TOP / "include/tracesmith.map").read_text(), re.M))
    listed = dict(line.split() for line in output(*MAN3, "--list", *map(str, HEADERS)).splitlines())
    bad += [f"{name}: exported, and on no page" for name in sorted(exported - set(listed))]
    bad += [f"{name}: on a page, and not exported" for name in sorted(set(listed) - exported)]
    for header in HEADERS:
        page = output(*MAN3, str(header))
        title = "tracesmith" if header.stem == "tracesmith" else f"tracesmith_{header.stem}"
        bad += [f"{title}: nothing about {name}" for name, where in listed.items() if where == title and f"{name}(" not in page]
        # Every comment's first words have to be there.
        for comment in re.findall(r"^/\* (?!SPDX|----)(\w+ \w+ \w+)", header.read_text(), re.M):
            if comment not in page.replace("\n", " "):
                bad.append(f"{title}: lacks '{comment}'")
        if shutil.which("groff"):
            groff = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z"], input=page, capture_output=True, text=True)
            bad += [f"{title}: {groff.stderr}"] if groff.stderr else []
    print("\n".join(bad))
    return 1 if bad or not exported else 0


if __name__ == "__main__":
    sys.exit(main())

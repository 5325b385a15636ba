#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libts_capture.so shows to the program it is loaded into.

usage: symbols.py LIBRARY EXPECTED

EXPECTED lists the exported names, one a line. Besides, only functions of which libc has versions that differ
may have versions, the library must not need libunwind, libzstd or libxxhash, and it must run with glibc 2.31.
"""

import re
import subprocess
import sys

NEEDED_ALLOWED = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "ld-linux-x86-64.so.2"}
GLIBC_MAX = (2, 31)
VERSIONED = {f"{name}{version}" for name in ("posix_spawn", "posix_spawnp")
             for version in ("@GLIBC_2.2.5", "@@GLIBC_2.15")}
SANITIZER = re.compile(r"lib(asan|ubsan|tsan)\.so")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(library: str, expected_file: str) -> int:
    bad = []
    dynamic = output("readelf", "-dW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    sanitized = any(SANITIZER.match(name) for name in needed)
    for name in needed:
        if name not in NEEDED_ALLOWED and not SANITIZER.match(name) and name != "libgcc_s.so.1":
            bad.append(f"needs {name}")
    rows = [line.split() for line in output("nm", "-D", library).splitlines()]
    versioned = {row[2] for row in rows if len(row) == 3 and row[1] == "T" and "@" in row[2]}
    bad += [f"has another version: {name}" for name in sorted(versioned ^ VERSIONED)]

    exported = {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] not in "UwvA"}
    expected = set(open(expected_file).read().split())
    bad += [f"exports {name}" for name in sorted(exported - expected)]
    bad += [f"does not export {name}" for name in sorted(expected - exported)]

    for version in set(re.findall(r"@+GLIBC_([0-9.]+)", output("nm", "-D", library))):
        if tuple(map(int, version.split(".")[:2])) > GLIBC_MAX and not sanitized:
            users = [row[-1] for row in rows if row[-1].endswith("GLIBC_" + version)]
            bad.append(f"needs glibc {version}: {', '.join(users)}")
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libtracesmith.so exports what its headers declare, and nothing else.

    libtracesmith_test.py LIBRARY INCLUDE_FOLDER
"""

import re
import subprocess
import sys

HEADERS = ("analysis.h", "columns.h", "error.h", "reader.h", "replay.h", "symbols.h", "trace.h", "writer.h")


def declared(folder):
    names = set()
    for header in HEADERS:
        with open("%s/tracesmith/%s" % (folder, header), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/|#define[^\n]*", "", file.read(), flags=re.S)
        names |= set(re.findall(r"\b((?:sbt|tsm)_\w+)\s*\(", text))
    return names


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, check=True,
                           text=True).stdout.splitlines()
    names = {line.split()[-1].split("@")[0] for line in lines}
    return {name for name in names if not name.startswith("TRACESMITH_")}


wanted, got = declared(sys.argv[2]), exported(sys.argv[1])
print("missing:", sorted(wanted - got), "too many:", sorted(got - wanted))
sys.exit(wanted != got or len(wanted) < 40)

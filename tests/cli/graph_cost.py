# SPDX-License-Identifier: Apache-2.0
"""Processor time of `tracesmith graph`, as a multiple of that of tsview. usage: graph_cost.py TRACESMITH MAKE_LARGE"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

TOOL, MAKE = sys.argv[1:]
# kind of trace -> the most that it may take: less than it once took, and more than on a busy machine
LIMITS = {'packets': 2.3, 'looks': 5.5}
RECORDS, TRIES = 400000, 4


def seconds(command, trace):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    best = float('inf')
    for _ in range(TRIES):
        before = used()
        subprocess.run([TOOL, command, trace], stdout=subprocess.DEVNULL, check=True)
        best = min(best, used() - before)
    return best


with tempfile.TemporaryDirectory() as folder:
    found = {}
    for kind in LIMITS:
        trace = pathlib.Path(folder) / f'{kind}.sbt'
        subprocess.run([MAKE, kind, str(RECORDS), trace], check=True)
        found[kind] = seconds('graph', trace) / seconds('view', trace)
    print(', '.join(f'{kind}: {times:.1f} times' for kind, times in found.items()), os.getloadavg())
    sys.exit(any(times > LIMITS[kind] for kind, times in found.items()))

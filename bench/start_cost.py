#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a preloaded library costs a program that makes no GPU call: CPU time (user and system) of /bin/true.

usage: start_cost.py LIBRARY [COUNT]

The baseline is an empty library, made with cc and preloaded in turn with LIBRARY in the same run. COUNT starts of
each (1000), in ten rounds; the figure is the median of the rounds' differences.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile


def start(library: str, count: int) -> float:
    """Milliseconds of CPU time for each start."""
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": library}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(count):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000 / count


def main(library: str, count: int = 1000) -> int:
    with tempfile.TemporaryDirectory() as folder:
        source, empty = pathlib.Path(folder, "empty.c"), pathlib.Path(folder, "empty.so")
        source.write_text("")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", empty, source], check=True)
        rounds = [(start(str(empty), count // 10), start(os.path.abspath(library), count // 10)) for _ in range(10)]
    more = statistics.median(with_us - without for without, with_us in rounds)
    print(f"empty {statistics.median(r[0] for r in rounds):.3f} ms, "
          f"{os.path.basename(library)} {statistics.median(r[1] for r in rounds):.3f} ms, {more:.3f} ms more")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:3])))

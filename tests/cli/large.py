#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command, of small files that hold very many of one thing: it needs processor time in proportion to them.

usage: large.py BUILD_FOLDER COUNT SECONDS [KIND...]

Without KIND all that make_large has; those of its core records come with fewer, since they take more bytes each.
TS_TEST_SHOW=N prints what takes N seconds.

SECONDS is the processor time that one command may take: many times what it needs, and a small part of what it
would need with a search through all of something for each of something. The limit is of processor time, so that what
else the machine does is of no matter.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

FOLDER, COUNT, SECONDS = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
TOOL = os.path.join(FOLDER, "tools", "tracesmith")
MAKE = os.path.join(FOLDER, "tests", "cli", "make_large")
SHOW = float(os.environ.get("TS_TEST_SHOW", "inf"))  # seconds from which a command is printed
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": os.path.join(FOLDER, "emu")}
failures = 0


def commands():
    for how in ([], ["--stacks"], ["--tree"], ["--kernel"], ["--json"]):
        yield ["view", *how, "large.sbt"]
    for name in ("info", "check", "coverage", "shaders", "merge"):
        yield [name, "large.sbt"]
        yield [name, "--json", "large.sbt"]
    yield ["info", "--calls", "large.sbt"]
    yield ["clocks", "large.sbt"]
    yield ["graph", "large.sbt"]
    yield ["graph", "--why=5", "large.sbt"]
    yield ["critical", "--slack", "large.sbt"]
    yield ["view", "--states", "--json", "large.sbt"]
    yield ["stats", "large.sbt"]
    yield ["stats", "--section=sites", "--csv", "large.sbt"]
    for how in ("folded", "speedscope", "pprof", "perfetto", "chrome", "csv"):
        yield ["export", how, "large.sbt"]
    yield ["export", "sqlite", "--force", "-o", "part.sqlite", "large.sbt"]
    yield ["stats", "--json", "--by=grid,stream,thread,label,site", "large.sbt"]
    yield ["ioctls", "--trace", "large.sbt"]
    yield ["ioctls", "--trace", "-c", "large.sbt"]
    yield ["merge", "--perfetto=perfetto.json", "large.sbt"]
    yield ["merge", "--list", "large.sbt"]
    yield ["merge", "--above=0", "large.sbt"]
    yield ["grtrace", "report", "large.sbt"]
    yield ["diff", "large.sbt", "large.sbt"]
    yield ["replay", "--device=emu", "--timeout=5", "--lossy", "--dry-run", "large.sbt"]
    for how in (["--range=0:1000000000"], ["--range=9:", "--whole"]):
        yield ["trim", "--device=emu", "--timeout=5", "--lossy", "--keep-going", *how, "-o", "part.sbt", "large.sbt"]
    for what in ([], ["--remove=all"], ["--remove=user"]):
        yield ["redact", "--lossy", *what, "-o", "part.sbt", "large.sbt"]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))


def ask(kind, words):
    global failures
    pathlib.Path("part.sbt").unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([TOOL, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT,
                          preexec_fn=limit, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    bad = done.returncode not in range(4)
    failures += bad
    if bad or took > SHOW:
        print(f"{kind}: {' '.join(words)}: status {done.returncode}, {took:.1f} s",
              done.stderr[-200:].decode("utf-8", "replace"), flush=True)


kinds = sys.argv[4:] or subprocess.run([MAKE, "--list"], capture_output=True, text=True, check=True).stdout.split()
NAMED = len(sys.argv) > 4
ALL = os.environ.get("TS_TEST_ALL")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for one in kinds if ALL or NAMED else kinds[::2]:
        pathlib.Path("large.sbt").unlink(missing_ok=True)
        count = COUNT // 8 if one.startswith("core-") else COUNT
        subprocess.run([MAKE, one, str(count), "large.sbt"], check=True)
        for number, line in enumerate(commands()):
            if ALL or (number + kinds.index(one)) % (2 if NAMED else 4) == 0:  # of each kind other ones
                ask(one, line)
sys.exit(bool(failures))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces that must read the same for ever, and broken ones that must fail with their words.

    golden_test.py PRINT_TRACE [--update]

Good traces (*.sbt): both decoders print the checked-in *.json, and no rule is broken. Broken ones
(bad/*.sbt): what opening, checking and reading say is the checked-in *.txt. Then fresh traces from
the library's writer: both decoders print the same. --update writes the expectations.
"""

import difflib
import glob
import os
import subprocess
import sys
import tempfile

import make_traces

HERE = os.path.dirname(os.path.abspath(__file__))
DECODER = os.path.join(HERE, "..", "decoder", "sbt.py")
PRINT = sys.argv[1]
UPDATE = "--update" in sys.argv
failures = 0


def fail(name, what):
    global failures
    failures += 1
    print("%s: %s" % (name, what))


def run(*command):
    done = subprocess.run(command, capture_output=True)
    if done.returncode < 0:
        fail(command[-1], "%s died of signal %d" % (command[0], -done.returncode))
    return done.stdout.decode("utf-8", "replace")


def compare(name, what, got, wanted):
    if got == wanted:
        return
    lines = difflib.unified_diff(wanted.splitlines(), got.splitlines(), "wanted", what, lineterm="",
                                 n=0)
    fail(name, what + " differs\n" + "\n".join(line[:300] for line in list(lines)[:12]))


def expect(path, got):
    if UPDATE:
        with open(path, "w", encoding="utf-8") as file:
            file.write(got)
    if not os.path.exists(path):
        fail(path, "there is no expectation; see --update")
        return
    with open(path, encoding="utf-8", newline="") as file:
        compare(os.path.relpath(path, HERE), "print_trace", got, file.read())


def test_good(path):
    got = run(PRINT, "json", path)
    expect(path[:-4] + ".json", got)
    compare(path, "sbt.py", run(sys.executable, DECODER, path), got)
    compare(path, "check", run(PRINT, "check", path), "")


def test_bad(path):
    """At least one of the three has to say something."""
    parts = ["%s:\n%s" % (what, run(PRINT, what, path)) for what in ("check", "damage")]
    if "".join(parts) == "check:\ndamage:\n":
        fail(path, "is broken, and nothing says so")
    expect(path[:-4] + ".txt", "".join(parts))


def test_fresh(folder, count, chunk_size):
    path = os.path.join(folder, "fresh-%d-%d.sbt" % (count, chunk_size))
    run(PRINT, "sample", path, str(count), str(chunk_size))
    json = run(PRINT, "json", path)
    if json.count("\n") != count + 1:
        fail(path, "%d lines for %d records" % (json.count("\n"), count))
    compare(path, "sbt.py", run(sys.executable, DECODER, path), json)


def test_mutated(folder, name, data):
    """The records are all there, whatever the index says: both decoders print them."""
    path = os.path.join(folder, name + ".sbt")
    with open(path, "wb") as file:
        file.write(data)
    compare(name, "sbt.py", run(sys.executable, DECODER, path), run(PRINT, "json", path))
    check, damage = run(PRINT, "check", path), run(PRINT, "damage", path)
    if not check or (not damage and not name.startswith("trailer_")):
        fail(name, "check says '%s', the reader '%s'" % (check, damage))


def main():
    good = sorted(glob.glob(os.path.join(HERE, "*.sbt")))
    bad = sorted(glob.glob(os.path.join(HERE, "bad", "*.sbt")))
    if len(good) < 5 or len(bad) < 30:
        fail(HERE, "traces are missing: %d good, %d bad" % (len(good), len(bad)))
    for path in good:
        test_good(path)
    for path in bad:
        test_bad(path)
    with tempfile.TemporaryDirectory() as folder:
        for count, chunk_size in ((0, 0), (1, 0), (200, 700), (3000, 0)):
            test_fresh(folder, count, chunk_size)
        for name, data in make_traces.mutated_indexes():
            test_mutated(folder, name, data)
    sys.exit(1 if failures else 0)


main()

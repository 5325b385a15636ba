#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run one test of the command line: run.py [--write] BUILD_FOLDER TEST.sh

A test is a shell script, run by `sh -e` in an empty folder, with the built programs first in PATH
and $TESTS naming this folder. Beside it may lie
  TEST.stdout.exact  TEST.stdout.glob    what it must print: as it is, or each line a pattern in
  TEST.stderr.exact  TEST.stderr.glob    which * and ? stand for anything; absent: nothing at all
  TEST.stdout.ignore TEST.stderr.ignore  empty files: anything goes
  TEST.exit                              its exit status, if not 0
In a pattern a line "..." stands for any number of lines. --write makes .exact and .exit anew.
Exit status: 0 passed, 1 failed, 77 skipped (the script exited with 77).
"""
import difflib
import fnmatch
import os
import subprocess
import sys
import tempfile


def read(path):
    with open(path, encoding="utf-8", errors="backslashreplace") as f:
        return f.read()


def match_lines(lines, patterns):
    """True when `lines` match `patterns`, where "..." is any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(match_lines(lines[i:], patterns[1:]) for i in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], patterns[0].replace("[", "[[]")) \
        and match_lines(lines[1:], patterns[1:])


def difference(name, expected, actual):
    return "\n".join(difflib.unified_diff(expected.splitlines(), actual.splitlines(),
                                          "expected " + name, "actual " + name, lineterm=""))


def compare(stem, name, actual):
    """"" when `actual` is as expected, else what differs."""
    base = f"{stem}.{name}"
    if os.path.exists(base + ".ignore"):
        return ""
    if os.path.exists(base + ".glob"):
        expected = read(base + ".glob")
        good = match_lines(actual.splitlines(), expected.splitlines())
        return "" if good else difference(name, expected, actual)
    expected = read(base + ".exact") if os.path.exists(base + ".exact") else ""
    return "" if actual == expected else difference(name, expected, actual)


def environment(build):
    keep = {k: v for k, v in os.environ.items()
            if not k.startswith("TS_") and k not in ("NO_COLOR", "LD_PRELOAD", "LD_LIBRARY_PATH")}
    programs = [os.path.join(build, "tools"), os.path.join(build, "tests", "cli")]
    keep.update(PATH=":".join(programs + [keep.get("PATH", "/usr/bin:/bin")]), LC_ALL="C.UTF-8",
                TZ="UTC", TERM="dumb", BUILD=build,
                TESTS=os.path.dirname(os.path.abspath(__file__)))
    return keep


def write(stem, name, actual):
    base = f"{stem}.{name}"
    if os.path.exists(base + ".ignore") or os.path.exists(base + ".glob"):
        return
    if actual:
        with open(base + ".exact", "w", encoding="utf-8") as f:
            f.write(actual)
    elif os.path.exists(base + ".exact"):
        os.remove(base + ".exact")


def write_all(stem, stdout, stderr, status):
    write(stem, "stdout", stdout)
    write(stem, "stderr", stderr)
    if status != 0:
        with open(stem + ".exit", "w", encoding="utf-8") as f:
            f.write(f"{status}\n")
    elif os.path.exists(stem + ".exit"):
        os.remove(stem + ".exit")


def main():
    arguments = sys.argv[1:]
    wants_write = arguments[0] == "--write"
    build, script = map(os.path.abspath, arguments[1:] if wants_write else arguments)
    stem = script.removesuffix(".sh")
    with tempfile.TemporaryDirectory(prefix="ts-cli-") as folder:
        done = subprocess.run(["sh", "-e", script], cwd=folder, env=environment(build),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                              check=False)
    stdout = done.stdout.decode("utf-8", "backslashreplace")
    stderr = done.stderr.decode("utf-8", "backslashreplace")
    if done.returncode == 77:
        return 77
    if wants_write:
        write_all(stem, stdout, stderr, done.returncode)
        return 0
    expected = int(read(stem + ".exit")) if os.path.exists(stem + ".exit") else 0
    wrong = [compare(stem, "stdout", stdout), compare(stem, "stderr", stderr)]
    if done.returncode != expected:
        wrong.append(f"exit status {done.returncode}, expected {expected}")
    wrong = [w for w in wrong if w]
    if wrong:
        print("\n".join(wrong))
        print(f"run again: {os.path.abspath(__file__)} {build} {script}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

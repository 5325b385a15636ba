#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of each command, with and without --json: json_errors_test.py PROGRAM DOCS

Every command of `tracesmith help --list` x what can be wrong with its arguments. An error is one line
on stderr; with --json it is also an object of schema "tserror/1" on stdout, unless the command's own
object names the error. DOCS is docs/tools.md: its table has each schema that --help names, and
each that a command printed here.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
DOCUMENTED = set(re.findall(r"^\| `([\w-]+/\d+)` \|", pathlib.Path(sys.argv[2]).read_text("utf-8"), re.M))
NO_JSON = {"record", "emu", "completion"}  # stdout is the program's, or a script for a shell
# What a command needs to come as far as its first trace; the trace's name follows.
BEFORE = {"trim": ["--range=0:1", "-o", "part.sbt"], "redact": ["-o", "part.sbt"], "export": ["-o", "part.folded", "folded"], "diff": ["other.sbt"],
          "grtrace": ["report"], "ctl": ["status"], "ioctls": ["--trace"]}
failures = []


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(map(str, what)))


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def cases(name):
    yield ["--no-such-option"]
    for trace in ("missing.sbt", "text", "folder", "unbegun.sbt"):
        yield [*BEFORE.get(name, []), trace]
    yield ["one", "two", "three", "four"]
    if name == "grtrace":
        yield ["nvidia", "report", "missing.sbt"]
        yield ["nonsense"]
    if name == "merge":
        yield []
    if name == "view":
        yield ["--tree", "missing.sbt"]
        yield ["--repair", "missing.sbt"]
    if name == "coverage":
        yield ["--api=nonsense"]


def make_unbegun():
    """A recorder was killed while it set up its buffers; reading that once removes it."""
    lanes = pathlib.Path("unbegun.sbt.lanes")
    lanes.unlink(missing_ok=True)
    lanes.touch(mode=0o600)


def check_object(what, done):
    lines = done.stdout.splitlines()
    expect(lines, what, "no object on stdout")
    for line in lines:
        value = json.loads(line)
        schema = value.get("schema")
        expect(schema in DOCUMENTED, what, schema, "is not in docs/tools.md")
        if schema == "tserror/1":
            expect(len(lines) == 1, what, "more than the error's object")
            expect(value["status"] == done.returncode, what, "status", value["status"], "is", done.returncode)
            expect(value["error"] and value["error"].splitlines()[0] in done.stderr, what, "another error:", value)
            expect(value["command"] == what.split()[0], what, value["command"])


def check_command(name):
    help_text = run(name, "--help").stdout
    schemas = re.findall(r'"([a-z][\w-]*/\d+)"', " ".join(help_text.split()))
    has_json = "--json" in help_text
    expect(has_json == (name not in NO_JSON), name, "--json")
    expect(not has_json or schemas, name, "--help names no schema")
    for schema in schemas:
        expect(schema in DOCUMENTED, name, schema, "is not in docs/tools.md")
    for words in cases(name) if has_json else ():
        for option in ([], ["--json"]):
            what = " ".join([name, *option, *words])
            make_unbegun()
            done = run(name, *option, *words)
            if done.returncode == 0:
                continue
            lines = done.stderr.splitlines()
            expect(len(lines) == len(set(lines)), what, "an error twice:", lines)
            expect(len(lines) == (len(words) if name == "check" else 1), what, "is not one line for each error:", lines)
            if option:
                check_object(what, done)


def main():
    names = [line.split()[0] for line in run("help", "--list").stdout.splitlines()]
    listed = json.loads(run("help", "--list", "--json").stdout or "{}")
    expect([c["name"] for c in listed.get("commands", [])] == names, "help --list --json:", listed)
    with tempfile.TemporaryDirectory(prefix="ts-json-") as folder:
        os.chdir(folder)
        pathlib.Path("folder").mkdir()
        for text in ("text", "other.sbt"):
            pathlib.Path(text).write_text("no trace\n", "utf-8")
        for name in names:
            check_command(name)
        os.chdir("/")
    done = run("vew", "--json", "t.sbt")
    check_object("vew", done)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

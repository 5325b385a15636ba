#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an output may replace, by one rule for all commands: outputs_test.py BUILD

Each command that writes a file that the user names x each thing that may have this name already x --force.
What is refused leaves everything as it was, and is refused before any work; what is written is whole, the
user's alone (0600), and leaves no other file behind.
"""
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
TOOLS = BUILD / "tools"
failures = []

# name -> arguments before and after the output's name; whether the output is a trace
COMMANDS = {
    "trim": (["tracesmith", "trim", "--range=0:14", "--output"], ["in.sbt"], True),
    "redact": (["tracesmith", "redact", "--output"], ["in.sbt"], True),
    "merge": (["tracesmith", "merge", "--output"], ["in.sbt"], True),
    "perfetto": (["tracesmith", "merge", "--perfetto"], ["in.sbt"], False),
    "record": (["tsrecord", "--emu", "--output"], ["--", str(BUILD / "tests/programs/saxpy")], True),
}

# what has the name -> (where a trace is written, where anything else is), each "yes", "force" or "no"
TARGETS = {
    "absent": ("yes", "yes"),
    "trace": ("yes", "force"),
    "empty": ("yes", "force"),  # may become a trace
    "text": ("force", "yes"),
    "input": ("force", "force"),
    "link": ("no", "no"),
    "folder": ("no", "no"),
    "folder/": ("no", "no"),
    "missing/file": ("no", "no"),
    "text/file": ("no", "no"),
}


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(*words, environment=None):
    path = {"PATH": f"{TOOLS}:{os.environ['PATH']}", "TS_TEST_PTX": str(BUILD / "tests/programs/kernels.ptx")}
    return subprocess.run(words, capture_output=True, text=True, env={**os.environ, **path, **(environment or {})})


def prepare(target, trace):
    """The folder has in.sbt and what the target's name says; returns the output's name."""
    pathlib.Path("in.sbt").write_bytes(trace)
    pathlib.Path("text").write_text("somebody's notes\n")
    pathlib.Path("folder").mkdir()
    pathlib.Path("trace").write_bytes(trace)
    pathlib.Path("empty").touch()
    pathlib.Path("link").symlink_to("text")
    return "in.sbt" if target == "input" else target


def content():
    return {str(p): p.read_bytes() for p in sorted(pathlib.Path(".").iterdir()) if p.is_file() and not p.is_symlink()}


def try_one(command, target, force, trace):
    before_output, behind, is_trace = COMMANDS[command]
    output = prepare(target, trace)
    rule = TARGETS[target][0 if is_trace else 1]
    if command == "record" and target == "input":
        rule = "yes"  # it reads no trace: another one is replaced
    is_allowed = rule == "yes" or (rule == "force" and force)
    name = f"{command} {target}{' --force' if force else ''}"
    before = content()
    done = run(*before_output, output, *(["--force"] if force else []), *behind)
    after = content()
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    if not is_allowed:
        expect(done.returncode == (125 if command == "record" else 2), f"{name}: status {done.returncode}, {done.stderr}")
        expect(output in done.stderr and done.stderr.count("\n") == 1, f"{name}: says {done.stderr!r}")
        expect(not changed, f"{name}: was refused, and changed {changed}")
        expect("saxpy ok" not in done.stdout, f"{name}: the program ran")
        return
    expect(done.returncode == 0, f"{name}: status {done.returncode}, {done.stderr}")
    expect(changed <= {output}, f"{name}: changed {changed}")
    if not os.path.exists(output):
        return failures.append(f"{name}: wrote nothing")
    expect(stat.S_IMODE(os.stat(output).st_mode) == 0o600, f"{name}: has mode {os.stat(output).st_mode:o}")
    if is_trace:
        expect(run("tracesmith", "check", output).returncode == 0, f"{name}: is no whole trace")


def main():
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        made = run("tsrecord", "--emu", "-o", "in.sbt", "--", str(BUILD / "tests/programs/saxpy"))
        trace = pathlib.Path("in.sbt").read_bytes() if made.returncode == 0 else sys.exit(made.stderr)
        for command, row in COMMANDS.items():
            for target in TARGETS:
                for force in (False, True):
                    with tempfile.TemporaryDirectory() as folder:
                        os.chdir(folder)
                        try_one(command, target, force, trace)
                        os.chdir(top)
            if row[2]:
                refused = run(*row[0], "-", *row[1])
                expect(refused.returncode in (2, 125) and "standard output" in refused.stderr,
                       f"{command} -: status {refused.returncode}, {refused.stderr}")
        os.chdir("/")
    print("\n".join(failures) or f"{len(COMMANDS) * len(TARGETS) * 2} cases")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

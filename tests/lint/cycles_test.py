#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cycles.py fails for files that call each other in a circle that is too large, and for nothing else.

usage: cycles_test.py COMPILER..."""

import json
import pathlib
import subprocess
import sys
import tempfile

LINT = pathlib.Path(__file__).with_name("cycles.py")


def ring(count: int) -> dict:
    """Returns files each of which calls the next one, and the last one the first."""
    return {f"capture/f{i}.c": f"int call_{(i + 1) % count}(void); int call_{i}(void);\n"
                               f"int call_{i}(void) {{ return call_{(i + 1) % count}() + 1; }}\n" for i in range(count)}


def lint(compiler: list, sources: dict, allowed: str) -> tuple:
    """Compiles the files, and returns the lint's status and output."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source"
        build = source / "build"
        build.mkdir(parents=True)
        entries = []
        for name, text in sources.items():
            file, output = source / name, name.replace("/", "_") + ".o"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            subprocess.run([*compiler, "-O1", "-c", str(file), "-o", str(build / output)], check=True)
            entries.append({"directory": str(build), "file": str(file), "output": output})
        (build / "compile_commands.json").write_text(json.dumps(entries))
        (source / "allowed.txt").write_text(allowed)
        done = subprocess.run([sys.executable, str(LINT), str(source), str(build), "--allowed", str(source / "allowed.txt")],
                              capture_output=True, text=True)
        return done.returncode, done.stdout


def main(compiler: list) -> int:
    table = ring(6)
    table["capture/f0.c"] = "int call_1(void); int (*const table[])(void) = {call_1}; int call_0(void) { return table[0](); }\n"
    variable = ring(6)
    variable["capture/f0.c"] = "int call_0(void) { return 0; }\n"
    variable["capture/f1.c"] = "extern int shared; int shared; int call_2(void); int call_1(void) { return call_2(); }\n"
    variable["capture/f0.c"] = "extern int shared; int call_0(void) { return shared; }\n"
    hidden = {f"capture/f{i}.c": f"static int same(void) {{ return {i}; }} int call_{i}(void) {{ return same(); }}\n"
              for i in range(6)}
    apart = {name.replace("capture", "emu") if "f3" in name else name: text for name, text in ring(6).items()}
    cases = [
        ("five files", ring(5), "", 0),
        ("six files", ring(6), "", 1),
        ("six files, allowed", ring(6), "capture 6\n", 0),
        ("seven files, six allowed", ring(7), "capture 6\n", 1),
        ("six files, allowed elsewhere", ring(6), "emu 6\n", 1),
        ("a call through a table", table, "", 1),
        ("a variable", variable, "", 0),
        ("functions of one name, each in its file", hidden, "", 0),
        ("through another component", apart, "", 0),
    ]
    bad = 0
    for what, sources, allowed, expected in cases:
        status, output = lint(compiler, sources, allowed)
        if status != expected or ("capture/f1.c" in output) != bool(expected):
            print(f"{what}: status {status}, not {expected}: {output}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

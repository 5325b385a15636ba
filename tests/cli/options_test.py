#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help, manual pages and completions must agree: options_test.py PROGRAM ALIASES

Everything comes from one table, so that this fails when a generator loses a row. ALIASES is what
the build installs ("view=tsview,..."); the program's own list must be the same.
"""
import re
import subprocess
import sys

PROGRAM = sys.argv[1]
INSTALLED = {tuple(pair.split("=")) for pair in sys.argv[2].split(",") if pair}
failures = []


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout


def expect(condition, text):
    if not condition:
        failures.append(text)


def options_of(text):
    return set(re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.M))


def roff_options(text):
    return set(re.findall(r"^\.B (?:-\w, )?--([\w-]+)", text.replace("\\-", "-"), re.M))


def bash_options(text, command):
    words = re.search(rf"^    {command}\) if \[\[ \$cur == -\* \]\].*?-W '([^']*)'", text, re.M)
    return {w.strip("-=") if w.startswith("--") else w for w in words.group(1).split()}


def zsh_options(text, command):
    block = re.search(rf"^{command}\) _arguments(.*?);;$", text, re.M | re.S).group(1)
    return set(re.findall(r"'--([\w-]+)=?\[", block))


def fish_options(text, command):
    lines = [x for x in text.splitlines() if f"__fish_seen_subcommand_from {command}'" in x]
    return {m.group(1) for x in lines if (m := re.search(r" -l ([\w-]+) ", x))}


def check_command(name, shells):
    help_text, man = run(name, "--help"), run("help", "--man", name)
    options = options_of(help_text)
    expect({"help", "quiet", "color"} <= options, f"{name}: common options are not in --help")
    for where, found in (("man page", roff_options(man)),
                         ("bash", bash_options(shells["bash"], name)),
                         ("zsh", zsh_options(shells["zsh"], name)),
                         ("fish", fish_options(shells["fish"], name))):
        expect(found == options, f"{name}: {where} and --help differ: {found ^ options}")
    for section in ("Usage:", "Options:", "Examples:", "Exit status:"):
        expect(section in help_text, f"{name}: --help has no {section}")
    expect(len(help_text.split("Options:")[0]) > 120, f"{name}: --help does not say what it does")
    expect(all(len(x) <= 80 for x in help_text.split("Examples:")[0].splitlines()),
           f"{name}: --help has lines over 80 columns")


def main():
    rows = [line.split() for line in run("help", "--list").splitlines()]
    shells = {shell: run("completion", shell) for shell in ("bash", "zsh", "fish")}
    expect({tuple(r) for r in rows if len(r) == 2} == INSTALLED,
           "other names of the program: the build's and the program's lists differ")
    overview = run("help")
    for row in rows:
        expect(re.search(rf"^  {row[0]}\b", overview, re.M), f"{row[0]}: not in the overview")
        check_command(row[0], shells)
    subprocess.run(["bash", "-n"], input=shells["bash"], text=True, check=True)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

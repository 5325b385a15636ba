#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders that are for all APIs name no API, no call and no type of one: a trait (api/traits.h) says what it means.

usage: calls.py ROOT [--write]

Names come from api/*/*.api and *.ids. Patterns ("vkCmd*") and strings that begin a call's name count, too, and so do comments.
tests/lint/calls_allowed.txt has the offenders that are left, by file: a number may only go down."""

import pathlib
import re
import sys
import tempfile

FOLDERS = ("analysis", "export", "format", "replay", "tools")
CODE = {".c", ".h"}
ALLOWED = "tests/lint/calls_allowed.txt"
WORD = re.compile(r"[A-Za-z_]\w*\*?")
API = re.compile(r"\bSBT_API_(?!CORE\b)[A-Z]+")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PREFIX_MIN = 4  # of a string that begins a call's name


def names(top: pathlib.Path) -> set:
    """Calls, ioctls and types of objects of all APIs."""
    out = set()
    for path in top.glob("api/*/*.api"):
        out.update(re.findall(r"^\d+ (?:\w+ )?(\w+)(?:\(| = )", path.read_text(), re.M))
    for path in top.glob("api/*/*.ids"):
        found = re.findall(r"^(command|ioctl|object) \d+ (\w+)", path.read_text(), re.M)
        out.update(name for _, name in found)
    # Our own records have names, too, and are no calls.
    return {name for name in out if re.match(r"cu[A-Z]|hip|__hip|hsa_|vk|Vk|[A-Z]+_IOC", name)}


class Lint:
    def __init__(self, top: pathlib.Path):
        self.top, self.known = top, names(top)
        self.begins = {name[:size] for name in self.known for size in range(PREFIX_MIN, len(name))}

    def offends(self, word: str) -> bool:
        if word.endswith("*"):
            return word[:-1] in self.known or len(word) > PREFIX_MIN and word[:-1] in self.begins
        return word in self.known

    def file(self, path: pathlib.Path) -> list:
        """(line, name) of each offence."""
        out = []
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = {word for word in WORD.findall(line) if self.offends(word)}
            found |= {text for text in STRING.findall(line)
                      if text in self.begins and re.match(r"cu[A-Z]|hip[A-Z]|hsa_|vk[A-Z]|Vk[A-Z]", text)}
            found |= set(API.findall(line))
            out += [(number, name) for name in sorted(found)]
        return out

    def all(self) -> dict:
        """Path -> offences."""
        files = (file for folder in FOLDERS for file in sorted((self.top / folder).rglob("*"))
                 if file.suffix in CODE)
        found = {str(file.relative_to(self.top)): self.file(file) for file in files}
        return {path: offences for path, offences in found.items() if offences}


def allowed(top: pathlib.Path) -> dict:
    path = top / ALLOWED
    lines = path.read_text().splitlines() if path.exists() else []
    return {words[0]: int(words[1]) for words in map(str.split, lines) if words and words[0] != "#"}


def judge(top: pathlib.Path) -> list:
    found, limits, out = Lint(top).all(), allowed(top), []
    for path in sorted(found.keys() | limits.keys()):
        count, limit = len(found.get(path, [])), limits.get(path, 0)
        if count > limit:
            out += [f"{path}:{line}: names {name}: say what it means by a trait in its .api file (api/traits.h)"
                    for line, name in found[path]]
        elif count < limit:
            out.append(f"{ALLOWED}: {path} has {count}, not {limit}: lower it")
    return out


def test_self() -> None:
    """Each kind of offence is found, and nothing else is."""
    cases = {'strcmp(name, "vkGo")': 1, '/* as cuRun does */': 1, 'begins(name, "vkG")': 0, 'begins(name, "vkGo")': 1,
             'match("cuRu*")': 1, 'strcmp(type, "VkThing")': 1, 'hsa_fly(x)': 1, 'run(x); /* go */': 0, '"cu"': 0,
             'hsa_backend': 0, 'api == SBT_API_CUDA': 1, 'SBT_API_CORE': 0, 'case IOC_A: DRM_IOCTL_DO': 1, 'vkGoer': 0}
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for place in ("api/x", "analysis", "capture"):
            (top / place).mkdir(parents=True)
        (top / "api/x/x.api").write_text("1 cuRun(int a)\n2 hsa_status_t hsa_fly(int a)\n")
        (top / "api/x/x.ids").write_text("command 1 vkGo\nobject 1 VkThing\nioctl 64 DRM_IOCTL_DO\n")
        for text, count in cases.items():
            (top / "capture/a.c").write_text(text)  # may
            (top / "analysis/a.c").write_text(text)
            assert len(judge(top)) == count, (text, judge(top))
        (top / "tests/lint").mkdir(parents=True)
        (top / ALLOWED).write_text("analysis/a.c 1\n")
        (top / "analysis/a.c").write_text("cuRun();")
        assert not judge(top)
        (top / "analysis/a.c").write_text("cuRun();\ncuRun();")
        assert len(judge(top)) == 2
        (top / "analysis/a.c").write_text("")
        assert len(judge(top)) == 1, "the list may only shrink"


def main(root: str, *options: str) -> int:
    top = pathlib.Path(root)
    test_self()
    if "--write" in options:
        lines = [f"{path} {len(found)}" for path, found in sorted(Lint(top).all().items())]
        (top / ALLOWED).write_text("# Offenders of calls.py by file: a number may only go down. Lower them with --write.\n"
                                   + "\n".join(lines) + "\n")
    problems = judge(top)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

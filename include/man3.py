#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes pages of section 3 of the manual of libtracesmith's headers, whose comments are its reference.

usage: man3.py HEADER >PAGE     the page of one header, tracesmith_NAME.3; tracesmith.h: that of all
       man3.py --list HEADER... one line for each function: its name, and its page
"""

import pathlib
import re
import sys

SUMMARIES = {
    "analysis": "compare traces, count calls, find what a part needs",
    "columns": "records, commands with device times, and edges as arrays",
    "error": "errors of libtracesmith",
    "hsa_kernel": "kernels for the software GPU's HSA agent",
    "reader": "read traces of GPU commands",
    "replay": "send a trace's commands to a GPU again, and compare",
    "symbols": "text for host stacks",
    "trace": "the parts of a trace in memory",
    "tracesmith": "read, write, compare and replay traces of GPU commands",
    "version": "version of libtracesmith",
    "writer": "write traces of GPU commands",
}
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
SECTION = re.compile(r"^/\* ---- (.*?) -+ \*/$")
FUNCTION = re.compile(r"^[a-z][\w \*]*?\*?\b((?:tsm|sbt)_\w+)\((?!\*)", re.M)
TYPE = re.compile(r"^(?:struct|enum) (\w+) \{", re.M)
IGNORED = re.compile(r"^(#if.*|#endif.*|#ifdef.*|extern \"C\" \{|\}|#include.*|#define \w+_H)$")


def page_name(header: pathlib.Path) -> str:
    return "tracesmith" if header.stem == "tracesmith" else f"tracesmith_{header.stem}"


def escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def plain(comment: str) -> str:
    """Returns a comment's text as paragraphs; indented lines, which are examples, stay as they are."""
    lines = [re.sub(r"^ \* ?", "", line.rstrip()) for line in comment.strip("\n ").split("\n")]
    out, paragraph = [], []

    def finish():
        if paragraph:
            out.append(".PP\n" + escape(" ".join(paragraph)))
            paragraph.clear()

    example = []
    for line in [*lines, ""]:
        if line.startswith("    "):
            finish()
            example.append(line)
            continue
        if example and line:
            out.append(".PP\n.nf\n" + escape("\n".join(example)) + "\n.fi")
            example = []
        if line.strip() and not line.startswith("SPDX"):
            paragraph.append(line.strip())
        else:
            finish()
    if example:
        out.append(".PP\n.nf\n" + escape("\n".join(example)) + "\n.fi")
    return "\n".join(out)


def blocks(text: str) -> list:
    """Cuts a header, after its head, at empty lines outside of braces and comments."""
    found, block, depth, in_comment = [], [], 0, False
    for line in text.split("\n"):
        if not in_comment and depth == 0 and (not line.strip() or IGNORED.match(line)):
            if block:
                found.append("\n".join(block))
            block = []
            continue
        block.append(line)
        code = COMMENT.sub("", line)
        if in_comment and "*/" in line:
            in_comment = False
            code = line.split("*/", 1)[1]
        if "/*" in code and "*/" not in code:
            in_comment = True
            code = code.split("/*")[0]
        if not in_comment:
            depth += code.count("{") - code.count("}")
    return [*found, "\n".join(block)] if block else found


def titles(code: str) -> list:
    return FUNCTION.findall(code) + TYPE.findall(code)


def show_block(block: str) -> str:
    section = SECTION.match(block)
    if section:
        return f".SH {escape(section.group(1)).upper()}"
    comment = re.match(r"/\*(.*?)\*/\n?", block, re.S)
    code = block[comment.end():] if comment else block
    out = []
    if titles(code):
        out.append(".SS " + escape(", ".join(titles(code))))
    if code.strip():
        out.append(".PP\n.nf\n" + escape(code.rstrip()) + "\n.fi")
    if comment:
        out.append(plain(comment.group(1)))
    return "\n".join(out)


def show(header: pathlib.Path) -> str:
    text = header.read_text()
    version = re.search(r'VERSION_STRING "(.*)"', (header.parent / "version.h").read_text()).group(1)
    head = COMMENT.search(text)
    name = page_name(header)
    others = [f".BR {escape(page_name(other))} (3)" for other in sorted(header.parent.glob("*.h")) if other != header]
    return "\n".join([
        f'.TH {name.upper()} 3 "" "TraceSmith {version}" "TraceSmith"',
        ".SH NAME", f"{escape(name)} \\- {escape(SUMMARIES[header.stem])}",
        ".SH SYNOPSIS", f".B #include <tracesmith/{escape(header.name)}>", ".PP",
        ".B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs tracesmith)",
        ".SH DESCRIPTION", plain(head.group(1)),
        *[show_block(block) for block in blocks(text[head.end():])],
        ".SH SEE ALSO", ",\n".join([*others, ".BR tracesmith (1)"]), ""])


def main(arguments: list) -> int:
    if arguments and arguments[0] == "--list":
        for header in map(pathlib.Path, arguments[1:]):
            for name in FUNCTION.findall(COMMENT.sub("", header.read_text())):
                print(name, page_name(header))
        return 0
    if len(arguments) != 1:
        sys.exit(__doc__)
    sys.stdout.write(show(pathlib.Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

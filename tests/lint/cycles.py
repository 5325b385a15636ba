#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of one component that call each other in a circle: at most 5 of them (or as many as cycles_allowed.txt says).

usage: cycles.py SOURCE_ROOT BUILD_ROOT [--allowed FILE] [--write [--force] | --show COMPONENT]

Reads which functions each object file of the build defines and which it needs (nm). A file calls another one where it
names one of its functions, so a table of functions counts, too; variables do not. Generated files are left out.
cycles_allowed.txt holds the larger circles of today: a number may only go down. --write lowers it, --force also raises it.
--show prints each circle of a component, and which names lead from file to file."""

import collections
import json
import pathlib
import subprocess
import sys

ALLOWED = pathlib.Path(__file__).with_name("cycles_allowed.txt")
FILES_MAX = 5
FOLDERS = {"base", "format", "api", "capture", "interpose", "replay", "analysis", "export", "emu", "tools"}
FUNCTION_KINDS = "TtWi"


def component(path: str) -> str:
    """Returns the folder, or "" for a file of no component: api/cuda for api/cuda/replay/save.c."""
    parts = path.split("/")
    return "" if parts[0] not in FOLDERS else "/".join(parts[:2]) if parts[0] == "api" else parts[0]


def objects(source: pathlib.Path, build: pathlib.Path) -> dict:
    """Returns the source file of each object file, as a path below the source root."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        folder = pathlib.Path(entry["directory"])
        file, output = (folder / entry["file"]).resolve(), folder / entry["output"]
        if file.is_relative_to(build) or not file.is_relative_to(source) or not output.is_file():
            continue
        name = str(file.relative_to(source))
        if component(name) and file.suffix == ".c":
            found[str(output)] = name
    return found


def read_symbols(paths: list) -> dict:
    """Returns (functions, needed names) of each object file."""
    symbols = {path: (set(), set()) for path in paths}
    for start in range(0, len(paths), 500):
        text = subprocess.run(["nm", "-A", "-P", *paths[start:start + 500]], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            path, rest = line.split(": ", 1)
            name, kind = rest.split()[:2]
            if kind in "Uw":
                symbols[path][1].add(name)
            elif kind in FUNCTION_KINDS:
                symbols[path][0].add(name)
    return symbols


def nearest(file: str, owners: set) -> set:
    """Returns the owners in the caller's own room where there are any: a name may be used once in each."""
    room = file.rsplit("/", 1)[0].split("/")[:3]
    own = {owner for owner in owners if owner.split("/")[:len(room)] == room}
    return (own or owners) - {file}


def call_graph(files: dict, symbols: dict) -> dict:
    """Returns component -> file -> called file -> names."""
    owners = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, file in files.items():
        for name in symbols[path][0]:
            owners[component(file)][name].add(file)
    graph = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(set)))
    for path, file in files.items():
        for name in symbols[path][1]:
            for owner in nearest(file, owners[component(file)].get(name, set())):
                graph[component(file)][file][owner].add(name)
    return graph


def circles(edges: dict) -> list:
    """Returns the strongly connected components of more than one file, largest first (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(sorted(edges.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            file, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[file])
                if low[file] == index[file]:
                    place = stack.index(file)
                    found.append(sorted(stack[place:]))
                    on_stack.difference_update(stack[place:])
                    del stack[place:]
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(edges.get(following, ())))))
            elif following in on_stack:
                low[file] = min(low[file], index[following])
    return sorted((c for c in found if len(c) > 1), key=lambda c: (-len(c), c))


def read_allowed(file: pathlib.Path) -> dict:
    allowed = collections.defaultdict(list)
    if file.is_file():
        for line in file.read_text().splitlines():
            if line and not line.startswith("#"):
                name, *sizes = line.split()
                allowed[name] = sorted(map(int, sizes), reverse=True)
    return allowed


def too_large(found: list, allowed: list) -> list:
    """Returns the circles that are larger than FILES_MAX, and than the allowed one of the same rank."""
    limits = allowed + [0] * len(found)
    return [c for c, limit in zip(found, limits) if len(c) > max(limit, FILES_MAX)]


def show(graph: dict, name: str) -> None:
    for circle in circles(graph[name]):
        print(f"{name}: {len(circle)} files")
        for file in circle:
            for other in circle:
                if graph[name][file].get(other):
                    print(f"  {file} -> {other}: {', '.join(sorted(graph[name][file][other]))}")


def write(table: pathlib.Path, graph: dict, allowed) -> None:
    """Writes today's circles; `allowed`, where there is one, bounds them."""
    lines = ["# Sizes of the circles of more than 5 files (cycles.py), by component: a number may only go down.\n"]
    for name in sorted(graph):
        sizes = [len(c) for c in circles(graph[name])]
        if allowed is not None:
            sizes = [min(pair) for pair in zip(sizes, allowed[name])]
        sizes = [size for size in sizes if size > FILES_MAX]
        if sizes:
            lines.append(f"{name} {' '.join(map(str, sizes))}\n")
    table.write_text("".join(lines))


def main(arguments: list) -> int:
    source, build = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    files = objects(source, build)
    if not files:
        print(f"{build}: no object files; build first")
        return 1
    graph = call_graph(files, read_symbols(sorted(files)))
    table = pathlib.Path(arguments[arguments.index("--allowed") + 1]) if "--allowed" in arguments else ALLOWED
    allowed = read_allowed(table)
    if "--show" in arguments:
        show(graph, arguments[arguments.index("--show") + 1])
        return 0
    if "--write" in arguments:
        write(table, graph, None if "--force" in arguments else allowed)
        return 0
    bad = False
    for name in sorted(graph):
        for circle in too_large(circles(graph[name]), allowed[name]):
            bad = True
            print(f"{name}: {len(circle)} files call each other in a circle, more than {FILES_MAX} or what "
                  f"{table.name} allows: {' '.join(circle)}; cycles.py --show {name} says by which calls")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

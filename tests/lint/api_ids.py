#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ids of calls are in trace files: one that was given is never changed, dropped or reused.

    api_ids.py SOURCE_ROOT cuda        compare api/cuda/cuda.api with tests/lint/cuda_ids.txt
    api_ids.py SOURCE_ROOT cuda --add  write the ids that are new there (for a commit that adds calls)
"""

import pathlib
import re
import sys


def read(path, pattern):
    """[(id, name)] of the lines that match."""
    lines = path.read_text(encoding='utf-8').splitlines()
    return [(int(m[1]), m[2]) for m in map(re.compile(pattern).match, lines) if m]


def main(root, name, *arguments):
    api = read(root / f'api/{name}/{name}.api', r'(\d+) (?:\w+ )?(\w+)(?:\(| = )')
    pinned_path = root / f'tests/lint/{name}_ids.txt'
    pinned = read(pinned_path, r'(\d+) (\w+)$')
    now, by_id, bad = dict(api), {}, 0
    for number, call in pinned:
        if number in by_id:
            print(f'{pinned_path.name}: {number} stands there twice')
            bad += 1
        by_id[number] = call
        if now.get(number) != call:
            print(f'id {number} was given to {call}; in {name}.api it is {now.get(number, "gone")}')
            bad += 1
    new = [(number, call) for number, call in api if number not in by_id]
    calls = set(by_id.values())
    for number, call in new:
        if call in calls:
            print(f'{call} has an id already; {number} is another one')
            bad += 1
    if '--add' in arguments and not bad:
        with pinned_path.open('a', encoding='utf-8') as out:
            out.writelines(f'{number} {call}\n' for number, call in sorted(new))
    elif new:
        print(f'not pinned yet: {", ".join(name for _, name in new)}: run this with --add')
        bad += 1
    if not api:
        print(f'{name}.api: no calls found')
        bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))

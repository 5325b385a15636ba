#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ids of CUDA calls are in trace files: one that was given is never changed, dropped or reused.

    cuda_ids.py SOURCE_ROOT            compare api/cuda/cuda.api with tests/lint/cuda_ids.txt
    cuda_ids.py SOURCE_ROOT --add      write the ids that are new there (for a commit that adds calls)
"""

import pathlib
import re
import sys


def read(path, pattern):
    """[(id, name)] of the lines that match."""
    lines = path.read_text(encoding='utf-8').splitlines()
    return [(int(m[1]), m[2]) for m in map(re.compile(pattern).match, lines) if m]


def main(root, *arguments):
    api = read(root / 'api/cuda/cuda.api', r'(\d+) (\w+)(?:\(| = )')
    pinned_path = root / 'tests/lint/cuda_ids.txt'
    pinned = read(pinned_path, r'(\d+) (\w+)$')
    now, by_id, bad = dict(api), {}, 0
    for number, name in pinned:
        if number in by_id:
            print(f'cuda_ids.txt: {number} stands there twice')
            bad += 1
        by_id[number] = name
        if now.get(number) != name:
            print(f'id {number} was given to {name}; in cuda.api it is {now.get(number, "gone")}')
            bad += 1
    new = [(number, name) for number, name in api if number not in by_id]
    names = set(by_id.values())
    for number, name in new:
        if name in names:
            print(f'{name} has an id already; {number} is another one')
            bad += 1
    if '--add' in arguments and not bad:
        with pinned_path.open('a', encoding='utf-8') as out:
            out.writelines(f'{number} {name}\n' for number, name in sorted(new))
    elif new:
        print(f'not pinned yet: {", ".join(name for _, name in new)}: run this with --add')
        bad += 1
    if not api:
        print('cuda.api: no calls found')
        bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers of an API's commands, structs and objects are in trace files: none is ever changed.

    pinned_ids.py SOURCE_ROOT API          compare api/API/API.ids with tests/lint/API_ids.txt
    pinned_ids.py SOURCE_ROOT API --add    note that numbers were appended (for a commit that does)

API_ids.txt has lines "COUNT HASH": the SHA-256 of the first COUNT numbers of API.ids. API: vulkan, drm.
"""

import hashlib
import pathlib
import re
import sys

# Above: numbers that are not pinned.
HIGHEST = {'vulkan': {'command': 0x7ff, 'struct': 0x7fff, 'object': 63},
           'drm': {'ioctl': 0x7ff, 'struct': 0x7fff}}


def numbers(path):
    """Its lines, without comments."""
    lines = path.read_text(encoding='utf-8').splitlines()
    return [line for line in lines if line and not line.startswith('#')]


def hash_of(lines):
    return hashlib.sha256('\n'.join(lines).encode()).hexdigest()


def check_lines(api, lines):
    bad, seen = 0, set()
    for line in lines:
        match = re.fullmatch(r'(\w+) (\d+) (\S+)', line)
        if not match or not 0 < int(match[2]) <= HIGHEST[api].get(match[1], 0):
            print(f'{api}.ids: "{line}" is no number')
            bad += 1
            continue
        for key in ((match[1], match[2]), (match[1], match[3])):
            if key in seen:
                print(f'{api}.ids: {" ".join(key)} stands there twice')
                bad += 1
            seen.add(key)
    return bad


def main(root, api, *arguments):
    lines = numbers(root / f'api/{api}/{api}.ids')
    pinned_path = root / f'tests/lint/{api}_ids.txt'
    pinned = [line.split() for line in numbers(pinned_path)]
    bad = check_lines(api, lines)
    for count, known in pinned:
        if hash_of(lines[:int(count)]) != known:
            print(f'the first {count} numbers of {api}.ids are not what they were')
            bad += 1
    last = int(pinned[-1][0]) if pinned else 0
    if '--add' in arguments and not bad and len(lines) > last:
        with pinned_path.open('a', encoding='utf-8') as out:
            out.write(f'{len(lines)} {hash_of(lines)}\n')
    elif len(lines) != last:
        print(f'{len(lines) - last} numbers are new: pinned_ids.py {api} --add')
        bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers of Vulkan's commands, structs and objects are in trace files: none is ever changed.

    vulkan_ids.py SOURCE_ROOT          compare api/vulkan/vulkan.ids with tests/lint/vulkan_ids.txt
    vulkan_ids.py SOURCE_ROOT --add    note that numbers were appended (for a commit that does)

vulkan_ids.txt has lines "COUNT HASH": the SHA-256 of the first COUNT numbers of vulkan.ids.
"""

import hashlib
import pathlib
import re
import sys

HIGHEST = {'command': 0x7ff, 'struct': 0x7fff, 'object': 63}  # above: numbers that are not pinned


def numbers(path):
    """Its lines, without comments."""
    lines = path.read_text(encoding='utf-8').splitlines()
    return [line for line in lines if line and not line.startswith('#')]


def hash_of(lines):
    return hashlib.sha256('\n'.join(lines).encode()).hexdigest()


def check_lines(lines):
    bad, seen = 0, set()
    for line in lines:
        match = re.fullmatch(r'(command|struct|object) (\d+) (\S+)', line)
        if not match or not 0 < int(match[2]) <= HIGHEST[match[1]]:
            print(f'vulkan.ids: "{line}" is no number')
            bad += 1
            continue
        for key in ((match[1], match[2]), (match[1], match[3])):
            if key in seen:
                print(f'vulkan.ids: {" ".join(key)} stands there twice')
                bad += 1
            seen.add(key)
    return bad


def main(root, *arguments):
    lines = numbers(root / 'api/vulkan/vulkan.ids')
    pinned_path = root / 'tests/lint/vulkan_ids.txt'
    pinned = [line.split() for line in numbers(pinned_path)]
    bad = check_lines(lines)
    for count, known in pinned:
        if hash_of(lines[:int(count)]) != known:
            print(f'the first {count} numbers of vulkan.ids are not what they were')
            bad += 1
    last = int(pinned[-1][0]) if pinned else 0
    if '--add' in arguments and not bad and len(lines) > last:
        with pinned_path.open('a', encoding='utf-8') as out:
            out.write(f'{len(lines)} {hash_of(lines)}\n')
    elif len(lines) != last:
        print(f'{len(lines) - last} numbers are new: vulkan_ids.py --add')
        bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))

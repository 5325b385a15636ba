#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers and names of the controls of NVIDIA's resource manager, over versions of its driver.

    nvidia_controls.py headers CHECKOUT VERSION... > tools/nvidia.controls
    nvidia_controls.py table tools/nvidia.controls OUTPUT

headers: CHECKOUT is a git repository of NVIDIA's open kernel modules, VERSION its tags, oldest first, one
of each branch. What is taken are facts: which name stands for which number in which branches.
table: C of that, called by Meson."""

import pathlib
import re
import subprocess
import sys

FOLDER = 'src/common/sdk/nvidia/inc/ctrl'
# A number that is made of an interface's: other names of that shape are flags and the like.
DEFINE = re.compile(r'^#define\s+(NV\w*_CTRL_CMD_\w+)\s+\((0x[0-9a-fA-F]+)U?\).*INTERFACE_ID << 8', re.M)

TEXT_HEAD = '''\
# Controls of NVIDIA's resource manager (NV_ESC_RM_CONTROL): number, name, first and last branch of the
# driver, of those looked at, in which the number has it. Facts from the public headers of NVIDIA's open
# kernel modules, by api/gen/nvidia_controls.py; versions
#   {versions}
'''


def git(folder, *words):
    return subprocess.run(['git', '-C', folder, *words], check=True, stdout=subprocess.PIPE).stdout


def controls(folder, version):
    names = git(folder, 'ls-tree', '-r', '--name-only', version, FOLDER).decode().split()
    text = b''.join(git(folder, 'show', f'{version}:{name}') for name in names).decode(errors='replace')
    return {(int(number, 16), name) for name, number in DEFINE.findall(text)}


def headers(folder, *versions):
    spans = {}
    for version in versions:
        branch = int(version.split('.')[0])
        for key in controls(folder, version):
            spans[key] = (spans.get(key, (branch,))[0], branch)
    print(TEXT_HEAD.format(versions='\n#   '.join(' '.join(versions[i:i + 8])
                                                  for i in range(0, len(versions), 8))), end='')
    for (number, name), (first, last) in sorted(spans.items(), key=lambda row: (row[0][0], row[1])):
        print(f'{number:#010x} {name} {first} {last}')


def table(path, output):
    lines = [line.split() for line in pathlib.Path(path).read_text().splitlines() if line[0] != '#']
    pathlib.Path(output).write_text(''.join(f'{{{number}, {first}, {last}, "{name}"}},\n'
                                            for number, name, first, last in lines))


if __name__ == '__main__':
    {'headers': headers, 'table': table}[sys.argv[1]](*sys.argv[2:])

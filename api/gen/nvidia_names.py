#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers and names in NVIDIA's driver, over its versions: controls of its resource manager, classes of
objects that it allocates, ioctls of its unified memory (UVM).

    nvidia_names.py controls|classes|uvm CHECKOUT VERSION... > api/drm/view/nvidia.controls (.classes, .uvm)
    nvidia_names.py table api/drm/view/nvidia.controls OUTPUT

CHECKOUT is a git repository of NVIDIA's open kernel modules, VERSION its tags, oldest first, one
of each branch. What is taken are facts: which name stands for which number in which branches.
table: C of that, called by Meson."""

import pathlib
import re
import subprocess
import sys

# Of each kind: what it is, the folder or file of the headers, and how a name is defined there.
KINDS = {
    # A number that is made of an interface's: other names of that shape are flags and the like.
    'controls': ("Controls of NVIDIA's resource manager (NV_ESC_RM_CONTROL)", 'src/common/sdk/nvidia/inc/ctrl',
                 r'^#define\s+(NV\w*_CTRL_CMD_\w+)\s+\((0x[0-9a-fA-F]+)U?\).*INTERFACE_ID << 8'),
    # A class has one name, and perhaps others that are marked.
    'classes': ("Classes of NVIDIA's resource manager (NV_ESC_RM_ALLOC)", 'src/nvidia/generated/g_allclasses.h',
                r'^#define\s+(\w+)\s+\((0x[0-9a-fA-F]+)\)(?!.*alias)'),
    'uvm': ("Ioctls of NVIDIA's unified memory (/dev/nvidia-uvm)", 'kernel-open/nvidia-uvm',
            r'^#define\s+(UVM_\w+)\s+(?:UVM_IOCTL_BASE\((\d+)\)|(0x3\w{7}))'),
}

TEXT_HEAD = '''\
# {what}: number, name, first and last branch of the
# driver, of those looked at, in which the number has it. Facts from the public headers of NVIDIA's open
# kernel modules, by api/gen/nvidia_names.py; versions
#   {versions}
'''


def git(folder, *words):
    return subprocess.run(['git', '-C', folder, *words], check=True, stdout=subprocess.PIPE).stdout


def names(folder, version, place, pattern):
    files = git(folder, 'ls-tree', '-r', '--name-only', version, place).decode().split()
    text = b''.join(git(folder, 'show', f'{version}:{name}') for name in files
                    if name.endswith('.h')).decode(errors='replace')
    return {(int(next(filter(None, numbers)), 0), name)
            for name, *numbers in re.findall(pattern, text, re.M)}


def headers(kind, folder, *versions):
    what, place, pattern = KINDS[kind]
    spans = {}
    for version in versions:
        branch = int(version.split('.')[0])
        for key in names(folder, version, place, pattern):
            spans[key] = (spans.get(key, (branch,))[0], branch)
    print(TEXT_HEAD.format(what=what, versions='\n#   '.join(' '.join(versions[i:i + 8])
                                                             for i in range(0, len(versions), 8))), end='')
    for (number, name), (first, last) in sorted(spans.items(), key=lambda row: (row[0][0], row[1])):
        print(f'{number:#010x} {name} {first} {last}')


def table(path, output):
    lines = [line.split() for line in pathlib.Path(path).read_text().splitlines() if line[0] != '#']
    pathlib.Path(output).write_text(''.join(f'{{{number}, {first}, {last}, "{name}"}},\n'
                                            for number, name, first, last in lines))


if __name__ == '__main__':
    if sys.argv[1] == 'table':
        table(*sys.argv[2:])
    else:
        headers(*sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""emu/cudart/abi.h and calls.inc say what the headers of an installed CUDA toolkit say: sizes, offsets of members, values,
parameters. TS_CUDA_INCLUDE names their folder; skipped without one. Usage: cudart_abi_test.py SOURCE_ROOT BUILD_ROOT COMPILER..."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root, build, *compiler = sys.argv[1:]
toolkit = pathlib.Path(os.environ.get('TS_CUDA_INCLUDE', '/usr/local/cuda/include'))
if not (toolkit / 'cuda_runtime_api.h').exists():
    sys.exit(77)
major = int(re.search(r'#define CUDART_VERSION\s+(\d+)', (toolkit / 'cuda_runtime_api.h').read_text()).group(1)) // 1000
ours = pathlib.Path(root, 'emu/cudart/abi.h').read_text()
OWN = ['-I', root, '-I', f'{root}/include', '-I', build, f'-DCUDART_MAJOR={major}']
THEIRS = ['-I', str(toolkit)]


def preprocess(text: str, options: list) -> str:
    return subprocess.run([*compiler, *options, '-E', '-P', '-xc', '-'], input=text, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def values(include: str, options: list, expressions: list) -> list:
    """Returns what a program prints that evaluates the expressions."""
    lines = ''.join(f'    printf("%lld\\n", (long long)({e}));\n' for e in expressions)
    text = f'#include <stddef.h>\n#include <stdio.h>\n#include "{include}"\nint main(void)\n{{\n{lines}    return 0;\n}}\n'
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*compiler, *options, '-w', '-xc', '-', '-o', f'{folder}/print'], input=text, check=True, text=True)
        return subprocess.run([f'{folder}/print'], check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def members(body: str) -> list:
    """Returns the names that a struct's body declares, at its top."""
    body = re.sub(r'\bunion \{([^{}]*)\};', r'\1', body)
    while '{' in body:
        body = re.sub(r'\b(?:struct|union)\s*\{[^{}]*\}', 'int', body)
    found = []
    for declaration in body.split(';'):
        found += re.findall(r'(\w+)(?:\[[^\]]*\])*\s*(?:,|$)', declaration.strip())
    return [name for name in found if not re.fullmatch(r'reserved\d*|int', name)]


# Types: size and members of ours; the size alone of those that are the driver's. In C, theirs is a struct or enum.
text = preprocess('#include "emu/cudart/abi.h"\n', OWN)
own = {}
for body, name in re.findall(r'typedef struct \w+ \{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\} (cuda\w+|dim3);', text):
    own[name] = members(body)
assert len(own) > 18, own
aliases = [name for line in re.findall(r'^typedef CU\w+ ([^(;]*);', ours, re.M) for name in re.findall(r'cuda\w+', line)]
header = preprocess('#include <cuda_runtime_api.h>\n', THEIRS)


def their_name(name: str) -> str:
    for tag in 'struct', 'union', 'enum':
        if re.search(rf'\b{tag} {name}\b\s*\{{', header) and not re.search(rf'[}} ]{name};', header):
            return f'{tag} {name}'
    return name


pairs = []  # (expression of ours, expression of theirs)
for name in [*own, *aliases]:
    theirs = their_name(name)
    if not re.search(rf'\b{name}\b', header):
        continue
    pairs.append((f'sizeof({name})', f'sizeof({theirs})'))
    for member in own.get(name, []):
        pairs.append((f'offsetof({name}, {member})', f'offsetof({theirs}, {member})'))
for name in re.findall(r'^    (cuda\w+) = \d+,', ours, re.M):
    pairs.append((name, name))
assert len(pairs) > 300, len(pairs)
got = values('emu/cudart/abi.h', OWN, [a for a, _ in pairs])
wanted = values('cuda_runtime_api.h', THEIRS, [b for _, b in pairs])
wrong = [(a, x, y) for (a, _), x, y in zip(pairs, got, wanted) if x != y]
assert not wrong, wrong


def normal(parameters: str) -> list:
    """Returns the types of parameters."""
    text = re.sub(r'\b(?:struct|enum) ', '', ' '.join(parameters.split()))
    text = re.sub(r'cuda(?:Stream|KernelNode)Attr(ID|Value)', lambda m: f'cudaLaunchAttribute{m.group(1)}', text)
    return [re.sub(r'\s*\*\s*', '*', re.sub(r'\w+$', '', part.strip())).strip() for part in text.split(',')]


# Functions: parameters of the same types.
listed = dict(re.findall(r'@ (\w+) \((.*?)\) @', ' '.join(preprocess(
    '#define CALL(name, parameters) @ name parameters @\n#include "emu/cudart/calls.inc"\n', OWN).split())))
declared = dict(re.findall(r'\b(cuda\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?:__attribute__[^;]*)?;', header))
common = [name for name in listed if name in declared and listed[name] != 'void']
assert len(common) > 250, len(common)
different = [(name, listed[name], declared[name]) for name in common
             if normal(listed[name]) != normal(declared[name])]
assert not different, different

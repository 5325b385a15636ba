#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is our description of the CUDA driver API equal to NVIDIA's cuda.h?

    cuda_abi_test.py SOURCE_ROOT BUILD_ROOT

Both headers go through clang, one each, and what it understood is compared: every prototype, every
constant, the complete layout of every record. Skips where there is no clang or no cuda.h of the
version described (TS_CUDA_INCLUDE names its folder; otherwise the usual places are looked at).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
NVIDIA = '#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n'
OURS = '#include "api/cuda/cuda_prototypes.h"\n'
# Not constants of the ABI: the header's own mechanics, names for other names.
NO_CONSTANT = re.compile(r'CUDA_CB|CUDAAPI|CU_(UUID_HAS_BEEN_DEFINED|(KERNEL_NODE|STREAM)_ATTRIBUTE_'
                         r'\w+|LAUNCH_PARAM_\w+_AS_INT|COMPUTE_(ACCELERATED|FAMILY)_TARGET_BASE)')
# Calls of a later version than that of the header.
LATER = {'cuMemcpyWithAttributesAsync', 'cuMemcpyWithAttributesAsync_ptsz'}


def skip(why):
    print('skipped:', why)
    sys.exit(SKIP)


def toolkit_include():
    for path in (os.environ.get('TS_CUDA_INCLUDE'), '/usr/local/cuda/include', '/usr/include'):
        if path and os.path.exists(f'{path}/cuda.h'):
            return path
    skip('no cuda.h')


class Compiler:
    def __init__(self, include_paths):
        self.clang = shutil.which('clang-14') or shutil.which('clang') or skip('no clang')
        self.include = [f'-I{path}' for path in include_paths]

    def run(self, source, *arguments):
        with tempfile.NamedTemporaryFile('w', suffix='.c') as file:
            file.write(source)
            file.flush()
            done = subprocess.run([self.clang, *self.include, *arguments, file.name], text=True,
                                  capture_output=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout

    def declarations(self, source):
        return json.loads(self.run(source, '-fsyntax-only', '-Xclang', '-ast-dump=json'))['inner']

    def layouts(self, source):
        text = self.run(source, '-fsyntax-only', '-Xclang', '-fdump-record-layouts-complete')
        return dict(map(layout, text.split('*** Dumping AST Record Layout\n')[1:]))

    def macros(self, source):
        text = self.run(source, '-E', '-dM')
        found = re.findall(r'^#define (CU\w+)[ ]+(\S.*)$', text, re.MULTILINE)
        return {name for name, _ in found if not NO_CONSTANT.fullmatch(name)}

    def macro_values(self, source, names):
        body = ''.join(f'long long V_{name} = (long long)({name});\n' for name in sorted(names))
        text = self.run(source + body, '-S', '-o', '-')
        return dict(re.findall(r'^V_(\w+):\n\s+\.(?:quad|zero)\s+(\S+)', text, re.MULTILINE))


def layout(text):
    """(name, text) of a record, without what depends on where it is written."""
    text = re.sub(r'(unnamed|anonymous)( \w+)? at [^)]*', 'unnamed', text)
    lines = [re.sub(r'\s+', ' ', line).strip() for line in text.strip().splitlines()]
    name = lines[0].removeprefix('0 | ')
    if 'unnamed' in name:  # known by its members
        name += ' ' + ', '.join(lines[1:])
    return name, lines


def functions(declarations):
    return {node['name'] for node in declarations
            if node['kind'] == 'FunctionDecl' and re.match(r'cu[A-Z]', node['name'])}


def constant(node):
    if node['kind'] in ('ConstantExpr', 'IntegerLiteral') and 'value' in node:
        return int(node['value'])
    return next((value for child in node.get('inner', [])
                 if (value := constant(child)) is not None), None)


def constants(declarations):
    found = {}
    for node in declarations:
        value = -1
        for child in node.get('inner', []) if node['kind'] == 'EnumDecl' else []:
            if child['kind'] == 'EnumConstantDecl':
                given = constant(child)
                value = value + 1 if given is None else given
                found[child['name']] = value
    return {name: value for name, value in found.items() if re.match('CU|NVCL|CIG', name)}


def typedefs(declarations):
    return {node['name'] for node in declarations
            if node['kind'] == 'TypedefDecl' and re.match('CU|cu|cl_', node['name'])}


def compare(what, ours, theirs):
    """Both are sets or dictionaries; returns the number of differences, printing each."""
    count = 0
    for name in sorted(set(ours) | set(theirs)):
        if name not in ours:
            problem = 'missing here'
        elif name not in theirs:
            problem = 'not in cuda.h'
        elif isinstance(ours, dict) and ours[name] != theirs[name]:
            problem = f'here {ours[name]}, in cuda.h {theirs[name]}'
        else:
            continue
        count += 1
        print(f'{what} {name}: {problem}')
    print(f'{what}: {len(ours)} compared, {count} different')
    return count


def main():
    source_root, build_root = sys.argv[1:]
    toolkit = toolkit_include()
    our_paths = [source_root, build_root]
    compiler = Compiler([toolkit, *our_paths])
    version = re.search(r'#define CUDA_VERSION (\d+)', open(f'{toolkit}/cuda.h').read())[1]
    described = re.search(r'#define CUDA_VERSION (\d+)',
                          open(f'{source_root}/api/cuda/abi.h').read())[1]
    if version != described:
        skip(f'cuda.h is of version {version}, the description of {described}')

    # The compiler itself refuses a prototype that differs from the one in cuda.h.
    compiler.run(NVIDIA + '#define API_CUDA_ABI_H\n' + OURS, '-fsyntax-only')

    ours, theirs = compiler.declarations(OURS), compiler.declarations(NVIDIA)
    records = re.compile(r'(struct|union) CU')
    our_layouts, their_layouts = ({name: lines for name, lines in compiler.layouts(source).items()
                                   if records.match(name)} for source in (OURS, NVIDIA))
    names = compiler.macros(NVIDIA)
    failures = (compare('function', functions(ours) - LATER, functions(theirs))
                + compare('type', typedefs(ours), typedefs(theirs))
                + compare('constant', constants(ours), constants(theirs))
                + compare('record', our_layouts, their_layouts)
                + compare('macro', compiler.macros(OURS) - {'CUDA_VERSION'},
                          names - {'CUDA_VERSION'})
                + compare('macro value', compiler.macro_values(OURS, names),
                          compiler.macro_values(NVIDIA, names)))
    if len(ours) == 0 or not our_layouts:
        sys.exit('nothing was compared')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())

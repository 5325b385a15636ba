#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runtime library exports what calls.inc lists, each with the version that programs ask for, and docs/emu.md names
what returns cudaErrorNotSupported. Where a CUDA toolkit is installed, its library's exports
are the same. Usage: cudart_support_test.py LIBRARY MAJOR EMU.md"""
import ctypes
import glob
import os
import re
import subprocess
import sys

library, major, page = sys.argv[1:]


def exports(file: str) -> dict:
    """Returns the kinds of a library's own symbols by name and version."""
    nm = subprocess.run(['nm', '-D', '--defined-only', file], check=True, stdout=subprocess.PIPE, text=True)
    return {name: kind for _, kind, name in map(str.split, nm.stdout.splitlines())}


ours = exports(library)
suffix = f'@@libcudart.so.{major}'
assert not [name for name, kind in ours.items() if kind != 'A' and not name.endswith(suffix)]
missing = {name.removesuffix(suffix) for name, kind in ours.items() if kind in 'Ww'}
assert len(ours) > 400, len(ours)

# The page lists them: some by what they are for.
text = ' '.join(open(page).read().split())
listed = re.search(r'These exports return `cudaErrorNotSupported`.*?What the driver', text).group()
graphics = re.compile(r'cuda\w*(GL|EGL|VDPAU|Graphics|Egl)')
unnamed = sorted(name for name in missing if not graphics.match(name) and f'`{name}`' not in listed)
assert not unnamed, f'{page} must name {unnamed}'
named = set(re.findall(r'`(_*cuda\w+)`', listed)) - {'cudaErrorNotSupported'}
there = {name for name in named - missing if name + suffix in ours}
assert not there, f'{page} names {sorted(there)}, which are there'

os.environ['TS_LOG'] = 'info'
cudart = ctypes.CDLL(library)
refused = {name for name in missing if getattr(cudart, name)(*[ctypes.c_long(0)] * 6) == 801}
assert refused == missing, missing - refused
assert cudart.cudaGetLastError() == 801 and cudart.cudaGetLastError() == 0

for theirs in glob.glob(f'/usr/local/cuda*/lib64/libcudart.so.{major}'):
    assert set(ours) == set(exports(theirs)), set(ours) ^ set(exports(theirs))

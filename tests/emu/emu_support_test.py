#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith coverage --emu` lists the calls that return CUDA_ERROR_NOT_SUPPORTED whatever they are
given, and docs/emu.md has their number. Usage: emu_support_test.py TRACESMITH LIBRARY CALLS.inc EMU.md"""
import ctypes
import json
import re
import subprocess
import sys

program, library, calls, page = sys.argv[1:]
told = json.loads(subprocess.run([program, 'coverage', '--emu', '--json'], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout)
described = re.findall(r'^TSM_CUDA_CALL\(\d+, (\w+),', open(calls).read(), re.M)
assert told['emu_calls'] == len(described), (told['emu_calls'], len(described))
driver = ctypes.CDLL(library)
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context := ctypes.c_void_p()), 0) == 0
refused = []
for name in described:
    driver.cuCtxSetCurrent(context)
    if getattr(driver, name)(*[ctypes.c_long(0)] * 16) == 801:
        refused.append(name)
assert sorted(refused) == sorted(told['emu_missing']), set(refused) ^ set(told['emu_missing'])
found = re.search(r'(\d+) of the (\d+) calls', ' '.join(open(page).read().split()))
assert found and [int(n) for n in found.groups()] == [len(described) - len(refused), len(described)], \
    f'{page} must say: {len(described) - len(refused)} of the {len(described)} calls'

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuGetProcAddress knows every version of every call that the toolkit's cudaTypedefs.h names, each as an
export of its own, and with a per-thread default stream where there is one. Skipped without the toolkit.
Usage: emu_proc_versions_test.py LIBRARY"""
import collections
import ctypes
import os
import re
import subprocess
import sys

HEADER = '/usr/local/cuda/include/cudaTypedefs.h'
if not os.path.exists(HEADER):
    sys.exit(77)
library = sys.argv[1]
driver = ctypes.CDLL(library)
nm = subprocess.run(['nm', '-D', '--defined-only', library], check=True, stdout=subprocess.PIPE, text=True)
exports = {}
for line in nm.stdout.splitlines():
    name = line.split()[2]
    exports[ctypes.cast(getattr(driver, name), ctypes.c_void_p).value] = name

versions = collections.defaultdict(lambda: collections.defaultdict(set))
for name, version, suffix in re.findall(r'\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)', open(HEADER).read()):
    versions[name][suffix].add(int(version))


def ask(name, version, per_thread):
    found, status = ctypes.c_void_p(), ctypes.c_int(99)
    error = driver.cuGetProcAddress_v2(name.encode(), ctypes.byref(found), version,
                                       ctypes.c_uint64(2 if per_thread else 1), ctypes.byref(status))
    assert error == 0, (name, version, error)
    return status.value, exports.get(found.value)


wrong = []
for name, kinds in versions.items():
    last = None
    for version in sorted(kinds['']):
        status, export = ask(name, version, False)
        if status or not re.fullmatch(name + r'(_v\d+)?', export or '') or export == last:
            wrong.append((name, version, status, export))
        if last is None and ask(name, version - 1, False) != (2, None):
            wrong.append((name, version - 1, 'is not too old'))
        last = export
    for suffix in kinds:
        for version in kinds[suffix] if suffix else []:
            status, export = ask(name, version, True)
            if status or not (export or '').endswith(suffix):
                wrong.append((name, version, suffix, export))
    if not any(kinds) and re.search('_pt[sd][sz]$', ask(name, 13000, True)[1] or ''):
        wrong.append((name, 'has no per-thread form'))
assert len(versions) > 400, len(versions)
assert not wrong, wrong

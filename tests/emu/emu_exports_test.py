#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports every call of the description and nothing that is not a call of the API, and can be loaded late."""
import re
import subprocess
import sys

library, calls = sys.argv[1:]
nm = subprocess.run(['nm', '-D', '--defined-only', library], check=True, stdout=subprocess.PIPE, text=True)
exported = {line.split()[2] for line in nm.stdout.splitlines()}
described = set(re.findall(r'^TSM_CUDA_CALL\(\d+, (\w+),', open(calls).read(), re.M))
assert len(described) > 600, len(described)
assert not described - exported, sorted(described - exported)
# Beside those, functions of ours: api/cuda/abi_*.h.
OURS = {'tsm_emu_times', 'tsm_emu_place', 'tsm_emu_outcomes', 'tsm_emu_setup', 'tsm_emu_has_context'}
assert OURS <= exported
others = {name for name in exported - described - OURS if not re.match(r'cu\w*(GL|EGL|Egl|VDPAU)', name)}
assert not others, sorted(others)
dynamic = subprocess.run(['readelf', '-d', library], check=True, stdout=subprocess.PIPE, text=True).stdout
assert 'libcuda.so.1' in dynamic
# Memory of threads that must be there at their start has little room where a replay loads the library.
assert 'STATIC_TLS' not in dynamic or re.search(r'lib(asan|tsan|ubsan)', dynamic), 'it cannot be loaded late'

# SPDX-License-Identifier: Apache-2.0
"""NAME(cuX) for each base name of the driver API: what a program asks cuGetProcAddress for.
Arguments: cuda_prototypes.h, the file to write."""

import re
import sys

with open(sys.argv[1], encoding='utf-8') as f:
    exported = re.findall(r'^CUresult (cu\w+)\(', f.read(), re.MULTILINE)
bases = {re.sub(r'(_v\d+)?(_pt[sd][sz])?$', '', name) for name in exported}
with open(sys.argv[2], 'w', encoding='utf-8') as f:
    f.writelines(f'NAME({name})\n' for name in sorted(bases))

# SPDX-License-Identifier: Apache-2.0
"""NAME(cuX) for each function that cuda_prototypes.h declares. Arguments: that file, the file to write."""

import re
import sys

with open(sys.argv[1], encoding='utf-8') as f:
    names = re.findall(r'^CUresult (cu\w+)\(', f.read(), re.MULTILINE)
with open(sys.argv[2], 'w', encoding='utf-8') as f:
    f.writelines(f'NAME({name})\n' for name in names)

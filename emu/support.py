#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which calls the software GPU does not implement: those of the description whose export in the built
library is a weak one, of emu/cuda/core/stub.c. Usage: support.py LIBRARY CALLS.inc OUTPUT"""
import re
import subprocess
import sys

library, calls, output = sys.argv[1:]
nm = subprocess.run(['nm', '-D', '--defined-only', library], check=True, stdout=subprocess.PIPE, text=True)
weak = {line.split()[2] for line in nm.stdout.splitlines() if line.split()[1] in 'Ww'}
described = re.findall(r'^TSM_CUDA_CALL\(\d+, (\w+),', open(calls).read(), re.M)
missing = [name for name in described if name in weak]
with open(output, 'w') as out:
    out.write('/* Made by emu/support.py of the built library. */\n')
    out.write(f'#define EMU_CALL_COUNT {len(described)}\n')
    out.write(f'#define EMU_MISSING_COUNT {len(missing)}\n')
    out.write('#define EMU_MISSING_CALLS(call)')
    out.write(''.join(f' \\\n    call({name})' for name in missing) + '\n')

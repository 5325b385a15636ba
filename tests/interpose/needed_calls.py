# SPDX-License-Identifier: Apache-2.0
"""Recording makes no system call that capture/process/sandbox.c does not try a program's seccomp filter on: programs of each API are run
plain and recorded, and what is called only then is looked for in the list. usage: needed_calls.py SOURCE BUILD"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
TESTS, FAKE = BUILD / 'tests', BUILD / 'tests/drm/libfake_drm.so'
SETTINGS = [{}, {'TS_STACKS': 'all', 'TS_CHECKSUM': 'command'}, {'TS_CONTENTS': '0', 'TS_THREADS': '1', 'TS_VK_MEMORY': 'pages'}]
PROGRAMS = [('programs/saxpy', []), ('programs/graphs', []), ('programs/managed', []),
            ('hsa/hsa_dispatch', ['hsa_kernels.hsaco']), ('hsa/hsa_virtual', ['hsa_kernels.hsaco']),
            ('vulkan/vk_writes', []), ('vulkan/vk_steps', []),
            ('drm/drm_modes', ['amdgpu']), ('drm/drm_modes', ['i915']), ('drm/drm_modes', ['nouveau']), ('drm/drm_modes', ['vgem'])]


def called(program, arguments, environment, folder):
    """The names of the system calls that a program makes; None if it cannot be traced."""
    log = folder / 'calls'
    log.unlink(missing_ok=True)
    subprocess.run(['strace', '-f', '-qq', '-e', 'signal=none', '-o', log, program, *arguments], env=environment, cwd=program.parent,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    text = log.read_text(encoding='utf-8', errors='replace') if log.exists() else ''
    return set(re.findall(r'^\d+ +(?:<\.\.\. )?(\w+)[( ]', text, re.MULTILINE)) or None


def check(path, arguments, folder):
    program = TESTS / path
    preload = [FAKE] if path.startswith('drm/') else []
    base = {**os.environ, 'LD_LIBRARY_PATH': f'{BUILD}/emu:{FAKE.parent}', 'TS_TEST_PTX': str(TESTS / 'programs/kernels.ptx'),
            'TS_DRM': 'all', 'FAKE_DRM': arguments[0] if arguments else 'amdgpu', 'LD_PRELOAD': ' '.join(map(str, preload))}
    drivers = sorted(glob.glob('/usr/share/vulkan/icd.d/lvp*.json'))
    if drivers:
        base['VK_ICD_FILENAMES'] = drivers[0]
    plain = called(program, arguments, base, folder)
    if plain is None:
        return None
    source = (SOURCE / 'capture/process/sandbox.c').read_text(encoding='utf-8')
    needed = set(re.findall(r'SYS_(\w+)', re.search(r'needed\[\] = \{(.*?)\};', source, re.DOTALL).group(1)))
    bad = 0
    for settings in SETTINGS:
        recorded = called(program, arguments, {**base, **settings, 'TS_OUTPUT': str(folder / 't.sbt'),
                                               'LD_PRELOAD': ' '.join(map(str, [BUILD / 'interpose/libts_capture.so', *preload]))}, folder)
        missing = sorted(recorded - plain - needed)
        if missing or not (folder / 't.sbt').exists():
            print(path, *arguments, settings, 'not in the list:' if missing else 'not recorded', *missing)
            bad += 1
        (folder / 't.sbt').unlink(missing_ok=True)
    return bad


def main():
    if not shutil.which('strace'):
        return 77
    with tempfile.TemporaryDirectory() as folder:
        results = [check(path, arguments, Path(folder)) for path, arguments in PROGRAMS if (TESTS / path).exists()]
    if None in results or not results:
        return 77
    return sum(results) > 0


sys.exit(main())

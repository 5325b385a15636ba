# SPDX-License-Identifier: Apache-2.0
"""GPU files where there is no /proc, or next to no stack (drm_odd.c). usage: drm_places_test.py NAME; environment:
drm_test.py's."""

import os
import sys
import tempfile

from drm_test import CAPTURE, FAKE, Recorded, equal, main, run, view


def without_proc(mode, folder):
    """A program in a place where nothing is in /proc; None: such cannot be made here."""
    preload = f'LD_PRELOAD={CAPTURE}:{FAKE}'
    program = f'mount -t tmpfs none /proc && exec env {preload} {os.environ["TS_TEST_ODD"]} {mode}'
    ran = run(['unshare', '-Urm', 'sh', '-c', program], [], FAKE_DRM='vgem', FAKE_DRM_NAMELESS='1',
              TS_OUTPUT=f'{folder}/t.sbt')
    return None if 'unshare:' in ran.stderr or 'mount:' in ran.stderr else ran


def no_proc():
    """Without /proc, all is recorded but what only a name tells; that is said, once."""
    for mode, said in (('numbers', 0), ('nameless', 1)):
        with tempfile.TemporaryDirectory(prefix='ts-drm.') as folder:
            ran = without_proc(mode, folder)
            if ran is None:
                sys.exit(77)
            _, records = view(f'{folder}/t.sbt')
        equal(f'{mode}: ran', (ran.returncode, ran.stderr.count('may be of a GPU'), len(ran.stderr.splitlines())), (0, said, said))
        equal(f'{mode}: one file', [r['args']['how'] for r in records if r['call'] == 'gpu_file'], ['opened'])
        equal(f'{mode}: recorded', len([r for r in records if 'GET_CAP' in r['call']]), 0 if said else 5)
        equal(f'{mode}: marked', [r['args']['what'] for r in records if r['call'] == 'unmodelled'],
              ['a descriptor that could not be looked at'] * said)


def little():
    """Next to no stack: what the program's own call takes there, and some 700 bytes."""
    for place, size in (('handler', '1024'), ('coroutine', '1536'), ('thread', '16416')):
        for later in ([], ['later']):
            for settings in ({}, {'TS_CHECKSUM': 'sync', 'TS_STACKS': 'all'}):
                r = Recorded('little', place, size, *later, program=os.environ['TS_TEST_ODD'], LD_BIND_NOW='1', **settings)
                names = ('GET_CAP', 'VERSION', 'CREATE_DUMB', 'gpu_mmap', 'gpu_munmap', 'gpu_dup')
                equal(f'{place} {later}', [len(r.calls(name)) for name in names],
                      [count * (1 + len(later)) for count in (2, 1, 1, 1, 1, 1)])


if __name__ == '__main__':
    main(globals())

# SPDX-License-Identifier: Apache-2.0
"""What becomes of mappings and descriptors (drm_maps.c). usage: drm_lives_test.py NAME; environment: drm_test.py's."""

import os

from drm_test import Recorded, equal, main, replay, true, unmodelled

LIVES = {  # of mappings: is the trace tainted?
    **dict.fromkeys(('duplicated', 'closed', 'closed_object', 'renumbered', 'read_only', 'rights_later',
                     'rights_later_by_number', 'rights_gone', 'rights_refused', 'moved', 'moved_closed', 'moved_over',
                     'doubled', 'move_refused', 'mapped_over', 'map_refused', 'twice', 'many_offsets', 'threads',
                     'forked', 'mapped_late', 'mapped_again'), False),
    **dict.fromkeys(('write_only', 'rights_of_a_part', 'moved_in_part', 'unmapped_in_part', 'private_mapping'), True)}


def lives():
    """Whatever becomes of mappings and descriptors: the program's output stays, a replay finds the same, or says
    that it cannot tell; a device that is late, wrong or idle is never the same."""
    for mode, tainted in LIVES.items():
        r = Recorded(mode, driver='amdgpu', program=os.environ['TS_TEST_MAPS'])
        equal(f'{mode}: tainted', bool(unmodelled(r)), tainted)
        for device in ({}, {'FAKE_DRM_LATE': '1'}, {'FAKE_DRM_TAKEN': '1'}):
            status, result = replay(r.trace, 'amdgpu', **device)
            equal(f'{mode}: {device} {result.get("error")}', status, 2 if tainted else 0)
            true(f'{mode}: compared', tainted or result['checksum_count'] > 0)
        for device in ({'FAKE_DRM_WRONG': '1'}, {'FAKE_DRM_WRONG': '1', 'FAKE_DRM_LATE': '1'}):
            status, result = replay(r.trace, 'amdgpu', **device)
            true(f'{mode}: {device}: {status} {result.get("why")}', status in ((1, 2) if tainted or mode == 'mapped_late' else (1,)))
        status, result = replay(r.trace, 'amdgpu', FAKE_DRM_IDLE='1')
        true(f'{mode}: idle: {status}', status in (1, 2))


def lives_late():
    """The same, of a device that was late when it was recorded."""
    for mode, tainted in LIVES.items():
        r = Recorded(mode, driver='amdgpu', program=os.environ['TS_TEST_MAPS'], TS_CHECKSUM='sync', FAKE_DRM_LATE='1')
        for device in ({}, {'FAKE_DRM_LATE': '1'}):
            status, result = replay(r.trace, 'amdgpu', **device)
            equal(f'{mode}: {device} {result.get("error")}', status, 2 if tainted else 0)
        status, result = replay(r.trace, 'amdgpu', FAKE_DRM_WRONG='1', FAKE_DRM_LATE='1')
        true(f'{mode}: wrong: {status}', status in ((1, 2) if tainted or mode == 'mapped_late' else (1,)))


if __name__ == '__main__':
    main(globals())

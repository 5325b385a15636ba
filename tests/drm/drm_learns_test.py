# SPDX-License-Identifier: Apache-2.0
"""Ways to learn that the device is done (drm_learns.c). usage: drm_learns_test.py DRIVER; environment: drm_test.py's."""

import os
import sys

from drm_test import Recorded, equal, failures, replay, true

ALL = bool(os.environ.get('TS_TEST_ALL'))  # else one in three ways and settings
PATIENT = ('syncobj', 'timeline', 'query', 'file_info', 'poll', 'ppoll', 'select', 'pselect', 'epoll', 'number')
FILES = PATIENT[3:]
WAYS = {'amdgpu': ('wait_cs', 'wait_idle', 'wait_fences', *PATIENT),
        'i915': ('gem_wait', 'busy', 'set_domain', *PATIENT),
        'nouveau': ('cpu_prep',),
        'virtio_gpu': ('wait', *FILES),
        'xe': ('user_fence', *PATIENT)}
LATE, WRONG = {'FAKE_DRM_LATE': '1'}, {'FAKE_DRM_WRONG': '1'}
SETTINGS = ({}, {'TS_CHECKSUM': 'sync'}, LATE, {'TS_CHECKSUM': 'sync', **LATE})


def learns(driver, way, settings):
    """The program writes over what the device has read and written: a replay finds the same, also on a device that
    is late; never on one that is wrong, or does nothing."""
    r = Recorded(driver, way, driver=driver, program=os.environ['TS_TEST_LEARNS'], **settings)
    name = f'{driver} {way} {settings}'
    for device in ({}, LATE, {'FAKE_DRM_TAKEN': '1'}, {**LATE, 'FAKE_DRM_TAKEN': '1'}):
        status, result = replay(r.trace, driver, **device)
        equal(f'{name}: {device} {result.get("error")} {result.get("why")}', status, 0)
        true(f'{name}: compared', result['checksum_count'] > 0)
    for device in (WRONG, {**WRONG, **LATE}):
        status, result = replay(r.trace, driver, **device)
        equal(f'{name}: {device} {result.get("error")} {result.get("why")}', status, 1)
    status, result = replay(r.trace, driver, FAKE_DRM_IDLE='1')
    # xe's user fences are written all the same: docs/drm.md says what is not found then
    true(f'{name}: idle: {status} {result.get("why")}', status in ((0, 1, 2) if driver == 'xe' else (1, 2)))


def reads():
    """What GEM_PREAD gave the program is not in the trace, and so not compared."""
    r = Recorded('i915', 'pread', driver='i915', program=os.environ['TS_TEST_LEARNS'])
    for device in ({}, LATE, WRONG, {**WRONG, **LATE}):
        status, result = replay(r.trace, 'i915', **device)
        equal(f'pread: {device}: error', result.get('error'), None)
        true(f'pread: {device}: {status}', status == 2 or (status == 1 and 'FAKE_DRM_WRONG' in device))


def low(driver, way, closed):
    """GPU files and sync files are descriptors 0 to 2, which the program began without."""
    command = f'exec {os.environ["TS_TEST_LEARNS"]} {driver} {way} {closed}'
    r = Recorded('-c', command, driver=driver, program='/bin/sh')
    for device, expected in (({}, 0), (LATE, 0), (WRONG, 1), ({**WRONG, **LATE}, 1)):
        status, result = replay(r.trace, driver, **device)
        equal(f'{driver} {way} {closed}: {device} {result.get("why")}', status, expected)


def rings(driver):
    """io_uring: nobody sees what it tells; never "same"."""
    r = Recorded(driver, 'ring', driver=driver, program=os.environ['TS_TEST_LEARNS'])
    if not r.traces or not r.calls('gpu_mmap') or not r.output:
        return  # this machine has none
    for device in ({}, LATE, WRONG, {**WRONG, **LATE}):
        status, result = replay(r.trace, driver, **device)
        expected = (1, 2) if 'FAKE_DRM_WRONG' in device else (2,)
        true(f'{driver} ring: {device}: {status} {result.get("why")}', status in expected)


def main(driver):
    ways = [(way, settings) for plain in WAYS[driver] for way in (plain, f'ask_{plain}')
            for settings in SETTINGS
            if not (plain == 'number' and settings.get('FAKE_DRM_LATE'))]
    ways += [('pipelined', settings) for settings in SETTINGS if driver == 'amdgpu']
    for way, settings in ways if ALL else ways[::3]:
        learns(driver, way, settings)
    for way in ('poll', 'select', 'epoll', 'file_info') if driver in ('amdgpu', 'i915', 'virtio_gpu') else ():
        for closed in ('0<&-', '0<&- 2>&-', '1>&- 2>&-', '0<&- 1>&- 2>&-') if ALL else ('0<&- 2>&-',):
            low(driver, way, closed)
    if driver in ('amdgpu', 'i915', 'virtio_gpu'):
        rings(driver)
    if driver == 'i915':
        reads()
    print('\n'.join(failures))
    sys.exit(bool(failures))


if __name__ == '__main__':
    main(sys.argv[1])

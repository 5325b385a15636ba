# SPDX-License-Identifier: Apache-2.0
"""What a replay does not issue, and traces that an enemy made. usage: drm_hostile_test.py NAME; environment: drm_test.py's."""

import os

from drm_test import DRIVERS, Recorded, equal, main, replay, run


def refused():
    """Before anything runs: another driver, what is not safe, what is not known."""
    r = Recorded('amdgpu', driver='amdgpu')
    status, result = replay(r.trace, 'i915')
    equal('driver', (status, result['error']), (2, 'no device in /dev/dri has the driver amdgpu'))
    r = Recorded('unsafe')
    status, result = replay(r.trace, 'vgem')
    equal('unsafe', (status, 'DRM_IOCTL_GEM_FLINK is not among the ioctls that are safe' in result['error']), (2, True))
    r = Recorded('unknown')
    status, result = replay(r.trace, 'vgem')
    equal('unknown', (status, 'ioctl 0xc010647d is not known' in result['error']), (2, True))


def refused_requests():
    """Nothing is issued but what the record is of, on a file that has it."""
    r = Recorded('vgem')
    create, altered = str(r.calls('MODE_CREATE_DUMB')[0]['seq']), r.trace.with_name('altered.sbt')
    for change, why in ((('slot', create, f'2:{0xc02064a3}'), 'ioctl 0xc02064a3 is not DRM_IOCTL_MODE_CREATE_DUMB'),
                        (('type', create, 5 << 16 | 169), 'is no ioctl of the file')):  # DRM_IOCTL_I915_GEM_CREATE
        altered.unlink(missing_ok=True)
        run([os.environ['TS_TEST_ALTER'], r.trace, altered, *change], [])
        status, result = replay(altered, 'vgem')
        equal(why, (status, why in result['error']), (2, True))


def hostile():
    """What was recorded becomes the same memory again; what was damaged becomes an error."""
    for mode, driver in DRIVERS.items():
        r = Recorded(mode, driver=driver)
        shown = run([os.environ['TS_TEST_HOSTILE'], r.trace], [])
        equal(mode, (shown.returncode, shown.stderr), (0, ''))


if __name__ == '__main__':
    main(globals())

# SPDX-License-Identifier: Apache-2.0
"""Every number of 64 bits in an ioctl's argument may be an address: api/drm/drm.api says of each what it is.

usage: drm_pointers.py ROOT COMPILER HEADERS...   (folders in which drm.h lies; those that are not there are passed
over)"""

import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / 'api' / 'gen'))
import drm_model  # noqa: E402


def undescribed(model):
    """STRUCT.MEMBER of each member that the compiler alone has told us of."""
    for struct in model.structs:
        if struct.borrowed or struct.name == 'u64':
            continue  # the description's own, and a number that is the whole argument
        for member in struct.members:
            is_wide = member.size == 8 and member.form == 'ONE' and member.kind in ('UINT', 'HOSTPTR')
            if is_wide and not model.description.member_rule(struct.name, member.name):
                yield f'{struct.name}.{member.name}'


def main():
    found = 0
    for folder in map(pathlib.Path, sys.argv[3:]):
        if not (folder / 'drm.h').exists():
            continue
        model = drm_model.make(sys.argv[2], folder, ROOT / 'api/drm/drm.api', ROOT / 'api/drm/drm.ids')
        for name in undescribed(model):
            print(f'api/drm/drm.api does not say what {name} is ({folder}): an address, or hex, uint, devptr?')
            found += 1
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())

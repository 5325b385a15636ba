#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of the kernel's headers and our description. Called by Meson; nothing of it is committed.

    generate_drm.py COMPILER HEADERS api/drm/drm.api api/drm/drm.ids OUTPUT...
    generate_drm.py COMPILER HEADERS api/drm/drm.api api/drm/drm.ids --pin

COMPILER: a gcc that knows -gbtf. HEADERS: the folder that drm.h lies in. OUTPUT is a path; its last
part says what to make. --pin appends to drm.ids what of these headers is not there yet.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import drm_model
import drm_tables
import pinned


def main():
    compiler, folder, *paths = sys.argv[1:]
    api, ids, *outputs = map(pathlib.Path, paths)

    def pin(model):
        pinned.pin(ids, drm_model.Ids(ids).known, [
            (what, names, drm_model.Ids.FIRST[what][0])
            for what, names in (('ioctl', sorted(i.name for i in model.ioctls)),
                                ('struct', sorted(s.name for s in model.structs)))])

    pinned.run(outputs, lambda: drm_model.make(compiler, folder, api, ids), drm_tables.make, pin)


if __name__ == '__main__':
    main()

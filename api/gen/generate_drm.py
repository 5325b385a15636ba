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
import description
import drm_model
import drm_tables


def pin(model, path):
    """Append the numbers of what is new."""
    known, lines = drm_model.Ids(path).known, []
    for what, names in (('ioctl', sorted(i.name for i in model.ioctls)),
                        ('struct', sorted(s.name for s in model.structs))):
        number = max(known[what].values(), default=drm_model.Ids.FIRST[what][0] - 1)
        for name in names:
            if name not in known[what]:
                number += 1
                lines.append(f'{what} {number} {name}\n')
    with path.open('a', encoding='utf-8') as out:
        out.writelines(lines)
    print(f'{len(lines)} added')


def main():
    compiler, folder, *paths = sys.argv[1:]
    api, ids, *outputs = map(pathlib.Path, paths)
    try:
        model = drm_model.make(compiler, folder, api, ids)
    except description.Problems as problems:
        sys.exit(str(problems))
    if outputs == [pathlib.Path('--pin')]:
        pin(model, ids)
        return
    texts = drm_tables.make(model)
    for path in outputs:
        path.write_text(texts[path.name], encoding='utf-8')


if __name__ == '__main__':
    main()

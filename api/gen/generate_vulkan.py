#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of the Vulkan registry and our description. Called by Meson; nothing of it is committed.

    generate_vulkan.py vk.xml api/vulkan/vulkan.api api/vulkan/vulkan.ids OUTPUT...
    generate_vulkan.py vk.xml api/vulkan/vulkan.api api/vulkan/vulkan.ids --pin

OUTPUT is a path; its last part says what to make. --pin appends to vulkan.ids what of this registry
is not there yet, with the next free numbers.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import description
import vulkan_model
import vulkan_registry
import vulkan_tables


def pin(model, path):
    """Append the numbers of what is new."""
    known = vulkan_model.Ids(path).known
    lines = []
    for what, names in (('object', model.objects),
                        ('struct', [table.name for table in model.structs] +
                         [name for name, _ in model.lists]),
                        ('command', sorted(table.name for table in model.commands))):
        number = max(known[what].values(), default=0)
        for name in names:
            if name not in known[what]:
                number += 1
                lines.append(f'{what} {number} {name}\n')
    with path.open('a', encoding='utf-8') as out:
        out.writelines(lines)
    print(f'{len(lines)} added')


def main():
    registry, api, ids, *outputs = map(pathlib.Path, sys.argv[1:])
    try:
        model = vulkan_model.make(vulkan_registry.read(registry), api, ids)
    except description.Problems as problems:
        sys.exit(str(problems))
    if outputs == [pathlib.Path('--pin')]:
        pin(model, ids)
        return
    texts = vulkan_tables.make(model)
    for path in outputs:
        path.write_text(texts[path.name], encoding='utf-8')


if __name__ == '__main__':
    main()

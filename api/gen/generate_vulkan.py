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
import pinned
import vulkan_model
import vulkan_registry
import vulkan_tables


def main():
    registry, api, ids, *outputs = map(pathlib.Path, sys.argv[1:])

    def pin(model):
        structs = [table.name for table in model.structs] + [name for name, _ in model.lists]
        pinned.pin(ids, vulkan_model.Ids(ids).known,
                   [('object', model.objects, 1), ('struct', structs, 1),
                    ('command', sorted(table.name for table in model.commands), 1)])

    pinned.run(outputs, lambda: vulkan_model.make(vulkan_registry.read(registry), api, ids),
               vulkan_tables.make, pin)


if __name__ == '__main__':
    main()

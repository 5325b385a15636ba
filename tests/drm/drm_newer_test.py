#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules for ioctls that the kernel's headers here lack hold as soon as headers have them.

    drm_newer_test.py FOLDER_OF_GENERATOR COMPILER HEADERS DRM_API DRM_IDS"""

import pathlib
import shutil
import sys
import tempfile
import unittest

generator, compiler, headers, api, ids = sys.argv[1:]
del sys.argv[1:]
sys.path.insert(0, generator)
import drm_model  # noqa: E402

# Linux 6.13
NEWER = '''
struct drm_set_client_name { __u64 name_len; __u64 name; };
#define DRM_IOCTL_SET_CLIENT_NAME DRM_IOWR(0xD1, struct drm_set_client_name)
'''

# Linux 6.18
CONTEXTS = '''
struct drm_panfrost_jm_ctx_create { __u32 handle; __u32 priority; };
struct drm_panfrost_jm_ctx_destroy { __u32 handle; __u32 pad; };
#define DRM_IOCTL_PANFROST_JM_CTX_CREATE DRM_IOWR(DRM_COMMAND_BASE + 0x0a, struct drm_panfrost_jm_ctx_create)
#define DRM_IOCTL_PANFROST_JM_CTX_DESTROY DRM_IOWR(DRM_COMMAND_BASE + 0x0b, struct drm_panfrost_jm_ctx_destroy)
'''
REQUIREMENTS = '__u32 requirements;'


def add(path, text):
    """Adds declarations to a header, unless it has them."""
    if text.split()[1] not in path.read_text():
        head, end, rest = path.read_text().rpartition('#endif')
        path.write_text(head + text + end + rest)


def made(change):
    """The model of the headers here after `change` of a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / 'drm'
        shutil.copytree(headers, copy)
        change(copy)
        return drm_model.make(compiler, str(copy), pathlib.Path(api), pathlib.Path(ids))


def find(rows, name):
    return next(one for one in rows if one.name == name)


class Newer(unittest.TestCase):
    def test_text_of_a_new_ioctl(self):
        model = made(lambda copy: add(copy / 'drm.h', NEWER))
        name = find(find(model.structs, 'drm_set_client_name').members, 'name')
        self.assertTrue(find(model.ioctls, 'DRM_IOCTL_SET_CLIENT_NAME').safe)
        self.assertEqual((name.kind, name.form, name.count), ('TEXT', 'LIST', 'MEMBER'))

    @unittest.skipUnless((pathlib.Path(headers) / 'panfrost_drm.h').is_file(), 'no header of the driver')
    def test_a_context_is_part_of_a_stream(self):
        def change(copy):
            path = copy / 'panfrost_drm.h'
            add(path, CONTEXTS)
            if 'jm_ctx_handle' not in path.read_text():
                path.write_text(path.read_text().replace(
                    REQUIREMENTS, REQUIREMENTS + ' __u32 jm_ctx_handle; __u32 pad;'))

        model = made(change)
        create, destroy = (find(model.ioctls, f'DRM_IOCTL_PANFROST_JM_CTX_{what}')
                           for what in ('CREATE', 'DESTROY'))
        members = find(model.structs, 'drm_panfrost_submit').members
        handle, requirements = find(members, 'jm_ctx_handle'), find(members, 'requirements')
        self.assertEqual((create.kind, destroy.kind), ('SBT_KIND_CREATE', 'SBT_KIND_DESTROY'))
        self.assertEqual(handle.kind, 'HANDLE')
        stream = find(model.ioctls, 'DRM_IOCTL_PANFROST_SUBMIT').stream
        self.assertEqual([place[0] for place in stream], [handle.offset, requirements.offset])


if __name__ == '__main__':
    unittest.main()

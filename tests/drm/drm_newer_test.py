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


class Newer(unittest.TestCase):
    def test_text_of_a_new_ioctl(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / 'drm'
            shutil.copytree(headers, copy)
            drm = copy / 'drm.h'
            if 'DRM_IOCTL_SET_CLIENT_NAME' not in drm.read_text():
                head, end, rest = drm.read_text().rpartition('#endif')
                drm.write_text(head + NEWER + end + rest)
            model = drm_model.make(compiler, str(copy), pathlib.Path(api), pathlib.Path(ids))
        ioctl = next(one for one in model.ioctls if one.name == 'DRM_IOCTL_SET_CLIENT_NAME')
        struct = next(one for one in model.structs if one.name == 'drm_set_client_name')
        name = next(one for one in struct.members if one.name == 'name')
        self.assertTrue(ioctl.safe)
        self.assertEqual((name.kind, name.form, name.count), ('TEXT', 'LIST', 'MEMBER'))


if __name__ == '__main__':
    unittest.main()

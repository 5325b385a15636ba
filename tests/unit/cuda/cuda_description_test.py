#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the generator refuses, and where it says the mistake is.

    cuda_description_test.py FOLDER_OF_GENERATOR
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import description  # noqa: E402
import traits  # noqa: E402

ENUMS = 'enum CUresult\n    CUDA_SUCCESS 0\n'
HEAD = 'object event CUevent\nfamily test\n'  # two lines: the call under test is on line 3


def problems_of(calls, enums=ENUMS):
    with tempfile.TemporaryDirectory() as folder:
        api, constants = (pathlib.Path(folder) / name for name in ('x.api', 'x.enums'))
        api.write_text(HEAD + calls)
        constants.write_text(enums)
        try:
            traits.read(api, constants)
        except description.Problems as problems:
            return str(problems).replace(folder + '/', '').splitlines()
    return []


class Refused(unittest.TestCase):
    def refused(self, calls, *expected):
        self.assertEqual(problems_of(calls), list(expected))

    def test_nothing_in_a_good_description(self):
        self.refused('1 cuX(CUevent *e, size_t n, const void *p)\n    generated create\n'
                     '    p: bytes[n * 4]\n')

    def test_unknown_status(self):
        self.refused('1 cuX(int a)\n    guessed query\n',
                     'x.api:4: unknown status "guessed": one of generated, hook, unmodelled, '
                     'made')

    def test_unknown_option(self):
        self.refused('1 cuX(int a)\n    generated query quickly\n',
                     'x.api:4: unknown option "quickly"')

    def test_unknown_trait(self):
        self.refused('1 cuX(int a)\n    generated query\n    a: odd\n',
                     'x.api:5: unknown trait "odd"')

    def test_unknown_parameter(self):
        self.refused('1 cuX(int a)\n    generated query\n    b: uint\n',
                     'x.api:5: cuX has no parameter b')

    def test_length_of_no_parameter(self):
        self.refused('1 cuX(const void *p)\n    generated query\n    p: bytes[count]\n',
                     'x.api:5: "count" names count, which is no parameter')

    def test_id_used_twice(self):
        self.refused('1 cuX(int a)\n    generated query\n1 cuY(int a)\n    generated query\n',
                     'x.api:5: id 1 is already at x.api:3')

    def test_name_used_twice(self):
        self.refused('1 cuX(int a)\n    generated query\n2 cuX(int a)\n    generated query\n',
                     'x.api:5: cuX is already at x.api:3')

    def test_role_used_twice(self):
        self.refused('1 cuX(CUevent a, CUevent b)\n    generated query\n    a: role=parent\n'
                     '    b: role=parent\n', 'x.api:3: cuX has several fields of role parent')

    def test_address_of_the_program_cannot_be_replayed(self):
        self.refused('1 cuX(const void *p)\n    generated state\n',
                     'x.api:3: p is an address of the program: cuX cannot be replayed from its '
                     'description (replay=hook or replay=none)')

    def test_unknown_c_type(self):
        self.refused('1 cuX(CUnew a)\n    generated query\n',
                     'x.api:3: unknown C type "CUnew": one of the type lines must name it')

    def test_like_itself(self):
        self.refused('1 cuX(int a)\n    like cuY\n2 cuY(int a)\n    like cuX\n',
                     'x.api:3: cuX is like itself', 'x.api:5: cuY is like itself')

    def test_replayed_like_another_layout(self):
        self.refused('1 cuX(int a)\n    generated state replay=hook\n'
                     '2 cuY(int b)\n    generated state replay=hook:cuX\n',
                     'x.api:5: cuY cannot be replayed like cuX')

    def test_constant_twice(self):
        self.assertEqual(problems_of('', ENUMS + '    CUDA_SUCCESS 1\n'),
                         ['x.enums:3: CUDA_SUCCESS is already at x.enums:2'])


if __name__ == '__main__':
    unittest.main()

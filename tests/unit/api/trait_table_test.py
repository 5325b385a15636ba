#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the generator of traits makes of descriptions, and what it refuses.

    trait_table_test.py FOLDER_OF_GENERATOR"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import description  # noqa: E402
import trait_table  # noqa: E402

IDS = 'command 1 vkGo\ncommand 2 vkGoOn\ncommand 3 vkStop\n'


def made(text, ids=''):
    with tempfile.TemporaryDirectory() as folder:
        api, numbers = pathlib.Path(folder) / 'x.api', pathlib.Path(folder) / 'x.ids'
        api.write_text(text)
        numbers.write_text(ids)
        try:
            return trait_table.make([api], [numbers])
        except description.Problems as problems:
            return str(problems).replace(folder + '/', '')


class Traits(unittest.TestCase):
    def test_alias_and_like(self):
        text = made('7 cuA(int a)\n    generated state\n    traits global\n8 cuB = cuA\n'
                    '9 cuC(long a)\n    like cuB\n10 cuD()\n    generated query\n')
        for name in ('cuA', 'cuB', 'cuC'):
            self.assertIn(f'{{"{name}", "", SBT_API_X,\n     TSM_TRAIT_GLOBAL}}', text)
        self.assertNotIn('cuD', text)

    def test_patterns_add_up(self):
        text = made('vkGo*\n    traits transient\nvkGoOn\n    traits binds=m\n', IDS)
        self.assertIn('{"vkGo", "", SBT_API_X,\n     TSM_TRAIT_TRANSIENT}', text)
        self.assertIn('{"vkGoOn", "m", SBT_API_X,\n     TSM_TRAIT_TRANSIENT | TSM_TRAIT_BINDS}', text)
        self.assertNotIn('"vkStop"', text)

    def test_refused(self):
        for line, problem in (('traits flies', 'unknown trait "flies"'),
                              ('traits global=x', '"global" has no member')):
            self.assertIn(f'x.api:2: {problem}', made(f'7 cuA(int a)\n    {line}\n'))
        self.assertIn('unknown trait "round"', made('objects round: event\n'))
        self.assertIn('unknown trait "round"', made('api-traits round\n'))
        self.assertIn('no call is called vkGone', made('vkGone*\n    traits global\n', IDS))


if __name__ == '__main__':
    unittest.main()

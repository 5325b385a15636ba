# SPDX-License-Identifier: Apache-2.0
"""What all templates share: the head of a generated file, wrapped lists."""

import textwrap

HEAD = '''/* SPDX-License-Identifier: Apache-2.0
 * Made by api/gen/generate.py. Do not edit: change the description. */
'''


def guarded(macro, body):
    return f'{HEAD}#ifndef {macro}\n#define {macro}\n\n{body}\n#endif\n'


def wrap(text, indent=4):
    """`text` in lines of at most 100 columns, those after the first indented."""
    return '\n'.join(textwrap.wrap(text, 100, subsequent_indent=' ' * indent,
                                   break_long_words=False, break_on_hyphens=False))

# SPDX-License-Identifier: Apache-2.0
"""What all templates share: the head of a generated file, wrapped lists."""

import textwrap

HEAD = '''/* SPDX-License-Identifier: Apache-2.0
 * Made by api/gen/generate.py. Do not edit: change the description. */
'''


def guarded(macro, body):
    return f'{HEAD}#ifndef {macro}\n#define {macro}\n\n{body}\n#endif\n'


def wrap(text, indent=4):
    """`text` in lines of at most 100 columns, those after the first indented; broken behind commas
    where that is enough."""
    for glue in (lambda part: part.replace(' ', '\0'), lambda part: part):
        whole = ', '.join(map(glue, text.lstrip().split(', ')))
        lines = textwrap.wrap(whole, 100, initial_indent=' ' * (len(text) - len(text.lstrip())),
                              subsequent_indent=' ' * indent, break_long_words=False,
                              break_on_hyphens=False)
        if max(map(len, lines), default=0) <= 100:
            break
    return '\n'.join(lines).replace('\0', ' ')

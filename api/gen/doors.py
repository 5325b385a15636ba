# SPDX-License-Identifier: Apache-2.0
"""Exports of an API whose library offers its functions in a table, too (struct tsm_door): each is one
jump, and so is no frame on the stack; and the tables themselves, X.tables."""

import re

from text import HEAD

DOOR_SIZE = 32  # sizeof(struct tsm_door)

# In one place per file: assembly knows the order of the rows only.
DOORS = '''\
__attribute__((visibility("hidden"))) extern struct tsm_door {api}_doors[];
struct tsm_door {api}_doors[] = {{
{doors}}};
_Static_assert(sizeof(struct tsm_door) == {size}, "known to api/gen/doors.py");

__asm__(".text\\n"
{exports}        ".previous\\n");
'''

EXPORT = '''\
        ".globl {name}\\n.type {name}, @function\\n.p2align 4\\n"
        "{name}:\\nendbr64\\njmp *{api}_doors+{offset}(%rip)\\n.size {name}, .-{name}\\n"
'''


def recorder(name):
    return f'recorded_{name}'


def doors(api, names):
    """`names` are those of functions, or pairs: a symbol, and the function that it is."""
    pairs = [(name, name) if isinstance(name, str) else name for name in names]
    return DOORS.format(
        api=api, size=DOOR_SIZE,
        doors=''.join(f'    {{(void *){recorder(name)}, (void *){recorder(name)}, NULL, NULL}},\n'
                      for _, name in pairs),
        exports=''.join(EXPORT.format(api=api, name=symbol, offset=DOOR_SIZE * index)
                        for index, (symbol, _) in enumerate(pairs)))


def read_tables(path):
    """[(what the table is, [names of a function])]. A line "table WHAT" and words below it; those that
    are one function are joined by "="."""
    tables = []
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        words = line.split('#', 1)[0].split()
        if words and words[0] == 'table' and len(words) == 2:
            tables.append((words[1], []))
        elif words and (not tables or not all(re.fullmatch(r'\w+(=\w+)*|-', word)
                                              for word in words)):
            raise SystemExit(f'{path}:{number}: expected "table WHAT" or names of functions')
        elif words:
            tables[-1][1].extend('' if word == '-' else word for word in words)
    return tables


def tables_inc(tables):
    text = HEAD
    for what, names in tables:
        rows = ''.join(f'    "{name}",\n' for name in names)
        text += f'static const char *const names_{what}[] = {{\n{rows}}};\n'
        text += (f'static const struct tsm_table table_{what} = '
                 f'{{names_{what}, sizeof(names_{what}) / sizeof(names_{what}[0])}};\n\n')
    return text

# SPDX-License-Identifier: Apache-2.0
"""What the generators have in common that read somebody else's registry or headers, and a file X.ids with the
numbers that are pinned for its names."""

import pathlib
import sys

import description


def pin(path, known, groups):
    """Appends to X.ids the names that are not there yet. `groups`: (kind, names, the kind's first number)."""
    lines = []
    for what, names, first in groups:
        number = max(known[what].values(), default=first - 1)
        for name in names:
            if name not in known[what]:
                number += 1
                lines.append(f'{what} {number} {name}\n')
    with path.open('a', encoding='utf-8') as out:
        out.writelines(lines)
    print(f'{len(lines)} added')


def run(outputs, make_model, make_texts, pin_new):
    """Writes the outputs, or pins what is new if --pin stands in their place. make_texts() gives a text by file
    name."""
    try:
        model = make_model()
    except description.Problems as problems:
        sys.exit(str(problems))
    if outputs == [pathlib.Path('--pin')]:
        pin_new(model)
        return
    texts = make_texts(model)
    for path in outputs:
        path.write_text(texts[path.name], encoding='utf-8')

# SPDX-License-Identifier: Apache-2.0
"""What the generators of described APIs have in common: files to read, files to make."""

import pathlib
import sys

import description
import doors
import traits


def run(makers):
    """argv: X.api X.enums [X.tables] OUTPUT...; the last part of an output's path says which maker."""
    names = list(map(pathlib.Path, sys.argv[1:]))
    tables = [path for path in names if path.suffix == '.tables']
    api_path, enums_path, *outputs = [path for path in names if path not in tables]
    try:
        api = traits.read(api_path, enums_path)
    except description.Problems as problems:
        sys.exit(str(problems))
    for path in tables:
        api.tables = doors.read_tables(path)
    for path in outputs:
        path.write_text(makers[path.name](api), encoding='utf-8')

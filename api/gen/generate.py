#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of an API's description. Called by Meson; what it writes is never committed.

    generate.py OUT_DIR api/cuda/cuda.api api/cuda/cuda.enums OUTPUT...

OUTPUT is a file name, one of those in OUTPUTS.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import declarations
import description

OUTPUTS = {
    'cuda_enums.h': declarations.enums_h,
    'cuda_prototypes.h': declarations.prototypes_h,
    'cuda_calls.inc': declarations.calls_inc,
}


def main():
    out, api_path, enums_path, *outputs = sys.argv[1:]
    try:
        api = description.read(api_path, enums_path)
    except description.Problems as problems:
        sys.exit(str(problems))
    for name in outputs:
        (pathlib.Path(out) / name).write_text(OUTPUTS[name](api), encoding='utf-8')


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of an API's description. Called by Meson; what it writes is never committed.

    generate.py api/cuda/cuda.api api/cuda/cuda.enums OUTPUT...

OUTPUT is a path; its last part, one of those in OUTPUTS, says what to make.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import declarations
import outputs
import replay_calls
import schema
import wrappers

OUTPUTS = {
    'cuda_enums.h': declarations.enums_h,
    'cuda_prototypes.h': declarations.prototypes_h,
    'cuda_calls.inc': declarations.calls_inc,
    'cuda_calls.h': schema.calls_h,
    'cuda_real.h': wrappers.real_h,
    'cuda_wrappers.h': wrappers.wrappers_h,
    'cuda_hooks.h': wrappers.hooks_h,
    'cuda_replay_calls.h': replay_calls.replay_calls_h,
    'cuda_schema.c': schema.schema_c,
    'cuda_wrappers.c': wrappers.wrappers_c,
    'cuda_replay_calls.c': replay_calls.replay_calls_c,
    'cuda_coverage.inc': schema.coverage_inc,
}

if __name__ == '__main__':
    outputs.run(OUTPUTS)

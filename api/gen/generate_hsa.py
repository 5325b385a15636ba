#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of the description of HSA. Called by Meson; what it writes is never committed.

    generate_hsa.py api/hsa/hsa.api api/hsa/hsa.enums api/hsa/hsa.tables OUTPUT...

OUTPUT is a path; its last part, one of those in OUTPUTS, says what to make.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import doors
import hsa_calls
import outputs
import schema

OUTPUTS = {
    'hsa_prototypes.h': hsa_calls.prototypes_h,
    'hsa_calls.inc': hsa_calls.calls_inc,
    'hsa_calls.h': schema.calls_h,
    'hsa_real.h': hsa_calls.real_h,
    'hsa_coverage.inc': schema.coverage_inc,
    'hsa_schema.c': schema.schema_c,
    'hsa_wrappers.h': hsa_calls.wrappers_h,
    'hsa_hooks.h': hsa_calls.hooks_h,
    'hsa_tables.inc': lambda api: doors.tables_inc(api.tables),
    'hsa_wrappers.c': hsa_calls.wrappers_c,
    'hsa_replay_calls.h': hsa_calls.replay_calls_h,
    'hsa_replay_calls.c': hsa_calls.replay_calls_c,
}

if __name__ == '__main__':
    outputs.run(OUTPUTS)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of the description of HIP. Called by Meson; what it writes is never committed.

    generate_hip.py api/hip/hip.api api/hip/hip.enums api/hip/hip.tables OUTPUT...

OUTPUT is a path; its last part, one of those in OUTPUTS, says what to make.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import doors
import hip_calls
import outputs
import schema

OUTPUTS = {
    'hip_prototypes.h': hip_calls.prototypes_h,
    'hip_calls.h': schema.calls_h,
    'hip_coverage.inc': schema.coverage_inc,
    'hip_schema.c': schema.schema_c,
    'hip_wrappers.h': hip_calls.wrappers_h,
    'hip_tables.inc': lambda api: doors.tables_inc(api.tables),
    'hip_wrappers.c': hip_calls.wrappers_c,
}

if __name__ == '__main__':
    outputs.run(OUTPUTS)

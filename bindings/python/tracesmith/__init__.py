# SPDX-License-Identifier: Apache-2.0
"""Reads, compares and replays traces of GPU commands, over libtracesmith.

    import tracesmith
    with tracesmith.open("t.sbt") as trace:
        for record in trace:
            print(record.seq, record.name, record.fields)
        frame = trace.to_pandas()  # commands, with kernels and times on the device
"""

from ._library import ClosedError, ErrorCode, TraceSmithError, find_tool
from ._record import record
from ._table import Table
from ._trace import (STREAM_NONE, CallCount, End, Field, FieldType, Kind, Missing, Record, Records, Schema, Session,
                     Statistics, Totals, Trace, open)
from ._verdict import (ArmResult, CheckResult, Difference, DiffResult, ReplayResult, Verdict, check, diff, replay)

__version__ = "0.1.0"
__all__ = [
    "ArmResult", "CallCount", "CheckResult", "ClosedError", "DiffResult", "Difference", "End", "ErrorCode", "Field",
    "FieldType", "Kind", "Missing", "Record", "Records", "ReplayResult", "STREAM_NONE", "Schema", "Session", "Statistics",
    "Table", "Totals", "Trace", "TraceSmithError", "Verdict", "check", "diff", "find_tool", "open", "record", "replay"]

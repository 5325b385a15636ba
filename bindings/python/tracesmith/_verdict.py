# SPDX-License-Identifier: Apache-2.0
"""Comparing, replaying and checking traces."""

from __future__ import annotations

import ctypes
import dataclasses
import enum
from typing import Any, Iterable, List, Optional, Tuple

from . import _abi
from ._library import ErrorCode, TraceSmithError, check as raise_error, decode, library
from ._trace import STREAM_NONE, Range, Trace, _selection


class Verdict(enum.IntEnum):
    """Answers of replays and comparisons; docs/verdict.md says which when."""

    SAME = 0
    DIFFERENT = 1
    CANNOT_TELL = 2
    NOTHING_TO_COMPARE = 3


@dataclasses.dataclass(frozen=True)
class Difference:
    """One place where bytes differ."""

    seq: int
    stream: Optional[int]
    position: int
    call: str
    function: str
    buffer: int
    buffer_size: int
    offset: int
    byte_count: int
    expected: bytes
    actual: bytes
    stack: int
    place: str


@dataclasses.dataclass(frozen=True)
class DiffResult:
    verdict: Verdict
    why: str
    compared_count: int
    first: Optional[Difference]
    seq_a: Optional[int]
    seq_b: Optional[int]
    field: str
    value_a: str
    value_b: str


@dataclasses.dataclass(frozen=True)
class ReplayResult:
    verdict: Verdict
    why: str
    command_count: int
    skipped_count: int
    checksum_count: int
    difference_count: int
    uncompared_count: int
    unmodelled_count: int
    tainted_count: int
    translated_count: int
    elapsed_ns: int
    recorded_ns: int
    is_software: bool
    device: str
    digest: bytes
    differences: Tuple[Difference, ...]


@dataclasses.dataclass(frozen=True)
class ArmResult:
    """One way in which --check replays."""

    arm: str
    run_count: int
    verdict: Verdict
    is_exact: bool
    why: str
    difference: Optional[Difference]


@dataclasses.dataclass(frozen=True)
class CheckResult:
    verdict: Verdict
    why: str
    arms: Tuple[ArmResult, ...]
    scratch_byte_count: int


def _difference(d: _abi.Difference) -> Difference:
    return Difference(d.seq, None if d.stream == STREAM_NONE else d.stream, d.position, decode(d.call),
                      decode(d.function), d.buffer, d.buffer_size, d.offset, d.byte_count, bytes(d.expected)[: d.shown],
                      bytes(d.actual)[: d.shown], d.stack, decode(d.place))


def _copied(kind: Any, raw: Any, **rest: Any) -> Any:
    """Makes a result of the members of a struct that have its fields' names."""
    values = {}
    for field in dataclasses.fields(kind):
        if field.name not in rest:
            value = getattr(raw, field.name)
            values[field.name] = decode(value) if isinstance(value, bytes) else value
    return kind(**values, **rest)


def diff(a: Trace, b: Trace, *, streams: Optional[Iterable[int]] = None, ignore_addresses: bool = False,
         readbacks_only: bool = False) -> DiffResult:
    """Compares two traces, and finds the first command that differs."""
    options = _abi.DiffOptions(ignore_addresses=ignore_addresses, readbacks_only=readbacks_only)
    if streams is not None:
        numbers = list(streams)
        options.streams = (ctypes.c_uint32 * max(len(numbers), 1))(*numbers)
        options.stream_count = len(numbers)
    raw = _abi.DiffResult()
    with a._reader.use() as first, b._reader.use() as second:
        raise_error(library().tsm_diff(ctypes.byref(raw), first, second, ctypes.byref(options)))
        is_different = raw.verdict == Verdict.DIFFERENT
        result: DiffResult = _copied(
            DiffResult, raw, verdict=Verdict(raw.verdict), first=_difference(raw.first) if is_different else None,
            seq_a=raw.seq_a if is_different else None, seq_b=raw.seq_b if is_different else None)
    return result


def _options(device: Optional[str], library_path: Optional[str], selection: _abi.Filter, lossy: bool,
             timeout_ns: int) -> _abi.ReplayOptions:
    return _abi.ReplayOptions(device=None if device is None else device.encode(),
                              library=None if library_path is None else library_path.encode(), filter=selection,
                              lossy=lossy, timeout_ns=timeout_ns)


_has_replayed = False


def replay(trace: Trace, *, device: Optional[str] = None, driver: Optional[str] = None, keep_going: bool = False,
           lossy: bool = False, streams: Optional[Iterable[Optional[int]]] = None, seq: Optional[Range] = None,
           timeout_ns: int = 0) -> ReplayResult:
    """Sends the commands to a GPU again and compares. `device`: "emu" is the software GPU; `driver`: path of the
    driver's library, where programs would not find it. A driver stays in this process."""
    global _has_replayed
    differences: List[Difference] = []

    def on_difference(user: Any, difference: Any) -> None:
        differences.append(_difference(difference.contents))

    options = _options(device, driver, _selection(streams, seq, None), lossy, timeout_ns)
    options.keep_going = keep_going
    options.on_difference = _abi.OnDifference(on_difference)
    raw, pointer = _abi.ReplayResult(), ctypes.c_void_p()
    _has_replayed = True
    with trace._reader.use() as reader:
        raise_error(library().tsm_replay_create(ctypes.byref(pointer), reader, ctypes.byref(options)))
        try:
            raise_error(library().tsm_replay_run(pointer, ctypes.byref(raw)))
        finally:
            library().tsm_replay_destroy(pointer)
    result: ReplayResult = _copied(ReplayResult, raw, verdict=Verdict(raw.verdict), digest=bytes(raw.digest.bytes),
                                   differences=tuple(differences))
    return result


def check(trace: Trace, *, count: int = 1, device: Optional[str] = None, driver: Optional[str] = None,
          lossy: bool = False, timeout_ns: int = 0) -> CheckResult:
    """Is the GPU's work deterministic? Replays in several ways, `count` times each, in processes forked from this one:
    nothing may have been replayed in it before."""
    if _has_replayed:
        raise TraceSmithError("something was replayed in this process, and drivers do not survive a fork; check in "
                              "another one, or run 'tracesmith replay --check'", ErrorCode.STATE)
    options = _options(device, driver, _abi.Filter(), lossy, timeout_ns)
    raw = _abi.CheckResult()
    with trace._reader.use() as reader:
        raise_error(library().tsm_check_run(ctypes.byref(raw), reader, ctypes.byref(options), count, None, None))
        arms = tuple(_arm(raw.arms[i]) for i in range(raw.arm_count))
    return CheckResult(Verdict(raw.verdict), decode(raw.why), arms, raw.scratch_byte_count)


def _arm(raw: _abi.ArmResult) -> ArmResult:
    verdict = Verdict(raw.verdict)
    return ArmResult(decode(library().tsm_arm_name(raw.arm)), raw.run_count, verdict, raw.is_exact, decode(raw.why),
                     _difference(raw.difference) if verdict == Verdict.DIFFERENT else None)

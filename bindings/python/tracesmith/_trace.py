# SPDX-License-Identifier: Apache-2.0
"""Traces, their records and tables."""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import os
import struct
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import _abi
from ._library import Handle, check, decode, library
from ._table import Table

STREAM_NONE = 0xFFFFFFFF
Range = Tuple[int, int]
Path = Union[str, "os.PathLike[str]"]


class Kind(enum.IntEnum):
    """What a call is for: enum sbt_kind."""

    OTHER = 0
    INIT = 1
    QUERY = 2
    CREATE = 3
    DESTROY = 4
    COMMAND = 5
    SYNC = 6
    STATE = 7
    SIGNAL = 8
    WAIT = 9
    META = 10


class FieldType(enum.IntEnum):
    """How a field's 64 bits are to be read: enum sbt_field_type."""

    UINT = 1
    INT = 2
    HEX = 3
    BOOL = 4
    F32 = 5
    F64 = 6
    HANDLE = 7
    DEVPTR = 8
    HOSTPTR = 9
    SIZE = 10
    ENUM = 11
    FLAGS = 12
    STRING = 13
    BYTES = 14
    BLOB = 15
    STRUCT = 16


class End(enum.IntEnum):
    """How a recording ended: enum sbt_end."""

    NONE = 0
    FINISHED = 1
    RECOVERED = 2
    CUT = 3


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    type: int  # FieldType
    role: int  # enum sbt_role
    detail: str


@dataclasses.dataclass(frozen=True)
class Schema:
    """A call, as the trace describes it."""

    type: int
    name: str
    kind: int  # Kind
    flags: int
    fields: Tuple[Field, ...]


@dataclasses.dataclass(frozen=True)
class Session:
    id: bytes
    start_monotonic_ns: int
    start_realtime_ns: int
    required_features: int
    optional_features: int
    clock: str


@dataclasses.dataclass(frozen=True)
class Totals:
    record_count: int
    lost_count: int
    filtered_count: int
    tainted_count: int
    stream_count: int


@dataclasses.dataclass(frozen=True)
class Missing:
    """What was recorded and cannot be read, as far as it is known."""

    record_count: int
    chunk_count: int
    end: bool
    first_seq: Optional[int]


@dataclasses.dataclass(frozen=True)
class CallCount:
    name: str
    type: int
    count: int
    failed_count: int
    duration_ns: int


@dataclasses.dataclass(frozen=True)
class Statistics:
    calls: Tuple[CallCount, ...]
    record_count: int
    command_count: int
    first_ns: int
    last_ns: int
    bytes_sent: int
    bytes_read_back: int
    unmodelled_count: int
    tainted_count: int
    lost_count: int
    stream_count: int
    thread_count: int


FieldValue = Union[int, float, bool, str, bytes, None]


class Record:
    """A copy of one record; it stays valid. Texts and bytes that lie elsewhere in the trace need it open."""

    def __init__(self, trace: Trace, raw: _abi.Record, kernel: Optional[str]) -> None:
        self._trace = trace
        self.seq: int = raw.seq
        self.time_ns: int = raw.time_ns
        self.duration_ns: int = raw.duration_ns
        self.type: int = raw.type
        self.thread: int = raw.thread
        self.stream: Optional[int] = None if raw.stream == STREAM_NONE else raw.stream
        self.stack: int = raw.stack
        self.position: int = raw.position
        self.result: int = raw.result
        self.flags: int = raw.flags
        self.kernel = kernel
        self.slots: Tuple[int, ...] = tuple(raw.slots[: raw.slot_count]) if raw.slot_count else ()
        self.data: bytes = ctypes.string_at(raw.data, raw.data_size) if raw.data and raw.data_size else b""

    @property
    def schema(self) -> Optional[Schema]:
        return self._trace.schema(self.type)

    @property
    def name(self) -> str:
        """Name of the call."""
        schema = self.schema
        return schema.name if schema else f"{self.type:#x}"

    @property
    def fields(self) -> Dict[str, FieldValue]:
        """Arguments by name: numbers, texts, bytes; of a blob its size, or None where it is malformed."""
        schema = self.schema
        pairs = zip(schema.fields, range(len(self.slots))) if schema else ()
        return {field.name: self._trace._field(self, field, place) for field, place in pairs}

    def blob(self, name: str) -> bytes:
        """Returns the bytes of a blob field, wherever the trace keeps them."""
        schema = self.schema
        for place, field in enumerate(schema.fields if schema else ()):
            if field.name == name and field.type == FieldType.BLOB and place < len(self.slots):
                return self._trace._blob(self, place)
        raise KeyError(f"{self.name} has no blob {name!r}")

    def stacktrace(self) -> List[str]:
        """Returns the host's stack of the call, innermost frame first."""
        return self._trace.stack(self.stack)

    def _raw(self) -> _abi.Record:
        raw = _abi.Record(type=self.type, slot_count=len(self.slots), data_size=len(self.data))
        raw.slots = (ctypes.c_uint64 * max(len(self.slots), 1))(*self.slots)
        raw.keep = ctypes.create_string_buffer(self.data, max(len(self.data), 1))  # as long as `raw`
        raw.data = ctypes.addressof(raw.keep)
        return raw

    def __repr__(self) -> str:
        return f"<Record {self.seq} {self.name}>" if not self._trace.is_closed else f"<Record {self.seq}>"


class Records(Iterator[Record]):
    """Goes through records; `close()` frees the cursor before its end."""

    def __init__(self, trace: Trace, reader: Handle, selection: Optional[_abi.Filter]) -> None:
        self._trace, self._reader = trace, reader
        self._lock = threading.Lock()  # a cursor belongs to one thread at a time
        pointer = ctypes.c_void_p()
        with reader.use() as r:
            check(library().sbt_cursor_create(ctypes.byref(pointer), r, selection, 0))
            self._cursor = Handle(pointer, library().sbt_cursor_destroy, "the iterator", reader)

    def __next__(self) -> Record:
        raw = ctypes.POINTER(_abi.Record)()
        with self._lock, self._reader.use() as reader, self._cursor.use() as cursor:
            if not check(library().sbt_cursor_next(cursor, ctypes.byref(raw))):
                raise StopIteration
            kernel = library().tsm_record_kernel(reader, raw)
            return Record(self._trace, raw.contents, None if kernel is None else decode(kernel))

    def close(self) -> None:
        self._cursor.close()


def _selection(streams: Optional[Iterable[Optional[int]]], seq: Optional[Range], time_ns: Optional[Range]) -> _abi.Filter:
    selection = _abi.Filter()
    if streams is not None:
        numbers = [STREAM_NONE if number is None else number for number in streams]
        selection.streams = (ctypes.c_uint32 * max(len(numbers), 1))(*numbers)
        selection.stream_count = len(numbers)
    for name, end, bounds in (("seq_first", "seq_end", seq), ("time_first_ns", "time_end_ns", time_ns)):
        if bounds is not None:
            if not 0 <= bounds[0] < bounds[1]:
                raise ValueError(f"{bounds}: not a range from a begin to an end after it")
            setattr(selection, name, bounds[0])
            setattr(selection, end, bounds[1])
    return selection


def _names(function: str) -> List[str]:
    """Returns the texts of an enum's values, from 0 on."""
    found: List[str] = []
    while True:
        text = getattr(library(), function)(len(found))
        if text is None:
            return found
        found.append(decode(text))


class Trace:
    """A trace that is open. Several threads may use it; after close() everything raises ClosedError."""

    def __init__(self, path: Path) -> None:
        pointer = ctypes.c_void_p()
        name = os.fsdecode(path)
        if "\0" in name:
            raise ValueError("a path with a NUL in it")
        check(library().sbt_reader_open(ctypes.byref(pointer), os.fsencode(path)))
        self.path = name
        self._reader = Handle(pointer, library().sbt_reader_destroy, name)
        self._schemas: Dict[int, Optional[Schema]] = {}
        self._symbols: Optional[Handle] = None
        self._symbols_lock = threading.Lock()

    def close(self) -> None:
        """Ends the use of the trace. Tables that were read, and copies of records, stay."""
        self._reader.close()
        with self._symbols_lock:
            if self._symbols:
                self._symbols.close()

    @property
    def is_closed(self) -> bool:
        return self._reader.is_closed

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    # ---- what it is ------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        with self._reader.use() as r:
            s = library().sbt_reader_session(r).contents
            return Session(bytes(s.id), s.start_monotonic_ns, s.start_realtime_ns, s.required_features,
                           s.optional_features, decode(s.clock))

    @property
    def totals(self) -> Totals:
        with self._reader.use() as r:
            t = library().sbt_reader_totals(r).contents
            return Totals(*(getattr(t, field.name) for field in dataclasses.fields(Totals)))

    @property
    def end(self) -> int:
        """How the recording ended: an End, or the number of one that is newer than this package."""
        with self._reader.use() as r:
            value = int(library().sbt_reader_end(r))
        return End(value) if value in End.__members__.values() else value

    @property
    def metadata(self) -> Dict[str, str]:
        name, value = ctypes.c_char_p(), ctypes.c_char_p()
        found = {}
        with self._reader.use() as r:
            for i in range(library().sbt_reader_metadata_count(r)):
                library().sbt_reader_metadata(r, i, ctypes.byref(name), ctypes.byref(value))
                found[decode(name.value)] = decode(value.value)
        return found

    @property
    def damage(self) -> List[str]:
        """Faults of the file that are known by now, a sentence each."""
        with self._reader.use() as r:
            return [decode(library().sbt_reader_damage(r, i)) for i in range(library().sbt_reader_damage_count(r))]

    def examine(self) -> Missing:
        """Reads the whole file, and returns what is missing."""
        with self._reader.use() as r:
            check(library().sbt_reader_examine(r))
        return self.missing

    @property
    def missing(self) -> Missing:
        m = _abi.Missing()
        with self._reader.use() as r:
            library().sbt_reader_missing(r, 0, ctypes.byref(m))
        return Missing(m.record_count, m.chunk_count, m.end, None if m.first_seq == 2**64 - 1 else m.first_seq)

    def schema(self, type: int) -> Optional[Schema]:
        """Returns the description of a record type; None: the trace has none."""
        if type not in self._schemas:
            with self._reader.use() as r:
                found = library().sbt_reader_schema(r, type)
                self._schemas[type] = _copy_schema(found.contents) if found else None
        return self._schemas[type]

    @property
    def schemas(self) -> List[Schema]:
        with self._reader.use() as r:
            count = library().sbt_reader_schema_count(r)
            return [_copy_schema(library().sbt_reader_schema_at(r, i).contents) for i in range(count)]

    # ---- records ---------------------------------------------------------------------------

    def __iter__(self) -> Records:
        return Records(self, self._reader, None)

    def records(self, *, streams: Optional[Iterable[Optional[int]]] = None, seq: Optional[Range] = None,
                time_ns: Optional[Range] = None) -> Records:
        """Goes through the records of some streams (None in the list: those on no stream) and half-open ranges."""
        return Records(self, self._reader, _selection(streams, seq, time_ns))

    def stack(self, number: int) -> List[str]:
        """Returns the frames of a stack as text, innermost first."""
        size = 4096
        with self._symbols_lock, self._reader.use() as r:
            if self._symbols is None:
                pointer = ctypes.c_void_p()
                check(library().tsm_symbols_create(ctypes.byref(pointer), r))
                self._symbols = Handle(pointer, library().tsm_symbols_destroy, self.path, self._reader)
            while True:
                out = ctypes.create_string_buffer(size)
                with self._symbols.use() as symbols:
                    length = check(library().tsm_symbols_stack(symbols, number, out, size))
                if length < size:
                    return decode(out.value).splitlines()
                size = length + 1

    # ---- tables ----------------------------------------------------------------------------

    def _read(self, kind: Any, name: str, more: Any, labels: Callable[[Any], Dict[str, List[str]]]) -> Table:
        pointer = ctypes.POINTER(kind)()
        calls = {schema.type: schema.name for schema in self.schemas}
        with self._reader.use() as r:
            check(getattr(library(), f"{name}_read")(ctypes.byref(pointer), r, more))
        return Table(pointer, f"{name}_destroy", labels(pointer.contents), calls)

    def record_table(self, *, streams: Optional[Iterable[Optional[int]]] = None, seq: Optional[Range] = None,
                     time_ns: Optional[Range] = None) -> Table:
        """Reads records as columns: seq, time_ns, duration_ns, type, thread, stream, stack, position, result, flags."""
        return self._read(_abi.Records, "tsm_records", _selection(streams, seq, time_ns), lambda table: {})

    def commands(self, *, streams: Optional[Iterable[Optional[int]]] = None, seq: Optional[Range] = None,
                 time_ns: Optional[Range] = None) -> Table:
        """Reads commands as columns, with kernels and times on the device."""

        def labels(table: Any) -> Dict[str, List[str]]:
            return {"kernel": [decode(table.names[i]) for i in range(table.name_count)],
                    "work": _names("tsm_work_name"), "time_kind": ["unknown", "derived", "measured"],
                    "time_axis": ["device", "host", "virtual"]}

        return self._read(_abi.Commands, "tsm_commands", _selection(streams, seq, time_ns), labels)

    def graph(self, *, memory: bool = False) -> Table:
        """Reads the edges of the dependency graph: record `to` had to wait for record `from`. `memory`: also edges
        between commands that access the same bytes."""
        return self._read(_abi.Edges, "tsm_edges", memory,
                          lambda table: {"reason": _names("tsm_dependency_reason_name")})

    def to_pandas(self) -> Any:
        """Returns the commands as a DataFrame."""
        return self.commands().to_pandas()

    def statistics(self, *, streams: Optional[Iterable[Optional[int]]] = None, seq: Optional[Range] = None,
                   time_ns: Optional[Range] = None) -> Statistics:
        """Counts records, calls and bytes."""
        s = _abi.Statistics()
        with self._reader.use() as r:
            check(library().tsm_statistics_collect(ctypes.byref(s), r, _selection(streams, seq, time_ns)))
            try:
                calls = tuple(self._count(s.calls[i]) for i in range(s.call_count))
                rest = {f.name: getattr(s, f.name) for f in dataclasses.fields(Statistics) if f.name != "calls"}
            finally:
                library().tsm_statistics_finish(ctypes.byref(s))
        return Statistics(calls=calls, **rest)

    def _count(self, count: _abi.CallCount) -> CallCount:
        schema = self.schema(count.type)
        return CallCount(schema.name if schema else f"{count.type:#x}", count.type, count.count, count.failed_count,
                         count.duration_ns)

    # ---- fields ----------------------------------------------------------------------------

    def _field(self, record: Record, field: Field, place: int) -> FieldValue:
        value = record.slots[place]
        if field.type == FieldType.INT:
            return value - 2**64 if value >> 63 else value
        if field.type == FieldType.BOOL:
            return bool(value)
        if field.type == FieldType.F32:
            return float(struct.unpack("<f", struct.pack("<I", value & 0xFFFFFFFF))[0])
        if field.type == FieldType.F64:
            return float(struct.unpack("<d", struct.pack("<Q", value))[0])
        if field.type in (FieldType.STRING, FieldType.ENUM):
            return self._text(field, value)
        if field.type in (FieldType.BYTES, FieldType.STRUCT):
            start, size = value >> 32, value & 0xFFFFFFFF
            return record.data[start: start + size] if start + size <= len(record.data) else None
        if field.type == FieldType.BLOB:
            blob = _abi.Blob()
            raw = record._raw()
            return blob.size if library().sbt_record_blob(raw, place, ctypes.byref(blob)) else None
        return value

    def _text(self, field: Field, value: int) -> FieldValue:
        with self._reader.use() as r:
            if field.type == FieldType.STRING:
                found = library().sbt_reader_string(r, value & 0xFFFFFFFF) if value >> 32 == 0 else None
                return None if found is None else decode(found)
            signed = value - 2**64 if value >> 63 else value
            found = library().sbt_reader_enum_name(r, field.detail.encode(), signed)
            return signed if found is None else decode(found)

    def _blob(self, record: Record, place: int) -> bytes:
        blob, raw = _abi.Blob(), record._raw()
        with self._reader.use() as r:
            if not library().sbt_record_blob(raw, place, ctypes.byref(blob)):
                raise ValueError(f"record {record.seq}: a malformed blob")
            # Its pieces are in the file: no trace's word alone makes this allocate.
            room = bytearray()
            while len(room) < blob.size:
                size = min(blob.size - len(room), 1 << 22)
                part = ctypes.create_string_buffer(size)
                check(library().sbt_reader_blob(r, ctypes.byref(blob), len(room), part, size))
                room += part.raw
        return bytes(room)


def _copy_schema(schema: _abi.Schema) -> Schema:
    fields = tuple(Field(decode(f.name), f.type, f.role, decode(f.detail))
                   for f in (schema.fields[i] for i in range(schema.field_count)))
    return Schema(schema.type, decode(schema.name), schema.kind, schema.flags, fields)


def open(path: Path) -> Trace:
    """Opens a trace."""
    return Trace(path)

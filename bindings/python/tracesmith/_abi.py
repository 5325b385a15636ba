# SPDX-License-Identifier: Apache-2.0
"""Structs and functions of libtracesmith, as its headers declare them. tests/bindings/layout.py compares."""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict, List, Tuple, Type

u8, u32, u64, i64 = c.c_uint8, c.c_uint32, c.c_uint64, c.c_int64
text, flag, size_t, address = c.c_char_p, c.c_bool, c.c_size_t, c.c_void_p


class Filter(c.Structure):
    c_name = "sbt_filter"
    _fields_ = [("streams", c.POINTER(u32)), ("stream_count", size_t), ("seq_first", u64), ("seq_end", u64),
                ("time_first_ns", u64), ("time_end_ns", u64)]


class Record(c.Structure):
    c_name = "sbt_record"
    _fields_ = [("seq", u64), ("time_ns", u64), ("duration_ns", u64), ("type", u32), ("thread", u32), ("stream", u32),
                ("stack", u32), ("position", u64), ("result", i64), ("flags", u32), ("slot_count", u32),
                ("slots", c.POINTER(u64)), ("data", address), ("data_size", size_t)]


class Field(c.Structure):
    c_name = "sbt_field"
    _fields_ = [("name", text), ("type", c.c_int), ("role", c.c_int), ("detail", text)]


class Schema(c.Structure):
    c_name = "sbt_schema"
    _fields_ = [("type", u32), ("name", text), ("kind", c.c_int), ("flags", u32), ("result_enum", text),
                ("field_count", u32), ("fields", c.POINTER(Field))]


class Session(c.Structure):
    c_name = "sbt_session"
    _fields_ = [("id", u8 * 16), ("start_monotonic_ns", u64), ("start_realtime_ns", u64), ("required_features", u64),
                ("optional_features", u64), ("clock", text)]


class Totals(c.Structure):
    c_name = "sbt_totals"
    _fields_ = [("record_count", u64), ("lost_count", u64), ("filtered_count", u64), ("tainted_count", u64),
                ("stream_count", u32)]


class Missing(c.Structure):
    c_name = "sbt_missing"
    _fields_ = [("record_count", u64), ("chunk_count", u64), ("end", flag), ("first_seq", u64)]


class Blob(c.Structure):
    c_name = "sbt_blob"
    _fields_ = [("size", u64), ("piece_count", u64), ("keys", address), ("bytes", address)]


class Key(c.Structure):
    c_name = "sbt_key"
    _fields_ = [("bytes", u8 * 16)]


class CallCount(c.Structure):
    c_name = "tsm_call_count"
    _fields_ = [("type", u32), ("count", u64), ("failed_count", u64), ("duration_ns", u64)]


class Statistics(c.Structure):
    c_name = "tsm_statistics"
    _fields_ = [("calls", c.POINTER(CallCount)), ("call_count", size_t), ("record_count", u64), ("command_count", u64),
                ("first_ns", u64), ("last_ns", u64), ("bytes_sent", u64), ("bytes_read_back", u64),
                ("unmodelled_count", u64), ("tainted_count", u64), ("lost_count", u64), ("stream_count", u32),
                ("thread_count", u32)]


class Difference(c.Structure):
    c_name = "tsm_difference"
    _fields_ = [("seq", u64), ("stream", u32), ("position", u64), ("call", text), ("function", text), ("buffer", u64),
                ("buffer_size", u64), ("offset", u64), ("byte_count", u64), ("expected", u8 * 16), ("actual", u8 * 16),
                ("shown", u32), ("stack", u32), ("place", c.c_char * 128)]


class DiffOptions(c.Structure):
    c_name = "tsm_diff_options"
    _fields_ = [("streams", c.POINTER(u32)), ("stream_count", size_t), ("ignore_addresses", flag),
                ("readbacks_only", flag)]


class DiffResult(c.Structure):
    c_name = "tsm_diff_result"
    _fields_ = [("verdict", c.c_int), ("why", c.c_char * 256), ("compared_count", u64), ("first", Difference),
                ("seq_a", u64), ("seq_b", u64), ("field", c.c_char * 128), ("value_a", c.c_char * 128),
                ("value_b", c.c_char * 128)]


OnDifference = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Difference))


class ReplayOptions(c.Structure):
    c_name = "tsm_replay_options"
    _fields_ = [("backend", text), ("device", text), ("device_map", text), ("library", text), ("filter", Filter),
                ("loop", c.c_uint), ("timed_runs", c.c_uint), ("warmup_runs", c.c_uint), ("time_commands", flag),
                ("pace", c.c_int), ("grain", c.c_int), ("permute", u64), ("delay", u64), ("schedule", text),
                ("dry_run", flag), ("lossy", flag), ("keep_going", flag), ("trust_code", flag), ("validate", flag),
                ("no_spot_checks", flag), ("no_checkpoint", flag), ("timeout_ns", u64), ("fresh_memory", u8),
                ("inspect", address), ("shaders", address), ("shader_count", size_t), ("kernels", address),
                ("kernel_count", size_t), ("progress", address), ("on_difference", OnDifference),
                ("on_time", address), ("user", address)]


class ReplayResult(c.Structure):
    c_name = "tsm_replay_result"
    _fields_ = [("verdict", c.c_int), ("why", c.c_char * 256), ("command_count", u64), ("hollow_count", u64),
                ("skipped_count", u64), ("checkpoint", u32), ("checkpoint_seq", u64), ("jumped_count", u64),
                ("interrupted_count", u64), ("stream_count", u64), ("checksum_count", u64), ("failure_count", u64),
                ("failure", c.c_char * 256), ("fails_otherwise", flag), ("difference_count", u64), ("spot_count", u64),
                ("spot_difference_count", u64), ("uncompared_count", u64), ("timed_count", u64),
                ("unmodelled_count", u64), ("tainted_count", u64), ("translated_count", u64),
                ("translated_word_count", u64), ("untranslated_count", u64), ("early_count", u64), ("ahead_count", u64),
                ("replaced_count", u64), ("validation_count", u64), ("inspect_file_count", u64), ("elapsed_ns", u64),
                ("recorded_ns", u64), ("loop_count", c.c_uint), ("loop_kept", flag), ("loop_min_ns", u64),
                ("loop_median_ns", u64), ("loop_max_ns", u64), ("timed_run_count", c.c_uint), ("clocks", c.c_char * 256),
                ("is_software", flag), ("device", c.c_char * 128), ("digest", Key)]


class ArmResult(c.Structure):
    c_name = "tsm_arm_result"
    _fields_ = [("arm", c.c_int), ("run_count", c.c_uint), ("verdict", c.c_int), ("is_exact", flag),
                ("why", c.c_char * 512), ("scratch_byte_count", u64), ("difference", Difference)]


ARM_COUNT = 7


class CheckResult(c.Structure):
    c_name = "tsm_check_result"
    _fields_ = [("verdict", c.c_int), ("why", c.c_char * 512), ("first", ReplayResult), ("arms", ArmResult * ARM_COUNT),
                ("arm_count", c.c_uint), ("scratch_byte_count", u64)]


class Records(c.Structure):
    c_name = "tsm_records"
    _fields_ = [("count", size_t), ("seq", c.POINTER(u64)), ("time_ns", c.POINTER(u64)), ("duration_ns", c.POINTER(u64)),
                ("type", c.POINTER(u32)), ("thread", c.POINTER(u32)), ("stream", c.POINTER(u32)),
                ("stack", c.POINTER(u32)), ("position", c.POINTER(u64)), ("result", c.POINTER(i64)),
                ("flags", c.POINTER(u32))]


class Commands(c.Structure):
    c_name = "tsm_commands"
    _fields_ = [("count", size_t), ("seq", c.POINTER(u64)), ("position", c.POINTER(u64)), ("type", c.POINTER(u32)),
                ("stream", c.POINTER(u32)), ("thread", c.POINTER(u32)), ("stack", c.POINTER(u32)),
                ("part", c.POINTER(u32)), ("work", c.POINTER(u32)), ("kernel", c.POINTER(u32)), ("bytes", c.POINTER(u64)),
                ("call_ns", c.POINTER(u64)), ("returned_ns", c.POINTER(u64)), ("time_kind", c.POINTER(u32)),
                ("time_axis", c.POINTER(u32)), ("start_ns", c.POINTER(i64)), ("end_ns", c.POINTER(i64)),
                ("error_ns", c.POINTER(u64)), ("name_count", size_t), ("names", c.POINTER(text))]


class Edges(c.Structure):
    c_name = "tsm_edges"
    _fields_ = [("count", size_t), ("from", c.POINTER(u64)), ("to", c.POINTER(u64)), ("object", c.POINTER(u64)),
                ("reason", c.POINTER(u32)), ("is_redundant", c.POINTER(u8)), ("is_unordered", c.POINTER(u8))]


STRUCTS: List[Type[c.Structure]] = [
    Filter, Record, Field, Schema, Session, Totals, Missing, Blob, Key, CallCount, Statistics, Difference, DiffOptions,
    DiffResult, ReplayOptions, ReplayResult, ArmResult, CheckResult, Records, Commands, Edges]

P = c.POINTER
reader = cursor = symbols = replay = c.c_void_p
# name -> result, arguments
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "tsm_strerror": (text, [c.c_int]),
    "tsm_error_message": (text, []),
    "sbt_reader_open": (c.c_int, [P(reader), text]),
    "sbt_reader_destroy": (None, [reader]),
    "sbt_reader_session": (P(Session), [reader]),
    "sbt_reader_totals": (P(Totals), [reader]),
    "sbt_reader_end": (c.c_int, [reader]),
    "sbt_reader_damage_count": (size_t, [reader]),
    "sbt_reader_damage": (text, [reader, size_t]),
    "sbt_reader_missing": (None, [reader, u64, P(Missing)]),
    "sbt_reader_examine": (c.c_int, [reader]),
    "sbt_reader_metadata_count": (size_t, [reader]),
    "sbt_reader_metadata": (None, [reader, size_t, P(text), P(text)]),
    "sbt_reader_schema": (P(Schema), [reader, u32]),
    "sbt_reader_schema_count": (size_t, [reader]),
    "sbt_reader_schema_at": (P(Schema), [reader, size_t]),
    "sbt_reader_enum_name": (text, [reader, text, i64]),
    "sbt_reader_string": (text, [reader, u32]),
    "sbt_reader_blob": (c.c_int, [reader, P(Blob), u64, c.c_void_p, size_t]),
    "sbt_record_blob": (flag, [P(Record), u32, P(Blob)]),
    "sbt_cursor_create": (c.c_int, [P(cursor), reader, P(Filter), c.c_uint]),
    "sbt_cursor_destroy": (None, [cursor]),
    "sbt_cursor_next": (c.c_int, [cursor, P(P(Record))]),
    "tsm_record_kernel": (text, [reader, P(Record)]),
    "tsm_records_read": (c.c_int, [P(P(Records)), reader, P(Filter)]),
    "tsm_records_destroy": (None, [P(Records)]),
    "tsm_commands_read": (c.c_int, [P(P(Commands)), reader, P(Filter)]),
    "tsm_commands_destroy": (None, [P(Commands)]),
    "tsm_edges_read": (c.c_int, [P(P(Edges)), reader, flag]),
    "tsm_edges_destroy": (None, [P(Edges)]),
    "tsm_work_name": (text, [c.c_int]),
    "tsm_time_kind_name": (text, [c.c_int]),
    "tsm_dependency_reason_name": (text, [c.c_int]),
    "tsm_symbols_create": (c.c_int, [P(symbols), reader]),
    "tsm_symbols_destroy": (None, [symbols]),
    "tsm_symbols_stack": (i64, [symbols, u32, c.c_char_p, size_t]),
    "tsm_statistics_collect": (c.c_int, [P(Statistics), reader, P(Filter)]),
    "tsm_statistics_finish": (None, [P(Statistics)]),
    "tsm_diff": (c.c_int, [P(DiffResult), reader, reader, P(DiffOptions)]),
    "tsm_replay_create": (c.c_int, [P(replay), reader, P(ReplayOptions)]),
    "tsm_replay_destroy": (None, [replay]),
    "tsm_replay_run": (c.c_int, [replay, P(ReplayResult)]),
    "tsm_check_run": (c.c_int, [P(CheckResult), reader, P(ReplayOptions), c.c_uint, c.c_void_p, c.c_void_p]),
    "tsm_arm_name": (text, [c.c_int]),
}

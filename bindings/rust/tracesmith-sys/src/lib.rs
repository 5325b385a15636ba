// SPDX-License-Identifier: Apache-2.0
//! Structs and functions of libtracesmith, as its headers declare them: `man 3 tracesmith` says what they do. The crate
//! `tracesmith` is safe. `tests/bindings/layout.py` compares these declarations with the headers.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

macro_rules! opaque {
    ($($name:ident)*) => { $(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
            _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
        }
    )* };
}

opaque! { sbt_reader sbt_cursor tsm_symbols tsm_replay }

/// A member of a struct: its name, offset and size. "-" is the whole struct.
pub type Member = (&'static str, &'static str, usize, usize);

fn size_behind<T>(_: *const T) -> usize {
    core::mem::size_of::<T>()
}

/// Declares structs, and a list of their members for the comparison with the headers.
macro_rules! structs {
    ($($name:ident { $($member:ident: $kind:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                $(pub $member: $kind,)*
            }
        )*

        #[doc(hidden)]
        pub fn layouts() -> Vec<Member> {
            let mut found = Vec::new();
            $(
                let room = core::mem::MaybeUninit::<$name>::uninit();
                let base = room.as_ptr();
                found.push((stringify!($name), "-", 0, core::mem::size_of::<$name>()));
                $({
                    // SAFETY: the place is inside of `room`, and nothing is read.
                    let place = unsafe { core::ptr::addr_of!((*base).$member) };
                    let name = stringify!($member).trim_start_matches("r#");
                    found.push((stringify!($name), name, place as usize - base as usize, size_behind(place)));
                })*
            )*
            found
        }
    };
}

/// Declares functions, and a list of them with the number of their arguments.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        extern "C" {
            $(pub fn $name($($argument: $kind),*) $(-> $result)?;)*
        }

        #[doc(hidden)]
        pub const FUNCTIONS: &[(&str, usize)] = &[
            $((stringify!($name), <[&str]>::len(&[$(stringify!($argument)),*])),)*
        ];
    };
}

structs! {
    sbt_filter {
        streams: *const u32,
        stream_count: usize,
        seq_first: u64,
        seq_end: u64,
        time_first_ns: u64,
        time_end_ns: u64,
    }
    sbt_record {
        seq: u64,
        time_ns: u64,
        duration_ns: u64,
        r#type: u32,
        thread: u32,
        stream: u32,
        stack: u32,
        position: u64,
        result: i64,
        flags: u32,
        slot_count: u32,
        slots: *const u64,
        data: *const u8,
        data_size: usize,
    }
    sbt_field {
        name: *const c_char,
        r#type: c_int,
        role: c_int,
        detail: *const c_char,
    }
    sbt_schema {
        r#type: u32,
        name: *const c_char,
        kind: c_int,
        flags: u32,
        result_enum: *const c_char,
        field_count: u32,
        fields: *const sbt_field,
    }
    sbt_session {
        id: [u8; 16],
        start_monotonic_ns: u64,
        start_realtime_ns: u64,
        required_features: u64,
        optional_features: u64,
        clock: *const c_char,
    }
    sbt_totals {
        record_count: u64,
        lost_count: u64,
        filtered_count: u64,
        tainted_count: u64,
        stream_count: u32,
    }
    sbt_missing {
        record_count: u64,
        chunk_count: u64,
        end: bool,
        first_seq: u64,
    }
    sbt_blob {
        size: u64,
        piece_count: u64,
        keys: *const u8,
        bytes: *const u8,
    }
    sbt_key {
        bytes: [u8; 16],
    }
    tsm_call_count {
        r#type: u32,
        count: u64,
        failed_count: u64,
        duration_ns: u64,
    }
    tsm_statistics {
        calls: *mut tsm_call_count,
        call_count: usize,
        record_count: u64,
        command_count: u64,
        first_ns: u64,
        last_ns: u64,
        bytes_sent: u64,
        bytes_read_back: u64,
        unmodelled_count: u64,
        tainted_count: u64,
        lost_count: u64,
        stream_count: u32,
        thread_count: u32,
    }
    tsm_difference {
        seq: u64,
        stream: u32,
        position: u64,
        call: *const c_char,
        function: *const c_char,
        buffer: u64,
        buffer_size: u64,
        offset: u64,
        byte_count: u64,
        expected: [u8; 16],
        actual: [u8; 16],
        shown: u32,
        stack: u32,
        place: [c_char; 128],
    }
    tsm_diff_options {
        streams: *const u32,
        stream_count: usize,
        ignore_addresses: bool,
        readbacks_only: bool,
    }
    tsm_diff_result {
        verdict: c_int,
        why: [c_char; 256],
        compared_count: u64,
        first: tsm_difference,
        seq_a: u64,
        seq_b: u64,
        field: [c_char; 128],
        value_a: [c_char; 128],
        value_b: [c_char; 128],
    }
    tsm_replay_options {
        backend: *const c_char,
        device: *const c_char,
        device_map: *const c_char,
        library: *const c_char,
        filter: sbt_filter,
        r#loop: c_uint,
        timed_runs: c_uint,
        warmup_runs: c_uint,
        time_commands: bool,
        pace: c_int,
        grain: c_int,
        permute: u64,
        delay: u64,
        schedule: *const c_char,
        dry_run: bool,
        lossy: bool,
        keep_going: bool,
        trust_code: bool,
        validate: bool,
        no_spot_checks: bool,
        no_checkpoint: bool,
        timeout_ns: u64,
        fresh_memory: u8,
        inspect: *const c_void,
        shaders: *const c_void,
        shader_count: usize,
        kernels: *const c_void,
        kernel_count: usize,
        progress: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
        on_difference: Option<unsafe extern "C" fn(*mut c_void, *const tsm_difference)>,
        on_time: Option<unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int>,
        user: *mut c_void,
    }
    tsm_replay_result {
        verdict: c_int,
        why: [c_char; 256],
        command_count: u64,
        hollow_count: u64,
        skipped_count: u64,
        checkpoint: u32,
        checkpoint_seq: u64,
        jumped_count: u64,
        interrupted_count: u64,
        stream_count: u64,
        checksum_count: u64,
        failure_count: u64,
        failure: [c_char; 256],
        fails_otherwise: bool,
        difference_count: u64,
        spot_count: u64,
        spot_difference_count: u64,
        uncompared_count: u64,
        timed_count: u64,
        unmodelled_count: u64,
        tainted_count: u64,
        translated_count: u64,
        translated_word_count: u64,
        untranslated_count: u64,
        early_count: u64,
        ahead_count: u64,
        replaced_count: u64,
        validation_count: u64,
        inspect_file_count: u64,
        elapsed_ns: u64,
        recorded_ns: u64,
        loop_count: c_uint,
        loop_kept: bool,
        loop_min_ns: u64,
        loop_median_ns: u64,
        loop_max_ns: u64,
        timed_run_count: c_uint,
        clocks: [c_char; 256],
        is_software: bool,
        device: [c_char; 128],
        digest: sbt_key,
    }
    tsm_arm_result {
        arm: c_int,
        run_count: c_uint,
        verdict: c_int,
        is_exact: bool,
        why: [c_char; 512],
        scratch_byte_count: u64,
        difference: tsm_difference,
    }
    tsm_check_result {
        verdict: c_int,
        why: [c_char; 512],
        first: tsm_replay_result,
        arms: [tsm_arm_result; TSM_ARM_COUNT],
        arm_count: c_uint,
        scratch_byte_count: u64,
    }
    tsm_records {
        count: usize,
        seq: *const u64,
        time_ns: *const u64,
        duration_ns: *const u64,
        r#type: *const u32,
        thread: *const u32,
        stream: *const u32,
        stack: *const u32,
        position: *const u64,
        result: *const i64,
        flags: *const u32,
    }
    tsm_commands {
        count: usize,
        seq: *const u64,
        position: *const u64,
        r#type: *const u32,
        stream: *const u32,
        thread: *const u32,
        stack: *const u32,
        part: *const u32,
        work: *const u32,
        kernel: *const u32,
        bytes: *const u64,
        call_ns: *const u64,
        returned_ns: *const u64,
        time_kind: *const u32,
        time_axis: *const u32,
        start_ns: *const i64,
        end_ns: *const i64,
        error_ns: *const u64,
        name_count: usize,
        names: *const *const c_char,
    }
    tsm_edges {
        count: usize,
        from: *const u64,
        to: *const u64,
        object: *const u64,
        reason: *const u32,
        is_redundant: *const u8,
        is_unordered: *const u8,
    }
}

pub const TSM_ARM_COUNT: usize = 7;
pub const SBT_STREAM_NONE: u32 = 0xffff_ffff;

functions! {
    fn tsm_strerror(code: c_int) -> *const c_char;
    fn tsm_error_message() -> *const c_char;
    fn sbt_reader_open(out: *mut *mut sbt_reader, path: *const c_char) -> c_int;
    fn sbt_reader_destroy(r: *mut sbt_reader);
    fn sbt_reader_session(r: *const sbt_reader) -> *const sbt_session;
    fn sbt_reader_totals(r: *const sbt_reader) -> *const sbt_totals;
    fn sbt_reader_end(r: *const sbt_reader) -> c_int;
    fn sbt_reader_damage_count(r: *const sbt_reader) -> usize;
    fn sbt_reader_damage(r: *const sbt_reader, index: usize) -> *const c_char;
    fn sbt_reader_missing(r: *mut sbt_reader, seq_end: u64, out: *mut sbt_missing);
    fn sbt_reader_examine(r: *mut sbt_reader) -> c_int;
    fn sbt_reader_metadata_count(r: *const sbt_reader) -> usize;
    fn sbt_reader_metadata(r: *const sbt_reader, index: usize, name: *mut *const c_char, value: *mut *const c_char);
    fn sbt_reader_metadata_find(r: *const sbt_reader, name: *const c_char) -> *const c_char;
    fn sbt_reader_schema(r: *const sbt_reader, kind: u32) -> *const sbt_schema;
    fn sbt_reader_schema_count(r: *const sbt_reader) -> usize;
    fn sbt_reader_schema_at(r: *const sbt_reader, index: usize) -> *const sbt_schema;
    fn sbt_reader_enum_name(r: *const sbt_reader, table: *const c_char, value: i64) -> *const c_char;
    fn sbt_reader_string(r: *mut sbt_reader, id: u32) -> *const c_char;
    fn sbt_reader_blob(
        r: *mut sbt_reader,
        blob: *const sbt_blob,
        offset: u64,
        out: *mut c_void,
        size: usize
    ) -> c_int;
    fn sbt_record_blob(record: *const sbt_record, index: u32, out: *mut sbt_blob) -> bool;
    fn sbt_cursor_create(
        out: *mut *mut sbt_cursor,
        r: *mut sbt_reader,
        filter: *const sbt_filter,
        threads: c_uint
    ) -> c_int;
    fn sbt_cursor_destroy(c: *mut sbt_cursor);
    fn sbt_cursor_next(c: *mut sbt_cursor, out: *mut *const sbt_record) -> c_int;
    fn sbt_cursor_previous(c: *mut sbt_cursor, out: *mut *const sbt_record) -> c_int;
    fn sbt_cursor_seek(c: *mut sbt_cursor, seq: u64) -> c_int;
    fn tsm_record_kernel(reader: *mut sbt_reader, record: *const sbt_record) -> *const c_char;
    fn tsm_records_read(
        out: *mut *mut tsm_records,
        reader: *mut sbt_reader,
        filter: *const sbt_filter
    ) -> c_int;
    fn tsm_records_destroy(table: *mut tsm_records);
    fn tsm_commands_read(
        out: *mut *mut tsm_commands,
        reader: *mut sbt_reader,
        filter: *const sbt_filter
    ) -> c_int;
    fn tsm_commands_destroy(table: *mut tsm_commands);
    fn tsm_edges_read(out: *mut *mut tsm_edges, reader: *mut sbt_reader, has_memory: bool) -> c_int;
    fn tsm_edges_destroy(table: *mut tsm_edges);
    fn tsm_work_name(work: c_int) -> *const c_char;
    fn tsm_time_kind_name(kind: c_int) -> *const c_char;
    fn tsm_dependency_reason_name(reason: c_int) -> *const c_char;
    fn tsm_symbols_create(out: *mut *mut tsm_symbols, reader: *mut sbt_reader) -> c_int;
    fn tsm_symbols_destroy(s: *mut tsm_symbols);
    fn tsm_symbols_stack(s: *mut tsm_symbols, stack: u32, out: *mut c_char, size: usize) -> i64;
    fn tsm_statistics_collect(
        out: *mut tsm_statistics,
        reader: *mut sbt_reader,
        filter: *const sbt_filter
    ) -> c_int;
    fn tsm_statistics_finish(s: *mut tsm_statistics);
    fn tsm_diff(
        out: *mut tsm_diff_result,
        a: *mut sbt_reader,
        b: *mut sbt_reader,
        options: *const tsm_diff_options
    ) -> c_int;
    fn tsm_replay_create(
        out: *mut *mut tsm_replay,
        reader: *mut sbt_reader,
        options: *const tsm_replay_options
    ) -> c_int;
    fn tsm_replay_destroy(replay: *mut tsm_replay);
    fn tsm_replay_run(replay: *mut tsm_replay, result: *mut tsm_replay_result) -> c_int;
    fn tsm_check_run(
        out: *mut tsm_check_result,
        reader: *mut sbt_reader,
        options: *const tsm_replay_options,
        repeat_count: c_uint,
        on_arm: Option<unsafe extern "C" fn(*mut c_void, *const tsm_arm_result)>,
        user: *mut c_void
    ) -> c_int;
    fn tsm_arm_name(arm: c_int) -> *const c_char;
}

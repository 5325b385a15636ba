// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};

use tracesmith_sys as sys;

use crate::error::{check, text, Error, Result};
use crate::record::{Cursor, Schema};
use crate::table::{Commands, Edges, RecordTable};

/// Which records. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Numbers of streams; `u32::MAX` are records on none. `None`: every stream and none.
    pub streams: Option<Vec<u32>>,
    pub seq: Option<Range<u64>>,
    pub time_ns: Option<Range<u64>>,
}

impl Filter {
    /// Returns the struct of C, whose pointers are into this one.
    pub(crate) fn raw(&self) -> Result<sys::sbt_filter> {
        let bounds = |range: &Option<Range<u64>>| match range {
            Some(r) if r.start >= r.end => Err(Error::Argument(format!("{:?} is an empty range", r))),
            Some(r) => Ok((r.start, r.end)),
            None => Ok((0, 0)),
        };
        let (seq_first, seq_end) = bounds(&self.seq)?;
        let (time_first_ns, time_end_ns) = bounds(&self.time_ns)?;
        let streams = self.streams.as_ref();
        Ok(sys::sbt_filter {
            streams: streams.map_or(ptr::null(), |list| list.as_ptr()),
            stream_count: streams.map_or(0, |list| list.len()),
            seq_first,
            seq_end,
            time_first_ns,
            time_end_ns,
        })
    }
}

/// Who wrote the trace, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: [u8; 16],
    pub start_monotonic_ns: u64,
    pub start_realtime_ns: u64,
}

/// Completeness of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub record_count: u64,
    pub lost_count: u64,
    pub filtered_count: u64,
    pub tainted_count: u64,
    pub stream_count: u32,
}

/// What was recorded and cannot be read, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    pub record_count: u64,
    pub chunk_count: u64,
    pub end: bool,
    pub first_seq: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCount {
    pub name: String,
    pub record_type: u32,
    pub count: u64,
    pub failed_count: u64,
    pub duration_ns: u64,
}

/// Counts of records, calls and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    pub calls: Vec<CallCount>,
    pub record_count: u64,
    pub command_count: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub bytes_sent: u64,
    pub bytes_read_back: u64,
    pub lost_count: u64,
    pub stream_count: u32,
    pub thread_count: u32,
}

/// A trace that is open. Threads may share it.
pub struct Reader {
    pointer: NonNull<sys::sbt_reader>,
}

// SAFETY: tracesmith/reader.h: a reader may be shared by threads once open.
unsafe impl Send for Reader {}
unsafe impl Sync for Reader {}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: whatever uses the reader borrows it.
        unsafe { sys::sbt_reader_destroy(self.pointer.as_ptr()) }
    }
}

impl Reader {
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Reader> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes())
            .map_err(|_| Error::Argument("a path with a NUL in it".to_string()))?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the path ends with NUL; *pointer is set on success.
        check(unsafe { sys::sbt_reader_open(&mut pointer, path.as_ptr()) })?;
        Ok(Reader { pointer: NonNull::new(pointer).expect("a reader") })
    }

    pub(crate) fn raw(&self) -> *mut sys::sbt_reader {
        self.pointer.as_ptr()
    }

    /// Makes a text of the library, which lives as long as the reader, one of Rust.
    ///
    /// # Safety
    /// `from` is NULL or such a text.
    pub(crate) unsafe fn borrow(&self, from: *const c_char) -> Option<Cow<'_, str>> {
        (!from.is_null()).then(|| CStr::from_ptr(from).to_string_lossy())
    }

    pub fn session(&self) -> Session {
        // SAFETY: never NULL, and lives as long as the reader.
        let s = unsafe { &*sys::sbt_reader_session(self.raw()) };
        Session { id: s.id, start_monotonic_ns: s.start_monotonic_ns, start_realtime_ns: s.start_realtime_ns }
    }

    pub fn totals(&self) -> Totals {
        // SAFETY: as above.
        let t = unsafe { &*sys::sbt_reader_totals(self.raw()) };
        Totals {
            record_count: t.record_count,
            lost_count: t.lost_count,
            filtered_count: t.filtered_count,
            tainted_count: t.tainted_count,
            stream_count: t.stream_count,
        }
    }

    /// Returns facts about host, process, devices and settings, in file order.
    pub fn metadata(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        let (mut name, mut value) = (ptr::null(), ptr::null());
        // SAFETY: the index is below the count; both texts live as long as the reader.
        unsafe {
            (0..sys::sbt_reader_metadata_count(self.raw()))
                .map(|i| {
                    sys::sbt_reader_metadata(self.raw(), i, &mut name, &mut value);
                    (self.borrow(name).unwrap_or_default(), self.borrow(value).unwrap_or_default())
                })
                .collect()
        }
    }

    /// Returns a sentence for each fault of the file that is known by now.
    pub fn damage(&self) -> Vec<Cow<'_, str>> {
        // SAFETY: the index is below the count, which only grows.
        unsafe {
            (0..sys::sbt_reader_damage_count(self.raw()))
                .filter_map(|i| self.borrow(sys::sbt_reader_damage(self.raw(), i)))
                .collect()
        }
    }

    pub fn missing(&self) -> Missing {
        let mut m = MaybeUninit::<sys::sbt_missing>::zeroed();
        // SAFETY: the function sets all of it; zeroed bytes are one, too.
        let m = unsafe {
            sys::sbt_reader_missing(self.raw(), 0, m.as_mut_ptr());
            m.assume_init()
        };
        Missing {
            record_count: m.record_count,
            chunk_count: m.chunk_count,
            end: m.end,
            first_seq: (m.first_seq != u64::MAX).then_some(m.first_seq),
        }
    }

    /// Reads the whole file, and returns what is missing.
    pub fn examine(&self) -> Result<Missing> {
        // SAFETY: the reader is open.
        check(unsafe { sys::sbt_reader_examine(self.raw()) })?;
        Ok(self.missing())
    }

    /// Returns the description of a record type.
    pub fn schema(&self, record_type: u32) -> Option<Schema<'_>> {
        // SAFETY: NULL, or valid as long as the reader.
        unsafe { sys::sbt_reader_schema(self.raw(), record_type).as_ref() }.map(|raw| Schema::new(self, raw))
    }

    pub fn schemas(&self) -> Vec<Schema<'_>> {
        // SAFETY: the index is below the count.
        unsafe {
            (0..sys::sbt_reader_schema_count(self.raw()))
                .filter_map(|i| sys::sbt_reader_schema_at(self.raw(), i).as_ref())
                .map(|raw| Schema::new(self, raw))
                .collect()
        }
    }

    /// Goes through all records.
    pub fn records(&self) -> Result<Cursor<'_>> {
        self.select(&Filter::default())
    }

    /// Goes through some records.
    pub fn select(&self, filter: &Filter) -> Result<Cursor<'_>> {
        Cursor::new(self, filter)
    }

    /// Reads records as columns.
    pub fn record_table(&self, filter: &Filter) -> Result<RecordTable> {
        RecordTable::read(self, filter)
    }

    /// Reads commands as columns, with kernels and times on the device.
    pub fn commands(&self, filter: &Filter) -> Result<Commands> {
        Commands::read(self, filter)
    }

    /// Reads the edges of the dependency graph; `memory`: also between commands that access the same bytes.
    pub fn graph(&self, memory: bool) -> Result<Edges> {
        Edges::read(self, memory)
    }

    /// Prepares texts for host stacks.
    pub fn symbols(&self) -> Result<Symbols<'_>> {
        let mut pointer = ptr::null_mut();
        // SAFETY: *pointer is set on success; the reader is borrowed as long as the result lives.
        check(unsafe { sys::tsm_symbols_create(&mut pointer, self.raw()) })?;
        Ok(Symbols { pointer: NonNull::new(pointer).expect("symbols"), reader: PhantomData })
    }

    pub fn statistics(&self, filter: &Filter) -> Result<Statistics> {
        let raw_filter = filter.raw()?;
        let mut s = MaybeUninit::<sys::tsm_statistics>::zeroed();
        // SAFETY: set on success, then finished once; `calls` holds `call_count` elements until then.
        unsafe {
            check(sys::tsm_statistics_collect(s.as_mut_ptr(), self.raw(), &raw_filter))?;
            let mut s = s.assume_init();
            let calls = (0..s.call_count).map(|i| self.call_count(&*s.calls.add(i))).collect();
            let result = Statistics {
                calls,
                record_count: s.record_count,
                command_count: s.command_count,
                first_ns: s.first_ns,
                last_ns: s.last_ns,
                bytes_sent: s.bytes_sent,
                bytes_read_back: s.bytes_read_back,
                lost_count: s.lost_count,
                stream_count: s.stream_count,
                thread_count: s.thread_count,
            };
            sys::tsm_statistics_finish(&mut s);
            Ok(result)
        }
    }

    fn call_count(&self, c: &sys::tsm_call_count) -> CallCount {
        let name = self.schema(c.r#type).map(|schema| schema.name().into_owned());
        CallCount {
            name: name.unwrap_or_else(|| format!("{:#x}", c.r#type)),
            record_type: c.r#type,
            count: c.count,
            failed_count: c.failed_count,
            duration_ns: c.duration_ns,
        }
    }
}

/// Texts for host stacks. One thread at a time uses it.
pub struct Symbols<'r> {
    pointer: NonNull<sys::tsm_symbols>,
    reader: PhantomData<&'r Reader>,
}

// SAFETY: tracesmith/symbols.h: one thread at a time; any may be that one.
unsafe impl Send for Symbols<'_> {}

impl Drop for Symbols<'_> {
    fn drop(&mut self) {
        // SAFETY: made by tsm_symbols_create(), destroyed once.
        unsafe { sys::tsm_symbols_destroy(self.pointer.as_ptr()) }
    }
}

impl Symbols<'_> {
    /// Returns the frames of a stack as text, innermost first.
    pub fn stack(&mut self, number: u32) -> Result<Vec<String>> {
        let mut room: Vec<c_char> = vec![0; 4096];
        loop {
            // SAFETY: `room` has that many bytes.
            let length =
                unsafe { sys::tsm_symbols_stack(self.pointer.as_ptr(), number, room.as_mut_ptr(), room.len()) };
            if length < 0 {
                check(length as i32)?;
            }
            if (length as usize) < room.len() {
                // SAFETY: the text ends with NUL.
                return Ok(unsafe { text(room.as_ptr()) }.lines().map(str::to_string).collect());
            }
            room.resize(length as usize + 1, 0);
        }
    }
}

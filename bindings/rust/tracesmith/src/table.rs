// SPDX-License-Identifier: Apache-2.0
//! A trace as columns. Tables hold all that they show, and may outlive the reader.

use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr::{self, NonNull};

use tracesmith_sys as sys;

use crate::error::{check, text, Result};
use crate::reader::{Filter, Reader};

/// How a time on the device is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeKind {
    /// Start and end mean nothing.
    Unknown,
    /// From the call: the device worked at some time between start and end.
    Derived,
    /// By the device, or by events before and after the command.
    Measured,
}

macro_rules! table {
    ($(#[$doc:meta])* $name:ident, $raw:ident, $destroy:ident, $($column:ident $member:ident: $kind:ty,)*) => {
        $(#[$doc])*
        pub struct $name {
            pointer: NonNull<sys::$raw>,
        }

        // SAFETY: tracesmith/columns.h: several threads may use one table at once; nothing changes it.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made by the library, destroyed once; columns borrow the table.
                unsafe { sys::$destroy(self.pointer.as_ptr()) }
            }
        }

        impl $name {
            fn raw(&self) -> &sys::$raw {
                // SAFETY: valid until it is destroyed.
                unsafe { self.pointer.as_ref() }
            }

            pub fn len(&self) -> usize {
                self.raw().count
            }

            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            $(
                pub fn $column(&self) -> &[$kind] {
                    if self.is_empty() {
                        return &[];
                    }
                    // SAFETY: each column has `count` elements.
                    unsafe { std::slice::from_raw_parts(self.raw().$member, self.len()) }
                }
            )*
        }
    };
}

table! {
    /// Columns with the members of a record.
    RecordTable, tsm_records, tsm_records_destroy,
    seq seq: u64, time_ns time_ns: u64, duration_ns duration_ns: u64, record_type r#type: u32, thread thread: u32,
    stream stream: u32, stack stack: u32, position position: u64, result result: i64, flags flags: u32,
}

table! {
    /// Columns with one value for each command, or each part of a submit that has a time of its own.
    Commands, tsm_commands, tsm_commands_destroy,
    seq seq: u64, position position: u64, record_type r#type: u32, stream stream: u32, thread thread: u32,
    stack stack: u32, part part: u32, work work: u32, kernel kernel: u32, bytes bytes: u64, call_ns call_ns: u64,
    returned_ns returned_ns: u64, time_kind time_kind: u32, time_axis time_axis: u32, start_ns start_ns: i64,
    end_ns end_ns: i64, error_ns error_ns: u64,
}

table! {
    /// Columns with one value for each edge of the dependency graph: record `to` had to wait for record `from`.
    Edges, tsm_edges, tsm_edges_destroy,
    from from: u64, to to: u64, object object: u64, reason reason: u32, is_redundant is_redundant: u8,
    is_unordered is_unordered: u8,
}

impl RecordTable {
    pub(crate) fn read(reader: &Reader, filter: &Filter) -> Result<RecordTable> {
        let (raw, mut pointer) = (filter.raw()?, ptr::null_mut());
        // SAFETY: *pointer is set on success.
        check(unsafe { sys::tsm_records_read(&mut pointer, reader.raw(), &raw) })?;
        Ok(RecordTable { pointer: NonNull::new(pointer).expect("a table") })
    }
}

impl Commands {
    pub(crate) fn read(reader: &Reader, filter: &Filter) -> Result<Commands> {
        let (raw, mut pointer) = (filter.raw()?, ptr::null_mut());
        // SAFETY: *pointer is set on success.
        check(unsafe { sys::tsm_commands_read(&mut pointer, reader.raw(), &raw) })?;
        Ok(Commands { pointer: NonNull::new(pointer).expect("a table") })
    }

    /// Returns the name of the kernel that a command runs.
    ///
    /// # Panics
    /// There is no command at `index`.
    pub fn kernel_name(&self, index: usize) -> Option<Cow<'_, str>> {
        match self.kernel()[index] as usize {
            0 => None,
            // SAFETY: numbers of kernels are places in `names`, which live as long as the table.
            place => Some(unsafe { CStr::from_ptr(*self.raw().names.add(place)) }.to_string_lossy()),
        }
    }

    /// Returns "kernel", "copy"...
    ///
    /// # Panics
    /// There is no command at `index`.
    pub fn work_name(&self, index: usize) -> String {
        // SAFETY: returns a constant text or NULL.
        unsafe { text(sys::tsm_work_name(self.work()[index] as i32)) }
    }

    /// Returns how long a command took on the device, and how that is known.
    ///
    /// # Panics
    /// There is no command at `index`.
    pub fn device_ns(&self, index: usize) -> (TimeKind, u64) {
        let kind = match self.time_kind()[index] {
            1 => TimeKind::Derived,
            2 => TimeKind::Measured,
            _ => TimeKind::Unknown,
        };
        (kind, self.end_ns()[index].wrapping_sub(self.start_ns()[index]) as u64)
    }
}

impl Edges {
    pub(crate) fn read(reader: &Reader, memory: bool) -> Result<Edges> {
        let mut pointer = ptr::null_mut();
        // SAFETY: *pointer is set on success.
        check(unsafe { sys::tsm_edges_read(&mut pointer, reader.raw(), memory) })?;
        Ok(Edges { pointer: NonNull::new(pointer).expect("a table") })
    }

    /// Returns "stream", "event"...
    ///
    /// # Panics
    /// There is no edge at `index`.
    pub fn reason_name(&self, index: usize) -> String {
        // SAFETY: returns a constant text or NULL.
        unsafe { text(sys::tsm_dependency_reason_name(self.reason()[index] as i32)) }
    }
}

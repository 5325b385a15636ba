// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;
use std::ptr::{self, NonNull};

use tracesmith_sys as sys;

use crate::error::{check, Error, Result};
use crate::reader::{Filter, Reader};

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    Other,
    Init,
    Query,
    Create,
    Destroy,
    Command,
    Sync,
    State,
    Signal,
    Wait,
    Meta,
}

impl Kind {
    fn of(number: i32) -> Kind {
        use Kind::*;
        let all = [Other, Init, Query, Create, Destroy, Command, Sync, State, Signal, Wait, Meta];
        usize::try_from(number).ok().and_then(|place| all.get(place).copied()).unwrap_or(Other)
    }
}

/// A call, as the trace describes it.
#[derive(Clone, Copy)]
pub struct Schema<'r> {
    reader: &'r Reader,
    raw: &'r sys::sbt_schema,
}

impl<'r> Schema<'r> {
    pub(crate) fn new(reader: &'r Reader, raw: &'r sys::sbt_schema) -> Schema<'r> {
        Schema { reader, raw }
    }

    pub fn record_type(&self) -> u32 {
        self.raw.r#type
    }

    pub fn name(&self) -> Cow<'r, str> {
        // SAFETY: a text of the reader.
        unsafe { self.reader.borrow(self.raw.name) }.unwrap_or_default()
    }

    pub fn kind(&self) -> Kind {
        Kind::of(self.raw.kind)
    }

    pub fn field_count(&self) -> usize {
        self.raw.field_count as usize
    }

    pub fn field(&self, index: usize) -> Option<Field<'r>> {
        if index >= self.field_count() {
            return None;
        }
        // SAFETY: there are field_count of them, which live as long as the reader.
        let raw = unsafe { &*self.raw.fields.add(index) };
        Some(Field { reader: self.reader, raw })
    }
}

/// An argument of a call.
#[derive(Clone, Copy)]
pub struct Field<'r> {
    reader: &'r Reader,
    raw: &'r sys::sbt_field,
}

impl<'r> Field<'r> {
    pub fn name(&self) -> Cow<'r, str> {
        // SAFETY: a text of the reader.
        unsafe { self.reader.borrow(self.raw.name) }.unwrap_or_default()
    }

    /// Returns the number of enum sbt_role.
    pub fn role(&self) -> i32 {
        self.raw.role
    }
}

/// The value of a field. Texts, bytes and blobs are `None` where the trace does not have them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'c> {
    Uint(u64),
    Int(i64),
    Hex(u64),
    Bool(bool),
    F32(f32),
    F64(f64),
    Handle(u64),
    DevicePointer(u64),
    HostPointer(u64),
    Size(u64),
    Enum(i64, Option<Cow<'c, str>>),
    Flags(u64),
    Text(Option<Cow<'c, str>>),
    Bytes(Option<&'c [u8]>),
    /// Its size; `Record::blob()` reads it.
    Blob(Option<u64>),
    /// The bytes of a structured value, as docs/FORMAT.md 8.1 says.
    Struct(Option<&'c [u8]>),
    /// Of a type that is newer than this crate.
    Unknown(u64),
}

/// Goes through records, in both directions. One thread at a time uses it.
pub struct Cursor<'r> {
    reader: &'r Reader,
    pointer: NonNull<sys::sbt_cursor>,
}

// SAFETY: tracesmith/reader.h: a cursor belongs to one thread at a time; any may be that one.
unsafe impl Send for Cursor<'_> {}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made by sbt_cursor_create(), destroyed once.
        unsafe { sys::sbt_cursor_destroy(self.pointer.as_ptr()) }
    }
}

type Step = unsafe extern "C" fn(*mut sys::sbt_cursor, *mut *const sys::sbt_record) -> i32;

impl<'r> Cursor<'r> {
    pub(crate) fn new(reader: &'r Reader, filter: &Filter) -> Result<Cursor<'r>> {
        let raw = filter.raw()?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the filter is copied; *pointer is set on success.
        check(unsafe { sys::sbt_cursor_create(&mut pointer, reader.raw(), &raw, 0) })?;
        Ok(Cursor { reader, pointer: NonNull::new(pointer).expect("a cursor") })
    }

    fn step(&mut self, step: Step) -> Result<Option<Record<'_>>> {
        let mut record = ptr::null();
        // SAFETY: on 1 the record is valid until the cursor moves, for which it has to be borrowed again.
        unsafe {
            Ok(match check(step(self.pointer.as_ptr(), &mut record))? {
                0 => None,
                _ => Some(Record { reader: self.reader, raw: &*record }),
            })
        }
    }

    /// Returns the next record, which borrows the cursor.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        self.step(sys::sbt_cursor_next)
    }

    pub fn previous(&mut self) -> Result<Option<Record<'_>>> {
        self.step(sys::sbt_cursor_previous)
    }

    /// Moves in front of the first record with that number or a greater one.
    pub fn seek(&mut self, seq: u64) -> Result<()> {
        // SAFETY: the cursor is alive, and no record of it is.
        check(unsafe { sys::sbt_cursor_seek(self.pointer.as_ptr(), seq) }).map(|_| ())
    }
}

/// One record, until its cursor moves.
#[derive(Clone, Copy)]
pub struct Record<'c> {
    reader: &'c Reader,
    raw: &'c sys::sbt_record,
}

/// Makes a slice of what C has; NULL is an empty one.
///
/// # Safety
/// `from` is NULL, or `count` elements that live as long as `'a`.
unsafe fn slice<'a, T>(from: *const T, count: usize) -> &'a [T] {
    if from.is_null() || count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(from, count)
}

impl<'c> Record<'c> {
    pub fn seq(&self) -> u64 {
        self.raw.seq
    }

    pub fn time_ns(&self) -> u64 {
        self.raw.time_ns
    }

    pub fn duration_ns(&self) -> u64 {
        self.raw.duration_ns
    }

    pub fn record_type(&self) -> u32 {
        self.raw.r#type
    }

    pub fn thread(&self) -> u32 {
        self.raw.thread
    }

    pub fn stream(&self) -> Option<u32> {
        (self.raw.stream != sys::SBT_STREAM_NONE).then_some(self.raw.stream)
    }

    /// Returns the number of the host's stack, for `Symbols::stack()`; 0: none.
    pub fn stack(&self) -> u32 {
        self.raw.stack
    }

    pub fn position(&self) -> u64 {
        self.raw.position
    }

    pub fn result(&self) -> i64 {
        self.raw.result
    }

    /// Returns the bits SBT_RECORD_* of tracesmith/trace.h.
    pub fn flags(&self) -> u32 {
        self.raw.flags
    }

    pub fn slots(&self) -> &'c [u64] {
        // SAFETY: they live as long as the record.
        unsafe { slice(self.raw.slots, self.raw.slot_count as usize) }
    }

    pub fn data(&self) -> &'c [u8] {
        // SAFETY: as above.
        unsafe { slice(self.raw.data, self.raw.data_size) }
    }

    pub fn schema(&self) -> Option<Schema<'c>> {
        self.reader.schema(self.raw.r#type)
    }

    /// Returns the name of the call.
    pub fn name(&self) -> Cow<'c, str> {
        self.schema().map_or_else(|| Cow::Owned(format!("{:#x}", self.raw.r#type)), |schema| schema.name())
    }

    /// Returns the name of the kernel that it launches.
    pub fn kernel(&self) -> Option<Cow<'c, str>> {
        // SAFETY: NULL, or a text that lives as long as the reader.
        unsafe { self.reader.borrow(sys::tsm_record_kernel(self.reader.raw(), self.raw)) }
    }

    /// Goes through the arguments.
    pub fn fields(&self) -> Fields<'c> {
        Fields { record: *self, next: 0 }
    }

    /// Returns the argument of that name.
    pub fn value(&self, name: &str) -> Option<Value<'c>> {
        self.fields().find(|(field, _)| field.name() == name).map(|(_, value)| value)
    }

    fn raw_blob(&self, index: usize) -> Option<sys::sbt_blob> {
        let mut blob = sys::sbt_blob { size: 0, piece_count: 0, keys: ptr::null(), bytes: ptr::null() };
        // SAFETY: the library checks the index and the slot.
        unsafe { sys::sbt_record_blob(self.raw, index as u32, &mut blob) }.then_some(blob)
    }

    /// Reads the bytes of the blob field of that name.
    pub fn blob(&self, name: &str) -> Result<Vec<u8>> {
        const STEP: u64 = 1 << 22;
        let index = self.fields().position(|(field, value)| field.name() == name && matches!(value, Value::Blob(_)));
        let index = index.ok_or_else(|| Error::NotFound(format!("{} has no blob {}", self.name(), name)))?;
        let blob = self.raw_blob(index);
        let blob = blob.ok_or_else(|| Error::Format(format!("record {}: a malformed blob", self.seq())))?;
        let mut bytes: Vec<u8> = Vec::new();
        // Its pieces are in the file: no trace's word alone makes this allocate.
        while (bytes.len() as u64) < blob.size {
            let at = bytes.len();
            let size = (blob.size - at as u64).min(STEP) as usize;
            bytes.resize(at + size, 0);
            // SAFETY: there are `size` bytes from `at` on.
            check(unsafe {
                sys::sbt_reader_blob(self.reader.raw(), &blob, at as u64, bytes[at..].as_mut_ptr().cast(), size)
            })?;
        }
        Ok(bytes)
    }

    fn bytes_of(&self, slot: u64) -> Option<&'c [u8]> {
        let start = (slot >> 32) as usize;
        self.data().get(start..start + (slot & 0xffff_ffff) as usize)
    }

    fn decode(&self, field: &Field<'c>, index: usize) -> Value<'c> {
        let slot = self.slots()[index];
        // SAFETY: details are texts of the reader, and so is what it finds.
        let name = |value: i64| unsafe {
            self.reader.borrow(sys::sbt_reader_enum_name(self.reader.raw(), field.raw.detail, value))
        };
        let string = |id: u32| unsafe { self.reader.borrow(sys::sbt_reader_string(self.reader.raw(), id)) };
        match field.raw.r#type {
            1 => Value::Uint(slot),
            2 => Value::Int(slot as i64),
            3 => Value::Hex(slot),
            4 => Value::Bool(slot != 0),
            5 => Value::F32(f32::from_bits(slot as u32)),
            6 => Value::F64(f64::from_bits(slot)),
            7 => Value::Handle(slot),
            8 => Value::DevicePointer(slot),
            9 => Value::HostPointer(slot),
            10 => Value::Size(slot),
            11 => Value::Enum(slot as i64, name(slot as i64)),
            12 => Value::Flags(slot),
            13 => Value::Text(u32::try_from(slot).ok().and_then(string)),
            14 => Value::Bytes(self.bytes_of(slot)),
            15 => Value::Blob(self.raw_blob(index).map(|blob| blob.size)),
            16 => Value::Struct(self.bytes_of(slot)),
            _ => Value::Unknown(slot),
        }
    }
}

/// The arguments of a record, with their descriptions.
pub struct Fields<'c> {
    record: Record<'c>,
    next: usize,
}

impl<'c> Iterator for Fields<'c> {
    type Item = (Field<'c>, Value<'c>);

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.record.schema()?.field(self.next)?;
        if self.next >= self.record.slots().len() {
            return None;
        }
        self.next += 1;
        Some((field, self.record.decode(&field, self.next - 1)))
    }
}

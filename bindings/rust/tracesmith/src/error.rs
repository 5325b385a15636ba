// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_int};

use tracesmith_sys as sys;

pub type Result<T> = std::result::Result<T, Error>;

/// An error of the library, with its sentence: the file, the place, the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The function's contract was broken; nothing was changed.
    Argument(String),
    /// Out of memory, or over a limit that protects memory.
    Memory(String),
    /// The operating system refused.
    Io(String),
    /// Not a trace, or damaged in a way that cannot be skipped.
    Format(String),
    /// A trace that needs a newer TraceSmith.
    Version(String),
    /// The named thing is not in the trace, or not on this machine.
    NotFound(String),
    /// Bytes do not match their checksum.
    Checksum(String),
    /// The trace lost something, and a whole one was asked for.
    Lossy(String),
    /// Understood, but not possible here.
    Unsupported(String),
    /// The GPU or its driver reported an error.
    Device(String),
    /// A comparison came out unequal.
    Different(String),
    /// Called at the wrong time.
    State(String),
    /// Over a documented limit.
    Limit(String),
    /// An error that is newer than this crate: its number and its message.
    Other(i32, String),
}

impl Error {
    /// Returns the library's sentence.
    pub fn message(&self) -> &str {
        use Error::*;
        match self {
            Argument(text)
            | Memory(text)
            | Io(text)
            | Format(text)
            | Version(text)
            | NotFound(text)
            | Checksum(text)
            | Lossy(text)
            | Unsupported(text)
            | Device(text)
            | Different(text)
            | State(text)
            | Limit(text)
            | Other(_, text) => text,
        }
    }

    fn of(code: c_int, message: String) -> Error {
        match code {
            -1 => Error::Argument(message),
            -2 => Error::Memory(message),
            -3 => Error::Io(message),
            -4 => Error::Format(message),
            -5 => Error::Version(message),
            -6 => Error::NotFound(message),
            -7 => Error::Checksum(message),
            -8 => Error::Lossy(message),
            -9 => Error::Unsupported(message),
            -10 => Error::Device(message),
            -11 => Error::Different(message),
            -12 => Error::State(message),
            -13 => Error::Limit(message),
            _ => Error::Other(code, message),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// Returns what a function of the library returned, or its error with this thread's message.
pub(crate) fn check(code: c_int) -> Result<c_int> {
    if code >= 0 {
        return Ok(code);
    }
    // SAFETY: both return texts that are valid until this thread's next failure, which are copied.
    let message = unsafe {
        let said = text(sys::tsm_error_message());
        if said.is_empty() {
            text(sys::tsm_strerror(code))
        } else {
            said
        }
    };
    Err(Error::of(code, message))
}

/// Copies a text of C; NULL is "".
///
/// # Safety
/// `from` is NULL or a text that ends with NUL.
pub(crate) unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    CStr::from_ptr(from).to_string_lossy().into_owned()
}

/// Copies a text that lies in a struct.
pub(crate) fn text_in(from: &[c_char]) -> String {
    let bytes: Vec<u8> = from.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

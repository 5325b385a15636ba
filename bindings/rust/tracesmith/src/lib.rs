// SPDX-License-Identifier: Apache-2.0
//! Reads, compares and replays traces of GPU commands, over the C library `libtracesmith.so`.
//!
//! ```no_run
//! use tracesmith::Reader;
//!
//! fn main() -> Result<(), tracesmith::Error> {
//!     let reader = Reader::open("t.sbt")?;
//!     let mut cursor = reader.records()?;
//!     while let Some(record) = cursor.next()? {
//!         println!("{} {} {:?}", record.seq(), record.name(), record.kernel());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! A record lives until its cursor moves:
//!
//! ```compile_fail,E0499
//! let reader = tracesmith::Reader::open("t.sbt").unwrap();
//! let mut cursor = reader.records().unwrap();
//! let first = cursor.next().unwrap();
//! let second = cursor.next().unwrap();
//! println!("{}", first.unwrap().seq());
//! ```
//!
//! A cursor lives no longer than its reader:
//!
//! ```compile_fail,E0505
//! let reader = tracesmith::Reader::open("t.sbt").unwrap();
//! let mut cursor = reader.records().unwrap();
//! drop(reader);
//! cursor.next().unwrap();
//! ```
//!
//! Threads share a reader and tables, but no cursor:
//!
//! ```compile_fail,E0277
//! fn shared<T: Sync>() {}
//! shared::<tracesmith::Cursor>();
//! ```

mod error;
mod reader;
mod record;
mod table;
mod verdict;

pub use error::{Error, Result};
pub use reader::{CallCount, Filter, Missing, Reader, Session, Statistics, Symbols, Totals};
pub use record::{Cursor, Field, Fields, Kind, Record, Schema, Value};
pub use table::{Commands, Edges, RecordTable, TimeKind};
pub use verdict::{check, diff, replay, Arm, Check, Diff, DiffOptions, Difference, Replay, ReplayOptions, Verdict};

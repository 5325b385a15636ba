// SPDX-License-Identifier: Apache-2.0
//! Comparing, replaying and checking traces.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::raw::c_void;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use tracesmith_sys as sys;

use crate::error::{check as check_code, text, text_in, Error, Result};
use crate::reader::{Filter, Reader};

/// Answers of replays and comparisons; docs/verdict.md says which when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Different,
    CannotTell,
    NothingToCompare,
}

impl Verdict {
    fn of(number: i32) -> Verdict {
        match number {
            0 => Verdict::Same,
            1 => Verdict::Different,
            3 => Verdict::NothingToCompare,
            _ => Verdict::CannotTell,
        }
    }
}

/// One place where bytes differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub seq: u64,
    pub stream: Option<u32>,
    pub position: u64,
    pub call: String,
    pub function: String,
    pub buffer: u64,
    pub offset: u64,
    pub byte_count: u64,
    pub expected: Vec<u8>,
    pub actual: Vec<u8>,
    pub stack: u32,
    pub place: String,
}

impl Difference {
    /// # Safety
    /// Its texts are valid.
    unsafe fn copy(d: &sys::tsm_difference) -> Difference {
        let shown = (d.shown as usize).min(d.expected.len());
        Difference {
            seq: d.seq,
            stream: (d.stream != sys::SBT_STREAM_NONE).then_some(d.stream),
            position: d.position,
            call: text(d.call),
            function: text(d.function),
            buffer: d.buffer,
            offset: d.offset,
            byte_count: d.byte_count,
            expected: d.expected[..shown].to_vec(),
            actual: d.actual[..shown].to_vec(),
            stack: d.stack,
            place: text_in(&d.place),
        }
    }
}

/// How to compare two traces.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// `None`: all.
    pub streams: Option<Vec<u32>>,
    pub ignore_addresses: bool,
    pub readbacks_only: bool,
}

/// Result of a comparison.
#[derive(Clone, Debug)]
pub struct Diff {
    pub verdict: Verdict,
    pub why: String,
    pub compared_count: u64,
    /// Where they differ, with the numbers of the records in both.
    pub first: Option<(Difference, u64, u64)>,
    pub field: String,
    pub value_a: String,
    pub value_b: String,
}

/// Finds the first command in which two traces differ.
pub fn diff(a: &Reader, b: &Reader, options: &DiffOptions) -> Result<Diff> {
    let streams = options.streams.as_ref();
    let raw = sys::tsm_diff_options {
        streams: streams.map_or(ptr::null(), |list| list.as_ptr()),
        stream_count: streams.map_or(0, |list| list.len()),
        ignore_addresses: options.ignore_addresses,
        readbacks_only: options.readbacks_only,
    };
    let mut r = MaybeUninit::<sys::tsm_diff_result>::zeroed();
    // SAFETY: zeroed bytes are a result; texts of a difference live as long as the readers.
    unsafe {
        check_code(sys::tsm_diff(r.as_mut_ptr(), a.raw(), b.raw(), &raw))?;
        let r = r.assume_init();
        let verdict = Verdict::of(r.verdict);
        Ok(Diff {
            verdict,
            why: text_in(&r.why),
            compared_count: r.compared_count,
            first: (verdict == Verdict::Different).then(|| (Difference::copy(&r.first), r.seq_a, r.seq_b)),
            field: text_in(&r.field),
            value_a: text_in(&r.value_a),
            value_b: text_in(&r.value_b),
        })
    }
}

/// Where and how to replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// `None`: the first that fits; "emu": the software GPU; "1": by index.
    pub device: Option<String>,
    /// Path of the driver's library, where programs would not find it.
    pub driver: Option<PathBuf>,
    pub filter: Filter,
    /// Go on after the first difference.
    pub keep_going: bool,
    /// Accept a trace that lost something.
    pub lossy: bool,
    /// Without progress; 0: 60 s.
    pub timeout_ns: u64,
}

/// Texts of options, as long as C needs them.
struct Texts {
    device: Option<CString>,
    driver: Option<CString>,
}

impl ReplayOptions {
    fn texts(&self) -> Result<Texts> {
        let cut =
            |bytes: &[u8]| CString::new(bytes).map_err(|_| Error::Argument("a text with a NUL in it".to_string()));
        Ok(Texts {
            device: self.device.as_ref().map(|name| cut(name.as_bytes())).transpose()?,
            driver: self.driver.as_ref().map(|path| cut(path.as_os_str().as_bytes())).transpose()?,
        })
    }

    fn raw(&self, texts: &Texts) -> Result<sys::tsm_replay_options> {
        // SAFETY: zeroed bytes are the defaults.
        let mut raw: sys::tsm_replay_options = unsafe { MaybeUninit::zeroed().assume_init() };
        raw.device = texts.device.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        raw.library = texts.driver.as_ref().map_or(ptr::null(), |path| path.as_ptr());
        raw.filter = self.filter.raw()?;
        raw.keep_going = self.keep_going;
        raw.lossy = self.lossy;
        raw.timeout_ns = self.timeout_ns;
        Ok(raw)
    }
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    pub verdict: Verdict,
    pub why: String,
    pub command_count: u64,
    pub checksum_count: u64,
    pub difference_count: u64,
    pub elapsed_ns: u64,
    pub recorded_ns: u64,
    pub is_software: bool,
    pub device: String,
    pub digest: [u8; 16],
    pub differences: Vec<Difference>,
}

static HAS_REPLAYED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn keep_difference(user: *mut c_void, difference: *const sys::tsm_difference) {
    (*user.cast::<Vec<Difference>>()).push(Difference::copy(&*difference));
}

/// Sends the commands to a GPU again and compares. The driver stays in this process.
pub fn replay(reader: &Reader, options: &ReplayOptions) -> Result<Replay> {
    let texts = options.texts()?;
    let mut differences: Vec<Difference> = Vec::new();
    let mut raw = options.raw(&texts)?;
    raw.on_difference = Some(keep_difference);
    raw.user = (&mut differences as *mut Vec<Difference>).cast();
    let mut pointer = ptr::null_mut();
    let mut r = MaybeUninit::<sys::tsm_replay_result>::zeroed();
    HAS_REPLAYED.store(true, Ordering::SeqCst);
    // SAFETY: texts, options and reader outlive the replay; it calls back from this thread only.
    let r = unsafe {
        check_code(sys::tsm_replay_create(&mut pointer, reader.raw(), &raw))?;
        let result = check_code(sys::tsm_replay_run(pointer, r.as_mut_ptr()));
        sys::tsm_replay_destroy(pointer);
        result?;
        r.assume_init()
    };
    Ok(Replay {
        verdict: Verdict::of(r.verdict),
        why: text_in(&r.why),
        command_count: r.command_count,
        checksum_count: r.checksum_count,
        difference_count: r.difference_count,
        elapsed_ns: r.elapsed_ns,
        recorded_ns: r.recorded_ns,
        is_software: r.is_software,
        device: text_in(&r.device),
        digest: r.digest.bytes,
        differences,
    })
}

/// One way in which a check replays.
#[derive(Clone, Debug)]
pub struct Arm {
    pub name: String,
    pub run_count: u32,
    pub verdict: Verdict,
    pub is_exact: bool,
    pub why: String,
    pub difference: Option<Difference>,
}

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Check {
    pub verdict: Verdict,
    pub why: String,
    pub arms: Vec<Arm>,
}

/// Is the GPU's work deterministic? Replays in several ways, `count` times each, in processes forked from this one.
/// `Error::State`: something was replayed in this process, and drivers do not survive a fork.
pub fn check(reader: &Reader, count: u32, options: &ReplayOptions) -> Result<Check> {
    if HAS_REPLAYED.load(Ordering::SeqCst) {
        return Err(Error::State("something was replayed in this process; check in another one".to_string()));
    }
    let texts = options.texts()?;
    let raw = options.raw(&texts)?;
    // Some 20 KB: not on the stack of whoever has little.
    let mut r = Box::new(MaybeUninit::<sys::tsm_check_result>::zeroed());
    // SAFETY: zeroed bytes are a result; texts of differences live as long as the reader.
    unsafe {
        check_code(sys::tsm_check_run(r.as_mut_ptr(), reader.raw(), &raw, count, None, ptr::null_mut()))?;
        let r = &*r.as_ptr();
        let arms = r.arms.iter().take(r.arm_count as usize).map(|arm| Arm::copy(arm)).collect();
        Ok(Check { verdict: Verdict::of(r.verdict), why: text_in(&r.why), arms })
    }
}

impl Arm {
    /// # Safety
    /// The texts of its difference are valid.
    unsafe fn copy(raw: &sys::tsm_arm_result) -> Arm {
        let verdict = Verdict::of(raw.verdict);
        Arm {
            name: text(sys::tsm_arm_name(raw.arm)),
            run_count: raw.run_count,
            verdict,
            is_exact: raw.is_exact,
            why: text_in(&raw.why),
            difference: (verdict == Verdict::Different).then(|| Difference::copy(&raw.difference)),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Tests in a process of their own, because one forks. tests/bindings/rust.sh sets
//! TEST_TRACE, TEST_OTHER, TEST_WRONG (its result depends on the order of blocks) and TEST_DRIVER.

use std::path::PathBuf;

use tracesmith::*;

fn given(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os(name).map(PathBuf::from);
    if found.is_none() {
        eprintln!("{} is not set: see tests/bindings/rust.sh", name);
    }
    found
}

fn options() -> Option<ReplayOptions> {
    let driver = given("TEST_DRIVER")?;
    Some(ReplayOptions { device: Some("emu".to_string()), driver: Some(driver), ..Default::default() })
}

#[test]
fn diff_check_and_replay() -> Result<()> {
    let (trace, other, wrong) = match (given("TEST_TRACE"), given("TEST_OTHER"), given("TEST_WRONG")) {
        (Some(trace), Some(other), Some(wrong)) => (trace, other, wrong),
        _ => return Ok(()),
    };
    let (a, b) = (Reader::open(trace)?, Reader::open(other)?);
    let same = diff(&a, &a, &DiffOptions::default())?;
    assert_eq!((same.verdict, same.first.is_none()), (Verdict::Same, true));
    let different = diff(&a, &b, &DiffOptions::default())?;
    assert_eq!(different.verdict, Verdict::Different);
    assert!(!different.first.expect("a place").0.call.is_empty());

    // Checks first: they fork, which drivers do not survive.
    let options = options().expect("a driver");
    let checked = check(&a, 1, &options)?;
    assert_eq!((checked.verdict, checked.arms[1].name.as_str()), (Verdict::Same, "repeat"));
    let wrong = Reader::open(wrong)?;
    let checked = check(&wrong, 1, &options)?;
    let arm = checked.arms.iter().find(|arm| arm.verdict == Verdict::Different).expect("a way that differs");
    assert_eq!(arm.name, "schedule");
    assert_eq!(arm.difference.as_ref().expect("a place").function, "sum_atomic");

    let replayed = replay(&a, &options)?;
    assert_eq!((replayed.verdict, replayed.is_software), (Verdict::Same, true));
    assert!(replayed.checksum_count > 0 && replayed.differences.is_empty());
    assert!(matches!(check(&a, 1, &options), Err(Error::State(_))));
    Ok(())
}

/// With TS_EMU_NOOP=1, which the software GPU reads once: it skips kernels.
#[test]
#[ignore = "needs TS_EMU_NOOP=1 in its process from the beginning"]
fn a_wrong_device_is_named() -> Result<()> {
    let reader = Reader::open(given("TEST_TRACE").expect("a trace"))?;
    let replayed = replay(&reader, &options().expect("a driver"))?;
    assert_eq!(replayed.verdict, Verdict::Different);
    assert_eq!(replayed.differences[0].call, "cuMemcpyDtoHAsync_v2");
    assert_ne!(replayed.differences[0].expected, replayed.differences[0].actual);
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! tests/bindings/rust.sh sets TEST_TRACE and TEST_TIMED (the same program recorded twice, once with virtual times) and
//! TEST_FILES (folders of hostile files, separated by colons). Without them only what needs none is tried.

use std::path::PathBuf;

use tracesmith::*;

fn given(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os(name).map(PathBuf::from);
    if found.is_none() {
        eprintln!("{} is not set: see tests/bindings/rust.sh", name);
    }
    found
}

#[test]
fn types_are_for_threads_as_the_headers_say() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Reader>();
    sync::<Reader>();
    send::<Cursor>();
    send::<Symbols>();
    send::<Commands>();
    sync::<Commands>();
    send::<Error>();
    sync::<Error>();
}

#[test]
fn errors_are_an_enum_with_the_message() {
    match Reader::open("/nowhere/missing.sbt") {
        Err(Error::NotFound(message)) => assert!(message.contains("missing.sbt"), "{}", message),
        Err(other) => panic!("{:?}", other),
        Ok(_) => panic!("it is there"),
    }
    match Reader::open("nul\0nul") {
        Err(error @ Error::Argument(_)) => assert!(error.to_string().contains("NUL")),
        _ => panic!("not refused"),
    }
}

#[test]
fn records_and_their_values() -> Result<()> {
    let path = match given("TEST_TIMED") {
        Some(path) => path,
        None => return Ok(()),
    };
    let reader = Reader::open(path)?;
    let mut symbols = reader.symbols()?;
    let mut cursor = reader.records()?;
    let (mut count, mut launches, mut blobs) = (0, 0, 0);
    while let Some(record) = cursor.next()? {
        assert_eq!(record.seq(), count);
        count += 1;
        for (field, value) in record.fields() {
            if let Value::Blob(Some(size)) = value {
                assert_eq!(record.blob(&field.name())?.len() as u64, size);
                blobs += 1;
            }
        }
        if record.kernel().as_deref() != Some("mix") {
            continue;
        }
        launches += 1;
        assert_eq!(record.name(), "cuLaunchKernel");
        assert_eq!(record.schema().map(|schema| schema.kind()), Some(Kind::Command));
        assert_eq!(record.value("gridDimX"), Some(Value::Uint(16)));
        assert_eq!(record.value("name"), Some(Value::Text(Some("mix".into()))));
        assert!(matches!(record.value("arguments"), Some(Value::Bytes(Some(bytes))) if !bytes.is_empty()));
        assert!(matches!(record.blob("name"), Err(Error::NotFound(_))));
        let stack = symbols.stack(record.stack())?;
        assert!(stack[0].starts_with("main at program.h:"), "{:?}", stack);
    }
    assert_eq!(count, reader.totals().record_count);
    assert_eq!(launches, 4);
    assert!(blobs > 4);
    assert!(matches!(symbols.stack(123456), Err(Error::NotFound(_))));
    assert!(reader.metadata().iter().any(|(name, _)| name == "process.pid"));
    assert!(reader.damage().is_empty());
    assert_eq!(reader.examine()?.first_seq, None);
    Ok(())
}

#[test]
fn cursors_go_both_ways_and_select() -> Result<()> {
    let path = match given("TEST_TRACE") {
        Some(path) => path,
        None => return Ok(()),
    };
    let reader = Reader::open(path)?;
    let mut cursor = reader.select(&Filter { seq: Some(3..6), ..Default::default() })?;
    let mut seen = Vec::new();
    while let Some(record) = cursor.next()? {
        seen.push(record.seq());
    }
    assert_eq!(seen, [3, 4, 5]);
    assert_eq!(cursor.previous()?.map(|record| record.seq()), Some(5));
    cursor.seek(4)?;
    assert_eq!(cursor.next()?.map(|record| record.seq()), Some(4));
    let mut cursor = reader.select(&Filter { streams: Some(vec![2]), ..Default::default() })?;
    assert_eq!(cursor.next()?.and_then(|record| record.stream()), Some(2));
    let mut cursor = reader.select(&Filter { streams: Some(vec![]), ..Default::default() })?;
    assert!(cursor.next()?.is_none());
    assert!(matches!(reader.select(&Filter { seq: Some(6..6), ..Default::default() }), Err(Error::Argument(_))));
    Ok(())
}

#[test]
fn tables_outlive_their_reader() -> Result<()> {
    let path = match given("TEST_TIMED") {
        Some(path) => path,
        None => return Ok(()),
    };
    let reader = Reader::open(path)?;
    let (commands, records) = (reader.commands(&Filter::default())?, reader.record_table(&Filter::default())?);
    let (edges, all) = (reader.graph(false)?, reader.graph(true)?);
    let none = reader.commands(&Filter { streams: Some(vec![77]), ..Default::default() })?;
    let (statistics, totals) = (reader.statistics(&Filter::default())?, reader.totals());
    drop(reader);
    assert!(none.is_empty() && none.seq().is_empty());
    assert_eq!(records.len() as u64, totals.record_count);
    assert_eq!(statistics.record_count, totals.record_count);
    assert_eq!(statistics.calls.iter().find(|call| call.name == "cuLaunchKernel").map(|call| call.count), Some(8));
    let mixed = (0..commands.len()).filter(|&i| commands.kernel_name(i).as_deref() == Some("mix"));
    let times: Vec<_> = mixed.map(|i| (commands.device_ns(i), commands.work_name(i))).collect();
    assert_eq!(times, vec![((TimeKind::Measured, 2312), "kernel".to_string()); 4]);
    assert!(commands.seq().windows(2).all(|pair| pair[0] < pair[1]));
    assert!(all.len() > edges.len());
    assert!((0..edges.len()).any(|i| edges.reason_name(i) == "event" && edges.from()[i] < edges.to()[i]));
    Ok(())
}

#[test]
fn threads_share_a_reader() -> Result<()> {
    let path = match given("TEST_TRACE") {
        Some(path) => path,
        None => return Ok(()),
    };
    let reader = Reader::open(path)?;
    let read = || -> Result<Vec<String>> {
        let mut cursor = reader.records()?;
        let mut found = Vec::new();
        while let Some(record) = cursor.next()? {
            found.push(format!("{} {:?}", record.name(), record.fields().map(|pair| pair.1).collect::<Vec<_>>()));
        }
        reader.commands(&Filter::default())?;
        Ok(found)
    };
    let expected = read()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap().unwrap(), expected);
        }
    });
    Ok(())
}

#[test]
fn no_file_crashes() {
    let folders = match given("TEST_FILES") {
        Some(folders) => folders,
        None => return,
    };
    let mut opened = 0;
    for folder in std::env::split_paths(&folders) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() {
                continue;
            }
            if let Ok(reader) = Reader::open(path) {
                opened += 1;
                let _ = use_all(&reader);
            }
        }
    }
    assert!(opened > 50, "{}", opened);
}

fn use_all(reader: &Reader) -> Result<()> {
    let mut symbols = reader.symbols()?;
    let mut cursor = reader.records()?;
    while let Ok(Some(record)) = cursor.next() {
        for (field, value) in record.fields() {
            if let Value::Blob(_) = value {
                let _ = record.blob(&field.name());
            }
        }
        let _ = (record.name(), record.kernel(), symbols.stack(record.stack()));
    }
    if let Ok(table) = reader.commands(&Filter::default()) {
        for i in 0..table.len() {
            let _ = (table.kernel_name(i), table.work_name(i), table.device_ns(i));
        }
    }
    let _ = (reader.graph(true), reader.statistics(&Filter::default()), reader.record_table(&Filter::default()));
    let _ = (reader.session(), reader.metadata(), reader.damage(), reader.schemas().len(), reader.examine());
    diff(reader, reader, &DiffOptions::default()).map(|_| ())
}

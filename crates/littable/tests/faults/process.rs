//! `kill -9` of a process that writes, and a real file system that is full.
//!
//! Both run this test's binary again, as a child that works in a folder and says through a pipe
//! what is safe.

use crate::{amount, row};
use hearth_littable::{LittError, Littable, StoreOptions, Table, TableOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Deaths in the quick, the everyday and the full test.
const KILLS: [u64; 3] = [5, 20, 100];
const DIR: &str = "HEARTH_FAULT_DIR";

fn open(dir: &Path) -> Result<(Littable, Arc<Table>), LittError> {
    let store = Littable::open(StoreOptions::new(dir))?;
    let options =
        TableOptions { segment_bytes: 200_000, write_buffer_bytes: 10_000, ..TableOptions::new("t") };
    let table = store.table(options)?;
    Ok((store, table))
}

/// The value of a key: its own number, so that the parent can check it.
fn value(n: u64) -> Vec<u8> {
    let len = 10 + (n * 7_919 % 3_000) as usize;
    n.to_be_bytes().into_iter().cycle().take(len).collect()
}

/// Runs one test of this binary in a child.
fn child(test: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--ignored"]).env(DIR, dir);
    command
}

#[test]
#[ignore = "run by the tests below"]
fn child_that_writes() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let (_store, table) = open(Path::new(&dir)).unwrap();
    let mut n = table.len();
    loop {
        for _ in 0..1 + n % 40 {
            table.put(&n.to_be_bytes(), &value(n)).unwrap();
            n += 1;
        }
        // Half of the time the bytes are only handed to the operating system: that is enough
        // against a death.
        if n.is_multiple_of(2) {
            table.flush().unwrap()
        } else {
            table.drain().unwrap()
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "safe {n}").and_then(|()| out.flush()).unwrap();
    }
}

fn start(dir: &Path) -> Child {
    let mut command = child("process::child_that_writes", dir);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let kills = amount("HEARTH_FAULT_KILLS", KILLS);
    let (mut lost, mut wrong, mut safe) = (0, 0, 0);
    for kill in 0..kills {
        let mut child = start(dir.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        // It has begun when it has acknowledged something; then it dies somewhere.
        let mut line = String::new();
        while !line.starts_with("safe ") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the child ended on its own");
        }
        std::thread::sleep(Duration::from_micros(kill * 7_919 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        // The last line may be cut off.
        let whole = rest.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let last = whole.lines().last().unwrap_or(&line);
        safe = last.trim().strip_prefix("safe ").unwrap().parse::<u64>().unwrap().max(safe);

        let (_store, table) = open(dir.path()).unwrap();
        let len = table.len();
        lost += safe.saturating_sub(len);
        for n in 0..len {
            let got = table.get(&n.to_be_bytes()).unwrap();
            wrong += u64::from(got.is_none_or(|got| *got != *value(n)));
        }
        safe = len;
    }
    row("kill -9", kills, lost, wrong);
    assert_eq!((lost, wrong), (0, 0));
    assert!(safe > kills, "the children wrote {safe} records");
}

/// Segments of the child that has few files: more than it may open.
const MANY_SEGMENTS: u64 = 1_500;

#[test]
#[ignore = "run by the test below"]
fn child_with_few_files() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let limit = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(limit.split_whitespace().nth(3), Some("1024"), "{limit}");
    let options = TableOptions { segment_keys: 2, ..TableOptions::new("t") };
    let check = |table: &Arc<Table>| {
        for n in 0..2 * MANY_SEGMENTS {
            // In an order that goes back and forth, so that no file is the one of the read before.
            let n = n * 977 % (2 * MANY_SEGMENTS);
            assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
        }
        let all = table.iter(hearth_littable::Direction::Forward).unwrap().map(|record| record.unwrap());
        assert_eq!(all.count() as u64, 2 * MANY_SEGMENTS);
    };
    {
        let store = Littable::open(StoreOptions::new(&dir)).unwrap();
        let table = store.table(options.clone()).unwrap();
        for n in 0..2 * MANY_SEGMENTS {
            table.put(&n.to_be_bytes(), &value(n)).unwrap();
        }
        table.seal().unwrap();
        table.flush().unwrap();
        check(&table);
    }
    // The indexes are gone: all segments are read again.
    for entry in std::fs::read_dir(Path::new(&dir).join("t")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "idx") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let store = Littable::open(StoreOptions::new(&dir)).unwrap();
    let table = store.table(options).unwrap();
    check(&table);
    assert_eq!(table.scrub().unwrap().damaged, 0);
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(open < 600, "{open} files are open");
    println!("{} segments with {open} files open", table.info().segments);
}

#[test]
fn more_segments_than_files_may_be_open_are_no_trouble() {
    // In memory where that is possible: each segment is synced several times.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let dir = tempfile::tempdir_in(parent).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 1024 && exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "process::child_with_few_files", "--nocapture", "--ignored"]);
    let out = command.env(DIR, dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    assert!(text.contains(" segments with "), "{text}");
}

#[test]
#[ignore = "run by the test below"]
fn child_on_a_full_disk() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let dir = Path::new(&dir);
    let ballast = dir.join("ballast");
    std::fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let (store, table) = open(&dir.join("store")).unwrap();
    let mut n = 0_u64;
    let error = loop {
        let put = table.put(&n.to_be_bytes(), &value(n)).and_then(|()| table.flush());
        match put {
            Ok(()) => n += 1,
            Err(error) => break error,
        }
        assert!(n < 100_000, "the disk is never full");
    };
    let full = |error: &LittError| matches!(error, LittError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
    assert!(full(&error), "{error}");
    assert!(n > 100, "{n}");
    let check = |table: &Table, upto: u64| {
        for n in 0..upto {
            assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n), "record {n}");
        }
    };
    check(&table, n);
    std::fs::remove_file(&ballast).unwrap();
    table.flush().unwrap();
    // The one that failed may be there or not.
    for more in n..n + 20 {
        table.put(&more.to_be_bytes(), &value(more)).unwrap();
    }
    table.flush().unwrap();
    check(&table, n + 20);
    drop((table, store));
    let (_store, table) = open(&dir.join("store")).unwrap();
    check(&table, n + 20);
    println!("full at {n}");
}

#[test]
fn a_real_disk_that_is_full_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = |script: &str| {
        let script = format!("mount -t tmpfs -o size=4m none \"$0\" && {script}");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script]).arg(dir.path());
        command
    };
    let can = mounted("true").output();
    if !can.as_ref().is_ok_and(|out| out.status.success()) {
        println!("skipped: a tmpfs of 4 MiB needs unshare -rm, which this machine does not allow");
        return;
    }
    let mut command = mounted("exec \"$@\"");
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "process::child_on_a_full_disk", "--nocapture", "--ignored"]);
    let out = command.env(DIR, dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    assert!(text.contains("full at "), "{text}");
    row("full tmpfs", 1, 0, 0);
}

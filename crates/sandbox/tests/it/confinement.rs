//! What a child can do, and when it ends.

use crate::child::{ECHO, LOOP, REPORT, hear, lease, pool, runs, send_to, wait_until};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_child_has_nothing_but_its_channel() {
    // A descriptor that an exec would hand on.
    // SAFETY: a copy of an open descriptor, which is never closed.
    let leaked = unsafe { libc::fcntl(1, libc::F_DUPFD, 20) };
    assert!(leaked >= 20);
    let pool = pool(1, 1);
    let mut lease = lease(&pool, "a", 1).unwrap();
    send_to(&mut lease, REPORT, &[]);
    let told = String::from_utf8(hear(&mut lease).unwrap().payload).unwrap();
    let process = lease.process_id();
    assert_eq!(
        told,
        format!("group {process} of {process}, nice 10, open [0, 1, 2, 3], variables 0, core 0, file 0")
    );
}

/// Not a test: a process with a pool whose child never ends by itself.
#[test]
#[ignore = "the program of a parent that is killed"]
fn parent() {
    let pool = pool(1, 1);
    let mut lease = lease(&pool, "a", 1).unwrap();
    send_to(&mut lease, ECHO, &[]);
    hear(&mut lease).unwrap();
    send_to(&mut lease, LOOP, &[]);
    println!("child {}", lease.process_id());
    std::thread::sleep(crate::child::PATIENCE);
}

#[test]
fn a_child_ends_with_its_parent_however_that_ends() {
    let program = std::env::current_exe().unwrap();
    let mut parent = Command::new(program)
        .args(["--exact", "confinement::parent", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let number = |line: String| line.split_once("child ").and_then(|(_, number)| number.trim().parse().ok());
    let child: u32 = lines.map_while(Result::ok).find_map(number).unwrap();
    assert!(runs(child));
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("the child ends", Duration::from_secs(1), || !runs(child));
}

//! A process that sweeps and rebuilds the address index, killed at random, again and again, over
//! one chain: no block is left out of an answer afterwards, and the next rebuild ends with an exact
//! index.

use super::accounts::{ACCOUNTS, account, generated, mixed};
use super::chain::{Chain, open};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const CHILD: &str = "HEARTH_LEDGER_KILL_CHILD";
const READY: &str = "ready";
const KILLS: u64 = 16;
const BLOCKS: u64 = 4_000;
const LAG: u64 = 5;
/// Blocks that the child keeps in every second run: its sweep then raises the floor.
const WINDOW: u64 = 1_500;

/// Rebuilds the index until it is killed.
#[test]
fn child() {
    let Ok(arguments) = env::var(CHILD) else { return };
    let (window, dir) = arguments.split_once(' ').unwrap();
    let (ledger, kv) = open(Path::new(dir), LAG, window.parse().unwrap()).unwrap();
    // What RocksDB has not flushed goes with the process: a kill would take the whole rebuild back.
    std::thread::spawn(move || {
        loop {
            kv.flush().unwrap();
        }
    });
    let mut out = std::io::stdout();
    // On a line of its own: the test harness began one.
    writeln!(out, "\n{READY}").unwrap();
    loop {
        ledger.rebuild_address_index(&mut |_| true).unwrap().unwrap();
    }
}

/// Runs a child for a while, which is within a rebuild at any time.
fn kill_one(dir: &Path, window: u64, after: Duration) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["posting_index::tests::kills::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{window} {}", dir.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == READY), "the child opens the stores");
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn assert_complete(chain: &Chain, kill: u64) {
    let first = chain.ledger.first_indexed().unwrap().unwrap();
    for n in 0..=ACCOUNTS {
        let one = account(n);
        let expected = chain.with(first, chain.head(), |entry| entry.accounts.contains(&one));
        let up = chain.up(&[&[one]], first, chain.head()).unwrap();
        let mut down = chain.down(&one, chain.head(), first).unwrap();
        down.reverse();
        // Both are exact where pages are merged; merging continues in the background between them.
        for (found, direction) in [(up, "up"), (down, "down")] {
            let left_out = expected.iter().find(|height| found.binary_search(height).is_err());
            assert_eq!(left_out, None, "account {n}, {direction}, after kill {kill}");
        }
    }
}

#[test]
fn kills_during_sweep_and_rebuild_leave_no_block_out() {
    let mut chain = Chain::new(LAG, 0);
    for n in 0..BLOCKS {
        chain.grow_with(&generated(n), false, true);
    }
    chain.merge();
    let head = chain.kv.head().unwrap();
    let (whole, mut cut) = (chain.merged_below(), 0);
    for kill in 0..KILLS {
        let window = if kill % 2 == 0 { 0 } else { WINDOW };
        let closed = chain.closed();
        let after = Duration::from_micros(mixed(kill) % 250_000);
        kill_one(closed.path(), window, after);
        chain = closed.open(LAG, 0);
        assert_eq!(chain.kv.head().unwrap().hash, head.hash, "kill {kill}");
        cut += u64::from(chain.merged_below() < whole);
        assert_complete(&chain, kill);
        // What is missing is merged in the background.
        if kill % 4 == 3 {
            chain.merge();
            assert_complete(&chain, kill);
            let report = chain.ledger.verify_address_index(&mut |_| true).unwrap().unwrap();
            assert_eq!((report.found, report.unknown), (0, 0), "{:?}", report.findings);
        }
    }
    assert!(cut > KILLS / 4, "{cut} of {KILLS} kills left an index that is not whole");
    chain.ledger.rebuild_address_index(&mut |_| true).unwrap().unwrap();
    let merged = chain.merged_below();
    for n in 0..ACCOUNTS {
        let expected = chain.with(0, merged - 1, |entry| entry.accounts.contains(&account(n)));
        assert_eq!(chain.up(&[&[account(n)]], 0, merged - 1).unwrap(), expected);
    }
}

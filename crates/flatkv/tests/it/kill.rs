//! A real process killed with SIGKILL in the middle of commits, again and again, over one home.

use crate::model::{Block, Random, Tables, check, options, temp_dir};
use hearth_flatkv::{CommitmentKind, FlatKv, NoTables};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, mpsc::channel},
    time::Duration,
};

const CHILD: &str = "FLATKV_KILL_CHILD";
/// What the child says once it commits.
const READY: &str = "ready";
const KILLS: u64 = 10;

/// The chain that the child makes: every block follows from the one before. Each 40th step unwinds
/// a few blocks.
fn step(chain: &mut Vec<Block>, steps: &mut u64) -> Option<u64> {
    *steps += 1;
    if steps.is_multiple_of(40) {
        let keep = chain.len() - 5;
        chain.truncate(keep);
        return Some(chain[keep - 1].height);
    }
    let seed = Random(*steps).next();
    chain.push(chain.last().map_or_else(|| Block::base(seed), |top| top.next(seed)));
    None
}

fn open(dir: &Path) -> Arc<FlatKv> {
    FlatKv::open(options(dir, CommitmentKind::Mpt), Arc::new(NoTables)).unwrap()
}

/// Runs the chain forward from the head of the home; the step that the head belongs to comes from
/// the parent.
#[test]
fn child() {
    let Ok(arguments) = env::var(CHILD) else { return };
    let (done, dir) = arguments.split_once(' ').unwrap();
    let done: u64 = done.parse().unwrap();
    let (mut chain, mut steps) = (Vec::new(), 0);
    while steps < done {
        step(&mut chain, &mut steps);
    }
    let kv = open(Path::new(dir));
    let tables = Tables::default();
    let mut out = std::io::stdout();
    // On a line of its own: the test harness began one.
    writeln!(out, "\n{READY}").unwrap();
    loop {
        match step(&mut chain, &mut steps) {
            Some(to) => kv.unwind(to).unwrap(),
            None => {
                let block = chain.last().unwrap();
                let mut commit = block.as_commit(&tables);
                commit.positions = Vec::new();
                if kv.head().is_none() { kv.init(commit) } else { kv.commit(commit) }.unwrap();
            }
        }
        if steps % 97 == 0 {
            kv.flush().unwrap();
        }
        writeln!(out, "acknowledged {steps}").unwrap();
    }
}

#[test]
fn ten_kills_lose_no_acknowledged_step() {
    let dir = temp_dir();
    let mut random = Random(2024);
    // The same chain again, kept over the kills: making it again each time would take longer than
    // the kills.
    let (mut chain, mut steps) = (Vec::new(), 0);
    for kill in 0..KILLS {
        let done = steps;
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["kill::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, format!("{done} {}", dir.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let (ready, is_ready) = channel();
        let reader = std::thread::spawn(move || {
            let acknowledged = lines.lines().map_while(Result::ok);
            let acknowledged = acknowledged.inspect(|line| {
                if line == READY {
                    ready.send(()).unwrap();
                }
            });
            acknowledged.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok()).last()
        });
        is_ready.recv_timeout(Duration::from_secs(60)).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(400_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = reader.join().unwrap().unwrap_or(done);
        // The head is the last acknowledged step, or the one that was under way.
        let kv = open(dir.path());
        while steps < acknowledged {
            step(&mut chain, &mut steps);
        }
        if kv.head().map(|head| head.hash) != chain.last().map(|block| block.hash) {
            step(&mut chain, &mut steps);
        }
        check(&kv, &chain[chain.len().saturating_sub(40)..], CommitmentKind::Mpt);
        println!("kill {kill}: steps {done} to {steps}");
    }
    assert!(steps > 10 * KILLS, "the child made only {steps} steps");
}

//! A real process killed with SIGKILL in the middle of commits, again and again, over one home.

use crate::model::{Block, Random, Tables, check, options, temp_dir};
use hearth_flatkv::{CommitmentKind, FlatKv, NoTables};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

const CHILD: &str = "FLATKV_KILL_CHILD";
const KILLS: u64 = 10;

/// The chain that the child makes: every block follows from the one before. Each 40th step unwinds a few blocks.
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

/// Runs the chain forward from the head of the home; the step that the head belongs to comes from the parent.
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
    let mut done = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["kill::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, format!("{done} {}", dir.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            let acknowledged = lines.lines().map_while(Result::ok);
            acknowledged.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok()).last()
        });
        let pause = Duration::from_millis(250 + random.below(600));
        let start = Instant::now();
        while start.elapsed() < pause {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = reader.join().unwrap().unwrap_or(done);
        // The head is the last acknowledged step, or the one that was under way.
        let kv = open(dir.path());
        let (mut chain, mut steps) = (Vec::new(), 0);
        while steps < acknowledged {
            step(&mut chain, &mut steps);
        }
        if kv.head().map(|head| head.hash) != chain.last().map(|block| block.hash) {
            step(&mut chain, &mut steps);
        }
        assert!(steps >= done, "kill {kill}");
        check(&kv, &chain[chain.len().saturating_sub(40)..], CommitmentKind::Mpt);
        done = steps;
    }
    assert!(done > KILLS, "the child made only {done} steps");
}

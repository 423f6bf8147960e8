//! The memory budget: a process that writes and reads many times as much as the budget grows by no
//! more than a fifth beyond it.

use crate::model::{Random, options, temp_dir};
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, NoTables};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange, StateReader};
use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

const CHILD: &str = "FLATKV_BUDGET_CHILD";
const BUDGET: usize = 96 << 20;
const BLOCKS: u64 = 50;
const SLOTS_A_BLOCK: u64 = 13_000;
const READS: u64 = 30_000;

/// Memory of this process that is its own, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

fn slot(n: u64) -> U256 {
    keccak256(n.to_be_bytes()).into()
}

/// A block that sets slots of one account, some of them again; values do not compress.
fn block(height: u64, random: &mut Random) -> Changeset {
    let mut storage: Vec<_> = (0..SLOTS_A_BLOCK)
        .map(|_| slot(random.below(BLOCKS * SLOTS_A_BLOCK)))
        .map(|slot| SlotChange { slot, old: U256::ZERO, new: keccak256(slot.to_be_bytes::<32>()).into() })
        .collect();
    storage.sort_unstable_by_key(|slot| slot.slot);
    storage.dedup_by_key(|slot| slot.slot);
    let new = Some(Account { nonce: height + 1, ..Account::default() });
    let old = (height > 0).then(|| Account { nonce: height, ..Account::default() });
    let change = AccountChange { address: Address::ZERO, old, new, wiped: false, storage };
    Changeset { accounts: vec![change], codes: vec![] }
}

/// Writes and reads, and prints by how much the process grew.
#[test]
fn child() {
    let Ok(dir) = env::var(CHILD) else { return };
    let mut options = options(Path::new(&dir), CommitmentKind::None);
    options.settings.memory_budget_bytes = BUDGET;
    options.segment_bytes = 16 << 20;
    // What the first blocks take for themselves is no part of the store.
    let mut random = Random(1);
    drop(block(0, &mut random));
    let before = resident();
    let mut most = 0;
    let kv = FlatKv::open(options, Arc::new(NoTables)).unwrap();
    let mut parent = B256::ZERO;
    for height in 0..BLOCKS {
        let changes = block(height, &mut random);
        let hash = keccak256(height.to_be_bytes());
        let commit = Commit {
            height,
            hash,
            parent,
            changes: &changes,
            trie: None,
            state_root: None,
            index: vec![],
            positions: vec![],
        };
        if height == 0 { kv.init(commit) } else { kv.commit(commit) }.unwrap();
        parent = hash;
        most = most.max(resident());
    }
    kv.flush().unwrap();
    let (latest, old) = (kv.latest().unwrap(), kv.at(BLOCKS / 2).unwrap());
    let mut found = 0;
    for n in 0..READS {
        let slot = slot(random.below(BLOCKS * SLOTS_A_BLOCK));
        let view = if n % 2 == 0 { &latest } else { &old };
        found += u64::from(!view.storage(&Address::ZERO, &slot).unwrap().is_zero());
        if n % 1000 == 0 {
            most = most.max(resident());
        }
    }
    assert!(found > READS / 4, "{found} slots found");
    println!("\ngrew {}", most - before);
}

#[test]
fn a_process_stays_within_its_memory_budget() {
    let dir = temp_dir();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "budget::child", "--nocapture"]).env(CHILD, dir.path()).stderr(Stdio::inherit());
    let out = child.output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}");
    let grew: usize = text.lines().find_map(|line| line.strip_prefix("grew ")).unwrap().parse().unwrap();
    let written = fs::read_dir(dir.path().join("state/db")).unwrap();
    let size: u64 = written.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    println!("budget {} MiB, grew by {} MiB, over {} MiB of tables", BUDGET >> 20, grew >> 20, size >> 20);
    assert!(size > BUDGET as u64, "{size} bytes are too few to say anything");
    assert!(grew <= BUDGET / 5 * 6, "grew by {grew} bytes under a budget of {BUDGET}");
    assert!(grew >= BUDGET / 2, "grew by {grew} bytes: the budget of {BUDGET} is hardly used");
}

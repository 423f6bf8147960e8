//! Native transactions in the stores: restarts, rollbacks, verification, damage, backups, exported
//! states, state sync.

use crate::{
    comet::{Comet, Decided, Joining},
    consensus::{genesis, transfer},
    natives::{receipt, send, time},
};
use alloy_primitives::{Address, B256};
use hearth_chain::{
    ChainOptions,
    operate::{self, LedgerFinding, Reading},
};
use hearth_cosmos::sha256;
use hearth_node::{Mode, Node};
use serde_json::{Value, json};
use std::path::Path;

const TO: Address = Address::repeat_byte(0x77);

/// The native transaction of a block.
fn native(height: i64) -> Vec<u8> {
    send(0, u64::try_from(height - 1).expect("a height"), TO, 5)
}

fn hash(height: i64) -> B256 {
    sha256(&native(height))
}

/// Commits a block with a native transaction and an Ethereum transaction.
fn commit(comet: &mut Comet) {
    let height = i64::try_from(comet.store.len()).expect("a height") + 1;
    let txs = vec![native(height), transfer(1, u64::try_from(height - 1).expect("a height"), 0)];
    let block = Decided { height, time: time(height), proposer: vec![1; 20], txs };
    let answer = comet.finalize(&block).expect("executes");
    assert!(answer.tx_results.iter().all(|result| result.code == 0), "{:?}", answer.tx_results);
    comet.commit().expect("commits");
    comet.store.push(block);
    comet.told(comet.store.len() - 1, &answer.app_hash);
    comet.state = comet.store.len();
}

fn chain(genesis: &str, blocks: usize) -> Comet {
    let mut comet = Comet::begin(1, genesis);
    (0..blocks).for_each(|_| commit(&mut comet));
    comet
}

/// The receipt of a node that is opened for this.
fn receipt_of(home: &Path, hash: B256) -> Value {
    let node = Node::open(crate::support::config(home, Mode::Start)).expect("opens");
    let told = crate::support::ask(&node, "nativeReceipt", json!({ "hash": hash })).expect("answers");
    node.close().expect("closes");
    told
}

/// Transactions that `hearth db verify` looked at, and what it found.
fn verify(home: &Path) -> (u64, Vec<String>) {
    let reading = Reading::open(home, &ChainOptions::default(), None).expect("opens");
    let report = reading.verify_ledger(&mut |_, _| true).expect("reads");
    reading.close().expect("closes");
    (report.transactions, report.findings.iter().map(ToString::to_string).collect())
}

#[test]
fn a_rollback_removes_natives_and_a_replay_restores_them() {
    let mut comet = chain(&genesis(), 5);
    let before: Vec<Value> = (1..=5).map(|height| receipt(&comet, hash(height))).collect();
    assert!(before.iter().all(|receipt| receipt["status"] == "0x1"));
    comet.state = 0;
    comet.restart_after(|home| {
        operate::roll_back(home, &ChainOptions::default(), 2, false).expect("rolls back");
        assert_eq!(receipt_of(home, hash(3)), Value::Null);
        assert_eq!(receipt_of(home, hash(2)), before[1]);
    });
    let after: Vec<Value> = (1..=5).map(|height| receipt(&comet, hash(height))).collect();
    assert_eq!(after, before);
    commit(&mut comet);
}

#[test]
fn verification_counts_natives_and_finds_their_damage() {
    let mut comet = chain(&genesis(), 3);
    let told = receipt(&comet, hash(2));
    comet.restart_after(|home| assert_eq!(verify(home), (6, Vec::new())));
    assert_eq!(receipt(&comet, hash(2)), told);
    comet.node.close().expect("closes");
    damage(comet.home());
    let (_, found) = verify(comet.home());
    assert!(found.iter().any(|text| text.starts_with("the native transactions of block ")), "{found:?}");
}

/// The command that `hearth db verify` names for damaged native transactions: CometBFT has their
/// bytes, and brings them again.
#[test]
fn a_rollback_repairs_damaged_natives_from_cometbft() {
    const BLOCKS: usize = 7;
    let mut comet = chain(&genesis(), BLOCKS);
    let all =
        |comet: &Comet| (1..=BLOCKS as i64).map(|height| receipt(comet, hash(height))).collect::<Vec<_>>();
    let before = all(&comet);
    comet.state = 0;
    comet.restart_after(|home| {
        damage(home);
        let reading = Reading::open(home, &ChainOptions::default(), None).expect("opens");
        let report = reading.verify_ledger(&mut |_, _| true).expect("reads");
        reading.close().expect("closes");
        let damaged = report.findings.iter().filter_map(|finding| match finding {
            LedgerFinding::Natives { number, .. } => {
                assert_eq!(finding.repair(), Some("hearth db rollback --to HEIGHT"));
                Some(*number)
            }
            _ => None,
        });
        let lowest = damaged.min().expect("a damaged block");
        assert!(lowest > 1, "a block below it is left");
        operate::roll_back(home, &ChainOptions::default(), lowest - 1, false).expect("rolls back");
    });
    assert_eq!(all(&comet), before);
    commit(&mut comet);
    // Also where it is read from the disk again.
    comet.restart_after(|home| assert_eq!(verify(home), (2 * BLOCKS as u64 + 2, Vec::new())));
    assert_eq!(all(&comet), before);
}

/// Flips a bit in the middle of the largest segment of the table `natives`.
fn damage(home: &Path) {
    let files =
        std::fs::read_dir(home_table(home)).expect("a folder").map(|file| file.expect("an entry").path());
    let file = files.max_by_key(|file| std::fs::metadata(file).expect("a file").len()).expect("a segment");
    let mut bytes = std::fs::read(&file).expect("reads");
    let place = bytes.len() / 2;
    bytes[place] ^= 0x10;
    std::fs::write(&file, bytes).expect("writes");
}

/// Folder of the segments of the table `natives`.
fn home_table(home: &Path) -> std::path::PathBuf {
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        let inside = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("reads").path());
        let inside: Vec<_> = inside.filter(|path| path.is_dir()).collect();
        if folder.file_name().is_some_and(|name| name == "natives") {
            return inside.into_iter().next().unwrap_or(folder);
        }
        folders.extend(inside);
    }
    panic!("no table natives");
}

#[test]
fn a_backup_and_an_exported_state_have_natives() {
    let comet = chain(&genesis(), 4);
    let told = receipt(&comet, hash(4));
    comet.node.close().expect("closes");
    let (options, folder) = (ChainOptions::default(), tempfile::tempdir().expect("a folder"));
    let how = operate::BackupOptions::default();
    let done = operate::back_up(comet.home(), folder.path(), how, &options, &mut |_| true).expect("a backup");
    assert_eq!(receipt_of(&done.dir, hash(4)), told);
    assert_eq!(verify(&done.dir), (8, Vec::new()));

    let mut stream = Vec::new();
    operate::export_state(comet.home(), &options, None, &mut stream, &mut |_| true).expect("exports");
    let new = folder.path().join("new");
    operate::import_state(&new, &options, &mut stream.as_slice(), &mut |_| true).expect("imports");
    assert_eq!(receipt_of(&new, hash(4)), told);
    assert_eq!(receipt_of(&new, hash(3)), Value::Null, "blocks below the first one are not there");
}

#[test]
fn state_sync_brings_the_natives_of_its_block() {
    let genesis = genesis();
    let mut first = Comet::begin_with(1, &genesis, 10);
    (0..10).for_each(|_| commit(&mut first));
    let offered = std::iter::repeat_with(|| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        first.list_snapshots().into_iter().next()
    });
    let offered = offered.take(3_000).flatten().next().expect("a snapshot of height 10");
    let chunk = first.chunk(&offered, 0);
    let mut joining = Joining::begin(&genesis);
    joining.offer(&offered, &first.app_hashes[9]);
    joining.apply(0, &chunk, "peer");
    commit(&mut first);
    let mut joined = joining.opened(2, &first);
    assert_eq!(receipt(&joined, hash(10)), receipt(&first, hash(10)));
    commit(&mut joined);
    assert_eq!(joined.app_hashes[10], first.app_hashes[10]);
    assert_eq!(receipt(&joined, hash(11)), receipt(&first, hash(11)));
}

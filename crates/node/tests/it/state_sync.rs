//! State sync: the state of a height from a peer, in chunks, in place of all blocks before it.

use crate::{
    comet::{Comet, Decided, Joining},
    consensus::{genesis, sink, transfer},
    lthash::lthash_genesis,
};
use hearth_abci::{Timestamp, pb};
use hearth_chain::{ChainOptions, operate::Reading};
use hearth_flatkv::ImportSource;
use hearth_home::NodeError;
use hearth_rpc::Request;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

/// Heights between two snapshots.
const INTERVAL: u64 = 10;

const ACCEPT: i32 = pb::response_offer_snapshot::Result::Accept as i32;
const REJECT: i32 = pb::response_offer_snapshot::Result::Reject as i32;
const REJECT_FORMAT: i32 = pb::response_offer_snapshot::Result::RejectFormat as i32;
const TAKEN: i32 = pb::response_apply_snapshot_chunk::Result::Accept as i32;
const RETRY: i32 = pb::response_apply_snapshot_chunk::Result::Retry as i32;
const REJECT_SNAPSHOT: i32 = pb::response_apply_snapshot_chunk::Result::RejectSnapshot as i32;

/// The block of a height: a transfer of one wei each.
fn block(height: i64) -> Decided {
    let time = Timestamp { seconds: 1_700_000_000 + height, nanos: 0 };
    let nonce = u64::try_from(height - 1).expect("a height");
    Decided { height, time, proposer: vec![1; 20], txs: vec![transfer(0, nonce, 0)] }
}

fn commit(comet: &mut Comet, height: i64) {
    let decided = block(height);
    let answer = comet.finalize(&decided).expect("executes");
    assert_eq!(answer.tx_results[0].code, 0, "{}", answer.tx_results[0].log);
    comet.commit().expect("commits");
    comet.store.push(decided);
    comet.told(comet.store.len() - 1, &answer.app_hash);
    comet.state = comet.store.len();
}

/// Waits for the snapshot of a height.
fn snapshot(comet: &mut Comet, height: u64) -> pb::Snapshot {
    for _ in 0..6_000 {
        if let Some(found) = comet.list_snapshots().into_iter().find(|one| one.height == height) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no snapshot of height {height}");
}

fn balance(comet: &Comet) -> Value {
    comet.ask("getBalance", &json!({ "address": sink(0), "block": "latest" }))
}

/// A peer with two snapshots, and what it gives of the newer one.
fn peer(genesis: &str, number: u8) -> (Comet, pb::Snapshot, Vec<u8>) {
    let mut comet = Comet::begin_with(number, genesis, INTERVAL);
    for height in 1..=20 {
        commit(&mut comet, height);
        // Waits for each snapshot before the next request.
        if height % 10 == 0 {
            snapshot(&mut comet, u64::try_from(height).expect("a height"));
        }
    }
    let newest = snapshot(&mut comet, 20);
    let heights: Vec<_> = comet.list_snapshots().iter().map(|one| one.height).collect();
    assert_eq!(heights, [20, 10]);
    assert_eq!(newest.chunks, 1);
    let chunk = comet.chunk(&newest, 0);
    assert!(comet.chunk(&newest, 1).is_empty(), "there is no second chunk");
    (comet, newest, chunk)
}

#[test]
fn a_node_begins_with_the_state_of_a_peer() {
    begins_with_a_state(&genesis());
}

#[test]
fn a_node_begins_with_a_state_under_a_checksum() {
    begins_with_a_state(&lthash_genesis());
}

fn begins_with_a_state(genesis: &str) {
    let (mut first, offered, chunk) = peer(genesis, 1);
    let (_second, equal, equal_chunk) = peer(genesis, 2);
    assert!(offered == equal && chunk == equal_chunk, "two nodes make the same bytes");
    commit(&mut first, 21);
    let app_hash = first.app_hashes[19].clone();

    let mut joining = Joining::begin(genesis);
    let info = joining.info();
    assert_eq!((info.last_block_height, info.last_block_app_hash.len()), (0, 0));
    // A client of CometBFT's RPC, which is open already, and a filter of peers end nothing.
    assert_eq!(joining.query("/cosmos.bank.v1beta1.Query/Params"), 32_000);
    assert_eq!(joining.query("/p2p/filter/addr/203.0.113.5:26656"), 0);
    let other_format = pb::Snapshot { format: 2, ..offered.clone() };
    assert_eq!(joining.offer(&other_format, &app_hash), REJECT_FORMAT);
    let no_hashes = pb::Snapshot { metadata: Default::default(), ..offered.clone() };
    assert_eq!(joining.offer(&no_hashes, &app_hash), REJECT);
    // Of a block that the light client did not verify.
    assert_eq!(joining.offer(&offered, &[7; 32]), ACCEPT);
    assert_eq!(joining.apply(0, &chunk, "peer").result, REJECT_SNAPSHOT);
    assert_eq!(joining.info().last_block_height, 0, "nothing came of it");

    assert_eq!(joining.offer(&offered, &app_hash), ACCEPT);
    let mut bad = chunk.clone();
    bad[100] ^= 1;
    let answer = joining.apply(0, &bad, "liar");
    assert_eq!((answer.result, answer.refetch_chunks), (RETRY, vec![0]));
    assert_eq!(answer.reject_senders, ["liar"]);
    assert_eq!(joining.apply(0, &chunk, "peer").result, TAKEN);
    let info = joining.info();
    assert_eq!((info.last_block_height, info.last_block_app_hash.to_vec()), (20, app_hash.clone()));

    // CometBFT died before it began with the state: it may start state sync again.
    let mut joining = joining.restart();
    assert_eq!(joining.info().last_block_height, 20);
    assert_eq!(joining.offer(&offered, &app_hash), ACCEPT);
    assert_eq!(joining.apply(0, &chunk, "peer").result, TAKEN);
    assert_eq!(joining.info().last_block_height, 20);

    let mut joined = joining.opened(3, &first);
    commit(&mut joined, 21);
    assert_eq!(joined.app_hashes[20], first.app_hashes[20]);
    assert_eq!((balance(&joined), balance(&first)), (json!("0x15"), json!("0x15")));
    let tag = |height: &str| json!({ "block": height, "full": false });
    assert_eq!(joined.ask("getBlockByNumber", &tag("0x15")), first.ask("getBlockByNumber", &tag("0x15")));
    let before = br#"{"op":"getBlockByNumber","args":{"block":"0x9","full":false}}"#;
    let before = crate::support::answer(&joined.node, Request::from_json(before).expect("a request"))
        .expect_err("the request is refused");
    assert!(matches!(before, NodeError::BeforeFirstBlock { height: 9, first: 21 }), "{before:?}");
    // From then on the home is as any other.
    joined.restart();
    commit(&mut joined, 22);
    commit(&mut first, 22);
    assert_eq!(joined.app_hashes[21], first.app_hashes[21]);
    // Also as a peer: what it gives out is what others give out.
    for height in 23..=30 {
        commit(&mut joined, height);
        commit(&mut first, height);
    }
    assert!(snapshot(&mut joined, 30) == snapshot(&mut first, 30), "the same bytes");
}

/// A snapshot of a closed home, with a receipt that was changed and with the right checksums.
fn with_another_receipt(home: &Path, offered: &pb::Snapshot, chunk: &[u8]) -> (pb::Snapshot, Vec<u8>) {
    /// Place of the status of the receipt, behind the sender and the type.
    const STATUS_AT: usize = 23;
    let mut input = chunk;
    let source = ImportSource::open(&mut input).expect("a stream");
    let (height, parent) = (source.head().head.height, source.head().parent);
    let mut attachments = Vec::new();
    for name in ["chain.json", "genesis.json", "block", "receipts", "ancestors"] {
        let mut bytes = source.attachment(name).expect("is there").to_vec();
        if name == "receipts" {
            bytes[STATUS_AT] ^= 1;
        }
        attachments.push((name.to_owned(), bytes));
    }
    let reading = Reading::open(home, &ChainOptions::default(), Some(height)).expect("opens");
    let mut stream = Vec::new();
    reading.kv().export(height, parent, &attachments, &mut stream, &mut |_| true).expect("exports");
    reading.close().expect("closes");
    // The hash of the whole, and that of its only chunk.
    let hash = blake3::hash(&stream).as_bytes().to_vec();
    let snapshot = pb::Snapshot { hash: hash.clone().into(), metadata: hash.into(), ..offered.clone() };
    (snapshot, stream)
}

#[test]
fn a_snapshot_that_its_header_contradicts_is_refused() {
    let genesis = genesis();
    let (mut first, offered, chunk) = peer(&genesis, 1);
    commit(&mut first, 21);
    first.node.close().expect("closes");
    let (spoilt, spoilt_chunk) = with_another_receipt(first.home(), &offered, &chunk);
    let app_hash = first.app_hashes[19].clone();
    let mut joining = Joining::begin(&genesis);
    assert_eq!(joining.offer(&spoilt, &app_hash), ACCEPT);
    assert_eq!(joining.apply(0, &spoilt_chunk, "liar").result, REJECT_SNAPSHOT);
    assert_eq!(joining.info().last_block_height, 0, "nothing came of it");
    assert_eq!(joining.offer(&offered, &app_hash), ACCEPT);
    assert_eq!(joining.apply(0, &chunk, "peer").result, TAKEN);
    let mut joined = joining.opened(3, &first);
    commit(&mut joined, 21);
    assert_eq!(joined.app_hashes[20], first.app_hashes[20]);
}

#[test]
fn a_network_without_snapshots_brings_its_blocks() {
    let genesis = genesis();
    let mut first = Comet::begin(1, &genesis);
    commit(&mut first, 1);
    let joining = Joining::begin(&genesis);
    let mut joined = joining.without_snapshots(&genesis);
    commit(&mut joined, 1);
    assert_eq!(joined.app_hashes, first.app_hashes);
}

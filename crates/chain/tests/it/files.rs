//! Block files: the execution-apis chain in, the same bytes out.

use crate::support::{export, fixtures, import, import_to, options, rpc_chain, split};
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use flate2::{Compression, write::GzEncoder};
use hearth_chain::import::{ImportJob, Progress};
use hearth_chain::{Chain, ChainError, ExportRange};
use hearth_primitives::{Block, BlockHashes, RootTracker as _};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const WITH_GENESIS: ExportRange = ExportRange { from: None, to: None, with_genesis: true };

fn write(dir: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn the_whole_chain_imports_and_exports_byte_identical() {
    let Some((genesis, file)) = rpc_chain() else { return };
    let bytes = fs::read(&file).unwrap();
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), &genesis, &options()).unwrap();
    let mut last = Progress::default();
    let job = ImportJob { files: vec![file.clone()], head: None };
    let report = chain.import(&job, &mut |p| last = *p, &AtomicBool::new(false)).unwrap();
    assert_eq!((report.progress.blocks, report.progress.known, report.progress.transactions), (54, 0, 249));
    assert_eq!(last, report.progress);
    assert_eq!(
        (last.bytes_done, last.bytes_total, last.number),
        (bytes.len() as u64, bytes.len() as u64, 54)
    );
    assert_eq!(last.remaining(), Some(std::time::Duration::ZERO));
    let head: serde_json::Value =
        serde_json::from_slice(&fs::read(fixtures("rpc-compat").unwrap().join("headfcu.json")).unwrap())
            .unwrap();
    let head: B256 = head["params"][0]["headBlockHash"].as_str().unwrap().parse().unwrap();
    assert_eq!((report.head.hash, report.head.height), (head, 54));
    assert_eq!(export(&chain, &ExportRange::default()).unwrap(), bytes);
    look_around(&chain, &bytes);
    // The same again, after opening the home again, changes nothing.
    chain.close().unwrap();
    drop(chain);
    let chain = Chain::open(home.path(), &options()).unwrap();
    let positions = chain.ledger().positions();
    let again = import(&chain, &[&file]).unwrap();
    assert_eq!((again.progress.blocks, again.progress.known, again.head.hash), (0, 54, head));
    assert_eq!(chain.ledger().positions(), positions);
    ranges(&chain, &bytes);
}

/// What the ledger says of the chain is what the file says.
fn look_around(chain: &Chain, bytes: &[u8]) {
    let ledger = chain.ledger();
    let mut difficulty = chain.ledger().canonical_block(0).unwrap().unwrap().total_difficulty;
    for (index, rlp) in split(bytes).into_iter().enumerate() {
        let block = Block::decode(&mut &rlp[..]).unwrap();
        let (number, hash) = (index as u64 + 1, block.header.hash_slow());
        difficulty += block.header.difficulty;
        assert_eq!(ledger.canonical_hash(number).unwrap(), Some(hash));
        assert_eq!(ledger.block_hash(number).unwrap(), hash);
        assert_eq!(ledger.number_of(&hash).unwrap(), Some(number));
        assert_eq!(ledger.canonical_hash(ledger.number_of(&hash).unwrap().unwrap()).unwrap(), Some(hash));
        let stored = ledger.block(&hash).unwrap().unwrap();
        assert_eq!((&stored.block, stored.size, stored.total_difficulty), (&block, rlp.len(), difficulty));
        assert!(stored.has_ommers());
        let receipts = ledger.receipts(&hash).unwrap().unwrap();
        assert_eq!(receipts.receipts.len(), block.body.transactions.len());
        assert_eq!(
            alloy_consensus::proofs::calculate_receipt_root(&receipts.receipts),
            block.header.receipts_root
        );
        for (i, tx) in block.body.transactions.iter().enumerate() {
            let (there, at) = ledger.transaction(tx.tx_hash()).unwrap().unwrap();
            assert_eq!((there.hash, at, there.tx_hashes[i]), (hash, i, *tx.tx_hash()));
            assert_eq!(chain.spec().chain_id(), 3_503_995_874_084_926);
            let env = hearth_evm::BlockEnvironment::from_header(chain.spec(), &block.header);
            let sender = hearth_evm::recover_sender(chain.spec(), &env, tx).unwrap();
            assert_eq!(receipts.senders[i], sender);
        }
    }
    assert_eq!(ledger.canonical_hash(55).unwrap(), None);
    assert_eq!(ledger.block_hash(55).unwrap(), B256::ZERO);
    assert!(ledger.block(&B256::repeat_byte(1)).unwrap().is_none());
    assert!(ledger.receipts(&B256::repeat_byte(1)).unwrap().is_none());
    assert!(ledger.transaction(&B256::repeat_byte(1)).unwrap().is_none());
}

fn ranges(chain: &Chain, bytes: &[u8]) {
    let all = split(bytes);
    let range = |from, to| ExportRange { from, to, with_genesis: false };
    assert_eq!(export(chain, &range(Some(10), Some(12))).unwrap(), all[9..12].concat());
    assert_eq!(export(chain, &range(None, Some(1))).unwrap(), all[0]);
    assert_eq!(export(chain, &range(Some(54), None)).unwrap(), all[53]);
    let whole = export(chain, &WITH_GENESIS).unwrap();
    assert_eq!(whole[whole.len() - bytes.len()..], *bytes);
    assert_eq!(Block::decode(&mut &whole[..]).unwrap().header.hash_slow(), chain.base_hash());
    for (from, to) in [(Some(12), Some(10)), (None, Some(55)), (Some(55), None)] {
        let refused = export(chain, &range(from, to));
        assert!(matches!(refused, Err(ChainError::NoSuchRange { first: 0, last: 54, .. })), "{refused:?}");
    }
    let cancelled = AtomicBool::new(true);
    let refused =
        chain.export(&WITH_GENESIS, std::path::Path::new("x"), &mut Vec::new(), &mut |_, _| {}, &cancelled);
    assert!(matches!(refused, Err(ChainError::Cancelled)));
}

/// A leading genesis is skipped, gzip is unpacked, known blocks are skipped, several files follow
/// each other.
#[test]
fn files_come_in_many_forms() {
    let Some((genesis, file)) = rpc_chain() else { return };
    let (bytes, dir) = (fs::read(&file).unwrap(), TempDir::new().unwrap());
    let all = split(&bytes);
    let home = dir.path().join("home");
    let chain = Chain::create(&home, &genesis, &options()).unwrap();
    let block0 = export(&chain, &WITH_GENESIS).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&[&block0[..], &all[..30].concat()].concat()).unwrap();
    let first = write(&dir, "first.rlp.gz", &gzip.finish().unwrap());
    let second = write(&dir, "second.rlp", &all[20..50].concat());
    let third = write(&dir, "third.rlp", &all[50..].concat());
    let done = import(&chain, &[&first, &second]).unwrap();
    assert_eq!((done.progress.blocks, done.progress.known, done.head.height), (50, 10, 50));
    assert_eq!(done.progress.bytes_done, done.progress.bytes_total);
    let done = import(&chain, &[&third]).unwrap();
    assert_eq!((done.progress.blocks, done.progress.known, done.head.height), (4, 0, 54));
    assert_eq!(export(&chain, &ExportRange::default()).unwrap(), bytes);
    // An older part given again does not take the head back.
    assert_eq!(import(&chain, &[&first]).unwrap().head.height, 54);
    let empty = write(&dir, "empty.rlp", b"");
    assert_eq!(import(&chain, &[&empty]).unwrap().head.height, 54);
}

#[test]
fn the_head_can_be_chosen() {
    let Some((genesis, file)) = rpc_chain() else { return };
    let dir = TempDir::new().unwrap();
    let chain = Chain::create(dir.path(), &genesis, &options()).unwrap();
    let bytes = fs::read(&file).unwrap();
    let hash = |i: usize| Block::decode(&mut &split(&bytes)[i][..]).unwrap().header.hash_slow();
    let done = import_to(&chain, &[&file], Some(hash(40))).unwrap();
    assert_eq!((done.progress.blocks, done.head.height, done.head.hash), (54, 41, hash(40)));
    assert_eq!(chain.ledger().canonical_hash(42).unwrap(), None);
    assert!(chain.ledger().has_block(&hash(50)));
    chain.set_head(&hash(50)).unwrap();
    assert_eq!(chain.head().height, 51);
    assert_eq!(export(&chain, &ExportRange::default()).unwrap(), split(&bytes)[..51].concat());
    let unknown = import_to(&chain, &[&file], Some(B256::repeat_byte(9)));
    assert!(matches!(unknown, Err(ChainError::UnknownBlock(_))), "{unknown:?}");
    assert_eq!(chain.head().height, 54, "the blocks that were given are the head in spite of the bad choice");
}

/// A cancelled import keeps what it did and continues later, also on a home that was not closed.
#[test]
fn cancelled_imports_go_on() {
    let Some((genesis, file)) = rpc_chain() else { return };
    let dir = TempDir::new().unwrap();
    let mut chain = Chain::create(dir.path(), &genesis, &options()).unwrap();
    let bytes = fs::read(&file).unwrap();
    let all = split(&bytes);
    for upto in [7usize, 20, 33] {
        let part = write(&dir, "part.rlp", &all[..upto].concat());
        let cancel = AtomicBool::new(false);
        import(&chain, &[&part]).unwrap();
        cancel.store(true, Ordering::Relaxed);
        let job = ImportJob { files: vec![file.clone()], head: None };
        let cancelled = chain.import(&job, &mut |_| {}, &cancel);
        assert!(matches!(cancelled, Err(ChainError::Cancelled)), "{cancelled:?}");
        assert_eq!(chain.head().height, upto as u64);
        drop(chain);
        chain = Chain::open(dir.path(), &options()).unwrap();
        assert_eq!(chain.head().height, upto as u64);
    }
    assert_eq!(import(&chain, &[&file]).unwrap().head.height, 54);
}

/// Blocks are committed several at once: each of them can be read and unwound by itself.
#[test]
fn blocks_of_one_commit_are_as_if_committed_alone() {
    let Some((genesis, file)) = rpc_chain() else { return };
    let bytes = fs::read(&file).unwrap();
    let homes = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [imported, inserted] =
        homes.each_ref().map(|home| Chain::create(home.path(), &genesis, &options()).unwrap());
    import(&imported, &[&file]).unwrap();
    for mut block in split(&bytes) {
        inserted.insert_block(Block::decode(&mut block).unwrap()).unwrap();
    }
    let (ours, theirs) = (imported.ledger(), inserted.ledger());
    for height in (0..=54).rev() {
        let [roots, others] =
            [&imported, &inserted].map(|chain| chain.kv().roots_at(height).unwrap().root().unwrap());
        assert_eq!(roots, others, "state root at height {height}");
        let hash = ours.canonical_hash(height).unwrap();
        assert_eq!(hash, theirs.canonical_hash(height).unwrap());
        if let Some(hash) = hash.filter(|_| height > 0) {
            assert_eq!(ours.receipts(&hash).unwrap(), theirs.receipts(&hash).unwrap(), "{height}");
            assert_eq!(ours.capsule(&hash).unwrap(), theirs.capsule(&hash).unwrap(), "{height}");
        }
        if height % 9 == 0 {
            [&imported, &inserted].iter().for_each(|chain| chain.kv().unwind(height).unwrap());
            let [root, other] =
                [&imported, &inserted].map(|chain| chain.kv().trie().unwrap().root().unwrap());
            assert_eq!((root, other), (roots, roots), "after the unwind to {height}");
        }
    }
}

/// The block behind one with a wrong state root is executed before that is known.
#[test]
fn a_wrong_state_root_ends_an_import_before_its_block() {
    let Some((genesis, file)) = rpc_chain() else { return };
    let bytes = fs::read(&file).unwrap();
    let blocks = split(&bytes);
    let decoded = |index: usize| Block::decode(&mut &blocks[index][..]).unwrap();
    let (mut wrong, mut behind) = (decoded(49), decoded(50));
    wrong.header.state_root = B256::repeat_byte(7);
    behind.header.parent_hash = wrong.header.hash_slow();
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), &genesis, &options()).unwrap();
    let start: Vec<u8> = blocks[..49].concat();
    let spoilt = [start.clone(), alloy_rlp::encode(&wrong), alloy_rlp::encode(&behind)].concat();
    let spoilt = write(&home, "spoilt", &spoilt);
    let mut last = Progress::default();
    let job = ImportJob { files: vec![spoilt], head: None };
    let refused = chain.import(&job, &mut |p| last = *p, &AtomicBool::new(false)).unwrap_err();
    let ChainError::AtBlock { index: 49, offset, source, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*offset, start.len() as u64);
    assert!(matches!(&**source, ChainError::Refused { number: 50, .. }), "{refused}");
    assert!(source.to_string().contains(&wrong.header.state_root.to_string()), "{refused}");
    assert_eq!((last.blocks, last.number, chain.head().height), (49, 49, 49));
    for block in [&wrong, &behind] {
        assert!(!chain.ledger().has_block(&block.header.hash_slow()));
    }
    assert_eq!(export(&chain, &ExportRange::default()).unwrap(), start);
    // An import of the whole chain continues from there.
    let report = import(&chain, &[&file]).unwrap();
    assert_eq!((report.progress.known, report.progress.blocks, report.head.height), (49, 5, 54));
}

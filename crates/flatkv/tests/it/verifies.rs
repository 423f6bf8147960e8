//! Verification: nothing is found in a sound store, and each kind of damage by its name.

use crate::{
    model::{BASE, Home, Random, address, slot},
    snapshots::grow,
};
use alloy_primitives::{B256, keccak256};
use hearth_flatkv::{CommitmentKind, Finding, FlatKv, FlatKvError, VerifyReport};
use rocksdb::{ColumnFamilyDescriptor, DB, Options as RocksOptions, SliceTransform};
use std::collections::BTreeSet;
use std::num::NonZeroU64;

/// Commitment, the row to spoil (family, key, new value), and the names of what is found then.
type Case<'a> = (CommitmentKind, (&'a str, Vec<u8>, Option<Vec<u8>>), &'a [&'a str]);

const KINDS: [CommitmentKind; 3] = [CommitmentKind::Mpt, CommitmentKind::LtHash, CommitmentKind::None];

fn verify(kv: &FlatKv) -> VerifyReport {
    kv.verify(&mut |_| true).unwrap()
}

#[test]
fn a_sound_store_has_no_findings_and_every_row_is_counted() {
    for kind in KINDS {
        for (history_blocks, seed) in [(0, 31), (5, 32)] {
            let home = Home::new(kind);
            let options =
                home.options_with(|settings| settings.state_history_blocks = NonZeroU64::new(history_blocks));
            let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
            assert!(matches!(kv.verify(&mut |_| true), Err(FlatKvError::Empty)));
            let (mut chain, mut random) = (Vec::new(), Random(seed));
            grow(&kv, &home, &mut chain, 60, &mut random);
            kv.unwind(57).unwrap();
            chain.truncate(51);
            grow(&kv, &home, &mut chain, 70, &mut random);
            let world = &chain.last().unwrap().world;
            let slots = world.accounts.values().map(|(_, slots)| slots.len() as u64).sum::<u64>();
            let mut phases = BTreeSet::new();
            let report = kv
                .verify(&mut |progress| {
                    phases.insert(progress.phase);
                    true
                })
                .unwrap();
            assert_eq!(report.findings, [], "{kind}");
            assert!(report.is_sound());
            assert_eq!(report.head, kv.head().unwrap());
            assert_eq!(report.counts.accounts, world.accounts.len() as u64);
            assert_eq!(report.counts.slots, slots);
            let oldest = if history_blocks == 0 { BASE } else { 65 };
            assert_eq!((report.oldest, report.counts.blocks), (oldest, 70 - oldest + 1));
            assert!(phases.contains("accounts") && phases.contains("blocks"));
            assert_eq!(report.counts.trie_nodes > 0, kind == CommitmentKind::Mpt);
            let snapshot = kv.snapshot().unwrap();
            let read_only = FlatKv::open_in(options, &snapshot).unwrap();
            let mut of_snapshot = verify(&read_only);
            if history_blocks > 0 {
                // Rows below the oldest height go in the background, at any time after the height
                // rose.
                assert!(of_snapshot.counts.history <= report.counts.history);
                of_snapshot.counts.history = report.counts.history;
            }
            assert_eq!(of_snapshot, report);
            assert!(matches!(kv.verify(&mut |_| false), Err(FlatKvError::Cancelled)));
        }
    }
}

/// Writes into the database of a closed home behind the store's back.
pub fn spoil(home: &Home, family: &str, change: impl FnOnce(&DB, &str)) {
    let dir = home.options().dir.join("db");
    let families = DB::list_cf(&RocksOptions::default(), &dir).unwrap();
    let descriptors = families.iter().map(|name| {
        let mut options = RocksOptions::default();
        if name == "history" {
            let prefix = history_prefix as fn(&[u8]) -> &[u8];
            options.set_prefix_extractor(SliceTransform::create("hearth.history", prefix, None));
        }
        if name == "storage" {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(20));
        }
        ColumnFamilyDescriptor::new(name, options)
    });
    let db = DB::open_cf_descriptors(&RocksOptions::default(), &dir, descriptors).unwrap();
    change(&db, family);
    for name in &families {
        db.flush_cf(&db.cf_handle(name).unwrap()).unwrap();
    }
}

fn history_prefix(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(8)]
}

#[test]
fn each_kind_of_damage_is_found_by_its_name() {
    let account = address(1).to_vec();
    let storage = [account.as_slice(), &slot(2).to_be_bytes::<32>()].concat();
    let absent = [[9; 20].as_slice(), &[0; 32]].concat();
    let stamped = |height: u64, value: &[u8]| [height.to_be_bytes().as_slice(), value].concat();
    let put = |family: &'static str, key: &[u8], value: Vec<u8>| (family, key.to_vec(), Some(value));
    let gone = |family: &'static str, key: &[u8]| (family, key.to_vec(), None);
    let (mpt, lattice, none) = (CommitmentKind::Mpt, CommitmentKind::LtHash, CommitmentKind::None);
    // An account row is nonce 1, balance 5, no code.
    let cases: Vec<Case<'_>> = vec![
        (mpt, put("account", &account, stamped(60, &[1, 1, 5, 0])), &["history", "commitment"]),
        (lattice, put("account", &account, stamped(60, &[1, 1, 5, 0])), &["history", "commitment"]),
        (none, put("account", &account, stamped(60, &[1, 1, 5, 0])), &["history"]),
        (none, put("account", &account, stamped(61, &[1, 1, 5, 0])), &["future_stamp", "history"]),
        (none, put("account", &account, vec![1, 2]), &["undecodable"]),
        (
            none,
            put("account", &account, stamped(60, &[[1, 1, 5, 1].as_slice(), &[7; 32]].concat())),
            &["history", "missing_code"],
        ),
        (mpt, put("storage", &storage, stamped(60, &[77])), &["history", "commitment"]),
        (lattice, put("storage", &storage, stamped(60, &[77])), &["history", "commitment"]),
        (mpt, put("storage", &absent, stamped(60, &[77])), &["history", "slot_without_account"]),
        (none, put("code", &[5; 32], vec![1]), &["wrong_code"]),
        (none, put("code", &[5; 31], vec![1]), &["undecodable"]),
        (none, gone("changes", &40u64.to_be_bytes()), &["missing_block"]),
        (none, put("changes", &40u64.to_be_bytes(), vec![1]), &["undecodable"]),
        (mpt, put("trie", &[0, 1, 2, 3, 4, 5], vec![0xc0]), &["stray_trie_nodes"]),
    ];
    for (kind, (family, key, value), expected) in cases {
        let home = Home::new(kind);
        let kv = home.open().unwrap();
        let (mut chain, mut random) = (Vec::new(), Random(77));
        grow(&kv, &home, &mut chain, 60, &mut random);
        kv.close().unwrap();
        drop(kv);
        spoil(&home, family, |db, family| {
            let family = db.cf_handle(family).unwrap();
            match &value {
                Some(value) => db.put_cf(&family, &key, value).unwrap(),
                None => db.delete_cf(&family, &key).unwrap(),
            }
        });
        let report = verify(&home.open().unwrap());
        let names: BTreeSet<_> = report.findings.iter().map(Finding::name).collect();
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        // A row that does not decode makes the commitment uncomputable only where it takes part in
        // it.
        assert_eq!(names, expected, "{kind} {family}: {:?}", report.findings);
        assert_eq!(report.found, report.findings.len() as u64);
        for finding in &report.findings {
            assert!(!finding.to_string().is_empty());
        }
    }
}

#[test]
fn a_damaged_trie_node_is_named_with_its_path() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(78));
    grow(&kv, &home, &mut chain, 60, &mut random);
    let nodes = verify(&kv).counts.trie_nodes;
    kv.close().unwrap();
    drop(kv);
    let mut spoilt = (Vec::new(), B256::ZERO);
    spoil(&home, "trie", |db, family| {
        let family = db.cf_handle(family).unwrap();
        // The first node of the accounts' trie below its root.
        let rows = db.iterator_cf(&family, rocksdb::IteratorMode::Start);
        let (key, rlp) = rows.map(Result::unwrap).find(|(key, _)| key.len() == 2).unwrap();
        spoilt = (key[1..].to_vec(), keccak256(&rlp));
        db.put_cf(&family, &key, [&rlp[..rlp.len() - 1], &[rlp[rlp.len() - 1] ^ 1]].concat()).unwrap();
    });
    let report = verify(&home.open().unwrap());
    let expected = Finding::TrieNode { owner: None, path: spoilt.0.into(), hash: spoilt.1 };
    assert_eq!(report.findings[0], expected);
    let Some(Finding::StrayTrieNodes { number }) = report.findings.get(1) else { panic!("{report:?}") };
    // The damaged node and all below it are not reached.
    assert_eq!(report.counts.trie_nodes + number, nodes);
}

#[test]
fn log_damage_is_found_even_if_the_database_is_sound() {
    let home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(3));
    grow(&kv, &home, &mut chain, 30, &mut random);
    kv.close().unwrap();
    drop(kv);
    let segment = home.segments()[0].clone();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    std::fs::write(&segment, bytes).unwrap();
    let report = verify(&home.open().unwrap());
    let [Finding::Log { file, offset }] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(Some(file.as_os_str()), segment.file_name());
    assert!(*offset <= at as u64, "{offset} of {at}");
}

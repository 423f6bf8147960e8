//! Metrics: a known workload moves each series by exactly what was done, and an idle store moves
//! none.

use crate::model::{BASE, Home};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, FlatKvError, IndexWrite, RowWrite};
use hearth_metrics::Registry;
use hearth_primitives::{Account, AccountChange, Changeset, Height, SlotChange};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

pub type Page = BTreeMap<String, i64>;

/// Every series with its value, or its number of samples; RocksDB's own are left out.
pub fn page(registry: &Registry) -> Page {
    let mut page = whole_page(registry);
    page.retain(|name, _| !name.starts_with("rocksdb_"));
    page
}

fn whole_page(registry: &Registry) -> Page {
    let json: Value = serde_json::from_str(&registry.snapshot_json()).unwrap();
    let mut page = Page::new();
    for family in json.as_array().unwrap() {
        for series in family["series"].as_array().unwrap() {
            let labels = series["labels"].as_object().unwrap().values();
            let labels: Vec<_> = labels.map(|value| value.as_str().unwrap()).collect();
            let value = series.get("value").or_else(|| series.get("count")).unwrap();
            page.insert(
                format!("{}({})", family["name"].as_str().unwrap(), labels.join(",")),
                value.as_i64().unwrap(),
            );
        }
    }
    page
}

/// The series that differ, and by how much.
pub fn moved(before: &Page, after: &Page) -> Page {
    after
        .iter()
        .map(|(name, value)| (name.clone(), value - before[name]))
        .filter(|(_, by)| *by != 0)
        .collect()
}

pub fn expected(rows: &[(&str, i64)]) -> Page {
    rows.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect()
}

/// A flush in each data DB.
pub fn with_flush(mut page: Page) -> Page {
    for db in ["account", "code", "storage", "legacy", "metadata"] {
        page.insert(format!("flatkv_flush_latency({db},true)"), 1);
    }
    page
}

fn open(home: &Home, registry: &Registry) -> Result<Arc<FlatKv>, FlatKvError> {
    let mut options = home.options();
    options.metrics = registry.clone();
    FlatKv::open(options, home.tables.clone())
}

fn hash(height: Height) -> B256 {
    keccak256(height.to_be_bytes())
}

/// Two accounts change, one of them only in its storage; three slots; code where `code`.
fn changes(height: Height, code: bool) -> Changeset {
    let account = |n: u64| Account { balance: U256::from(n), ..Account::default() };
    let slot = |n: u64| SlotChange { slot: U256::from(n), old: U256::ZERO, new: U256::from(height) };
    let first = AccountChange {
        address: Address::repeat_byte(1),
        old: (height > BASE).then(|| account(height - 1)),
        new: Some(account(height)),
        wiped: false,
        storage: vec![slot(3 * height), slot(3 * height + 1)],
    };
    let second = AccountChange {
        address: Address::repeat_byte(2),
        old: (height > BASE).then(|| account(1)),
        new: Some(account(1)),
        wiped: false,
        storage: vec![slot(3 * height + 2)],
    };
    let text = Bytes::from(height.to_be_bytes().to_vec());
    let codes = if code { vec![(keccak256(&text), text)] } else { Vec::new() };
    Changeset { accounts: vec![first, second], codes }
}

fn commit(kv: &FlatKv, home: &Home, height: Height, changes: &Changeset) -> Result<(), FlatKvError> {
    let index = vec![IndexWrite { key: vec![1], value: Some(height.to_be_bytes().to_vec()) }];
    let (parent, positions) = (hash(height.wrapping_sub(1)), home.tables.append(10));
    let commit = Commit {
        height,
        hash: hash(height),
        parent,
        changes,
        trie: None,
        state_root: None,
        index,
        positions,
    };
    if kv.head().is_none() { kv.init(commit) } else { kv.commit(commit) }
}

#[test]
fn each_series_moves_by_what_was_done() {
    let (home, registry) = (Home::new(CommitmentKind::LtHash), Registry::new());
    let fresh = page(&registry);
    assert!(fresh.values().all(|value| *value == 0));

    let kv = open(&home, &registry).unwrap();
    let opened = page(&registry);
    let first = expected(&[("flatkv_open_latency(false,true)", 1), ("flatkv_catchup_latency(true)", 1)]);
    assert_eq!(moved(&fresh, &opened), first);

    // Both accounts are new in the first block, which ends in a flush.
    commit(&kv, &home, BASE, &changes(BASE, true)).unwrap();
    let made = page(&registry);
    let one_block = [
        ("flatkv_apply_changesets_latency(true)", 1),
        ("flatkv_commit_latency(true)", 1),
        ("flatkv_batch_read_old_values_latency(true)", 1),
        ("flatkv_commit_batch_latency(account,true)", 1),
        ("flatkv_commit_batch_latency(code,true)", 1),
        ("flatkv_commit_batch_latency(storage,true)", 1),
        ("flatkv_commit_batch_latency(metadata,true)", 1),
        ("flatkv_num_kv_pairs(account)", 2),
        ("flatkv_num_kv_pairs(code)", 1),
        ("flatkv_num_kv_pairs(storage)", 3),
        ("flatkv_current_version()", BASE as i64),
    ];
    assert_eq!(moved(&opened, &made), with_flush(expected(&one_block)));

    // The next has no code, and its second account changes in its storage alone: a data DB without
    // rows has no sample.
    commit(&kv, &home, BASE + 1, &changes(BASE + 1, false)).unwrap();
    let second = page(&registry);
    let two = [
        ("flatkv_apply_changesets_latency(true)", 1),
        ("flatkv_commit_latency(true)", 1),
        ("flatkv_batch_read_old_values_latency(true)", 1),
        ("flatkv_commit_batch_latency(account,true)", 1),
        ("flatkv_commit_batch_latency(storage,true)", 1),
        ("flatkv_commit_batch_latency(metadata,true)", 1),
        ("flatkv_num_kv_pairs(account)", 1),
        ("flatkv_num_kv_pairs(storage)", 3),
        ("flatkv_current_version()", 1),
    ];
    assert_eq!(moved(&made, &second), expected(&two));

    // A block that does not follow is refused before anything is applied.
    let refused = commit(&kv, &home, BASE + 5, &changes(BASE + 5, true));
    assert!(matches!(refused, Err(FlatKvError::Height { .. })));
    let after = page(&registry);
    let failed = [("flatkv_apply_changesets_latency(false)", 1), ("flatkv_commit_latency(false)", 1)];
    assert_eq!(moved(&second, &after), expected(&failed));

    kv.flush().unwrap();
    let flushed = page(&registry);
    assert_eq!(moved(&after, &flushed), with_flush(Page::new()));

    // Reads, and time alone, move nothing.
    kv.latest().unwrap();
    kv.at(BASE).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(page(&registry), flushed);

    kv.unwind(BASE).unwrap();
    assert_eq!(moved(&flushed, &page(&registry)), expected(&[("flatkv_current_version()", -1)]));
}

#[test]
fn catching_up_counts_the_blocks_that_it_replays() {
    let (home, registry) = (Home::new(CommitmentKind::LtHash), Registry::new());
    let kv = open(&home, &registry).unwrap();
    for height in BASE..BASE + 4 {
        commit(&kv, &home, height, &changes(height, height == BASE + 3)).unwrap();
    }
    // The copy lacks what RocksDB has in memory: the three blocks after the first, whose commit
    // ended in a flush.
    let (killed, registry) = (home.killed(), Registry::new());
    let fresh = page(&registry);
    let reopened = open(&killed, &registry).unwrap();
    assert_eq!(reopened.head().map(|head| head.height), Some(BASE + 3));
    let replayed = [
        ("flatkv_open_latency(false,true)", 1),
        ("flatkv_catchup_latency(true)", 1),
        ("flatkv_catchup_replay_num_blocks()", 3),
        ("flatkv_apply_changesets_latency(true)", 3),
        ("flatkv_commit_batch_latency(account,true)", 1),
        ("flatkv_commit_batch_latency(code,true)", 1),
        ("flatkv_commit_batch_latency(storage,true)", 1),
        ("flatkv_commit_batch_latency(metadata,true)", 1),
        ("flatkv_num_kv_pairs(account)", 3),
        ("flatkv_num_kv_pairs(code)", 1),
        ("flatkv_num_kv_pairs(storage)", 9),
        ("flatkv_current_version()", BASE as i64 + 3),
    ];
    assert_eq!(moved(&fresh, &page(&registry)), expected(&replayed));

    // The home is taken: an opening that failed, and nothing else.
    let second = Registry::new();
    assert!(matches!(open(&killed, &second), Err(FlatKvError::Locked(_))));
    assert_eq!(moved(&fresh, &page(&second)), expected(&[("flatkv_open_latency(false,false)", 1)]));
}

#[test]
fn rocksdb_tells_of_itself_only_where_the_setting_asks() {
    let (home, registry) = (Home::new(CommitmentKind::None), Registry::new());
    let mut options = home.options();
    options.metrics = registry.clone();
    options.settings.enable_kvdb_metrics = false;
    let kv = FlatKv::open(options.clone(), home.tables.clone()).unwrap();
    commit(&kv, &home, BASE, &changes(BASE, true)).unwrap();
    assert!(!whole_page(&registry).keys().any(|name| name.starts_with("rocksdb_")));
    drop(kv);

    options.settings.enable_kvdb_metrics = true;
    let kv = FlatKv::open(options, home.tables.clone()).unwrap();
    let page = whole_page(&registry);
    for db in ["account", "code", "storage", "legacy", "metadata"] {
        assert!(page[&format!("rocksdb_memtables_size_bytes({db})")] > 0, "{db}");
    }
    // The first commit and the close each flushed; what has rows has files, and legacy has none.
    let files = |page: &Page, db: &str| {
        page.iter()
            .filter(|(name, _)| name.starts_with(&format!("rocksdb_files({db},")))
            .map(|(_, files)| files)
            .sum::<i64>()
    };
    assert!(files(&page, "account") >= 1 && files(&page, "metadata") >= 1);
    assert_eq!((files(&page, "legacy"), page["rocksdb_files_size_bytes(legacy)"]), (0, 0));
    assert_eq!((page["rocksdb_estimated_keys(account)"], page["rocksdb_estimated_keys(storage)"]), (2, 3));
    assert!(page["rocksdb_files_size_bytes(storage)"] > 0);
    assert!(page["rocksdb_all_files_size_bytes()"] > page["rocksdb_files_size_bytes(storage)"]);
    // The budget of 64 MiB without the shares of code, trie and RocksDB's own buffers.
    assert_eq!(page["rocksdb_block_cache_capacity_bytes()"], 36 << 20);
    assert_eq!((page["rocksdb_write_stopped()"], page["rocksdb_background_errors()"]), (0, 0));

    // Read at the time of the look, and no more once the store is gone.
    commit(&kv, &home, BASE + 1, &changes(BASE + 1, false)).unwrap();
    assert_eq!(whole_page(&registry)["rocksdb_estimated_keys(storage)"], 6);
    drop(kv);
    assert_eq!(whole_page(&registry)["rocksdb_estimated_keys(storage)"], 6);
}

#[test]
fn applied_rows_are_pending_until_committed_or_dropped() {
    let (home, registry) = (Home::new(CommitmentKind::LtHash), Registry::new());
    let kv = open(&home, &registry).unwrap();
    commit(&kv, &home, BASE, &changes(BASE, true)).unwrap();
    let write = |n: u8| RowWrite { key: vec![n], value: Some(vec![n]) };

    // Two accounts of which one changes, three slots, one code, two legacy rows.
    let before = page(&registry);
    kv.apply(&changes(BASE + 1, true), &[write(1), write(2)]).unwrap();
    let applied = page(&registry);
    let rows = [("account", 1), ("code", 1), ("storage", 3), ("legacy", 2)];
    let of = |name: &str, sign: i64| rows.map(|(db, rows)| (format!("flatkv_{name}({db})"), sign * rows));
    let mut first = expected(&[
        ("flatkv_apply_changesets_latency(true)", 1),
        ("flatkv_batch_read_old_values_latency(true)", 1),
    ]);
    first.extend(of("num_kv_pairs", 1));
    first.extend(of("pending_writes", 1));
    assert_eq!(moved(&before, &applied), first);

    // A row that is applied again counts among those applied and not among those pending.
    kv.apply(&Changeset::default(), &[write(2), write(3)]).unwrap();
    let again = page(&registry);
    let second = [
        ("flatkv_apply_changesets_latency(true)", 1),
        ("flatkv_batch_read_old_values_latency(true)", 1),
        ("flatkv_num_kv_pairs(legacy)", 2),
        ("flatkv_pending_writes(legacy)", 1),
    ];
    assert_eq!(moved(&applied, &again), expected(&second));

    // Refused: a sample that failed, and nothing else.
    let refused = kv.apply(&Changeset::default(), &[RowWrite { key: vec![], value: None }]);
    assert!(matches!(refused, Err(FlatKvError::LegacyRow { .. })));
    let after = page(&registry);
    assert_eq!(moved(&again, &after), expected(&[("flatkv_apply_changesets_latency(false)", 1)]));

    // The commit applies nothing more, and has rows in every data DB.
    commit(&kv, &home, BASE + 1, &Changeset::default()).unwrap();
    let committed = page(&registry);
    let mut third = expected(&[
        ("flatkv_commit_latency(true)", 1),
        ("flatkv_batch_read_old_values_latency(true)", 1),
        ("flatkv_commit_batch_latency(metadata,true)", 1),
        ("flatkv_current_version()", 1),
        ("flatkv_pending_writes(legacy)", -3),
        ("flatkv_pending_writes(account)", -1),
        ("flatkv_pending_writes(code)", -1),
        ("flatkv_pending_writes(storage)", -3),
    ]);
    third.extend(rows.map(|(db, _)| (format!("flatkv_commit_batch_latency({db},true)"), 1)));
    assert_eq!(moved(&after, &committed), third);

    kv.apply(&changes(BASE + 2, false), &[]).unwrap();
    kv.discard();
    let dropped = page(&registry);
    let fourth = [
        ("flatkv_apply_changesets_latency(true)", 1),
        ("flatkv_num_kv_pairs(account)", 1),
        ("flatkv_num_kv_pairs(storage)", 3),
    ];
    assert_eq!(moved(&committed, &dropped), expected(&fourth));
}

//! Repair: what is damaged is set aside and made again; what would be lost is reported first.

use crate::{
    model::{BASE, Block, Home, Random, check},
    snapshots::{at, grow},
    verifies::spoil,
};
use hearth_flatkv::{
    CommitmentKind, Executor, Finding, FlatKv, FlatKvError, Head, JoinedTables, Repair, RepairAction,
    RepairReport,
};
use std::{fs, path::Path, sync::Arc};

fn repair(home: &Home, accept_loss: bool) -> Result<RepairReport, FlatKvError> {
    let tables: Arc<dyn JoinedTables> = home.tables.clone();
    let options = home.options();
    Repair { options: &options, tables: &tables, accept_loss, executor: None }.run(&mut |_| true)
}

/// A home with heights 7 to 40 and snapshots of 15 and 25, closed or as a kill leaves it.
fn home(kind: CommitmentKind, seed: u64, killed: bool) -> (Home, Vec<Block>) {
    let home = Home::new(kind);
    let options = home.options_with(|settings| settings.snapshot_keep = 2);
    let kv = FlatKv::open(options, home.tables.clone()).unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(seed));
    for height in [15, 25] {
        grow(&kv, &home, &mut chain, height, &mut random);
        kv.snapshot().unwrap();
    }
    grow(&kv, &home, &mut chain, 40, &mut random);
    if killed {
        return (home.killed(), chain);
    }
    kv.close().unwrap();
    (home, chain)
}

fn bad_folders(home: &Home) -> Vec<String> {
    let names = fs::read_dir(home.options().dir.parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains(".bad-")).collect();
    names.sort();
    names
}

#[test]
fn a_sound_store_is_left_alone() {
    let (home, chain) = home(CommitmentKind::Mpt, 1, false);
    let report = repair(&home, true).unwrap();
    assert_eq!((report.problems.len(), report.actions.len(), report.lost), (0, 0, None));
    assert_eq!(report.head.map(|head| head.height), Some(40));
    assert_eq!(bad_folders(&home), [""; 0]);
    check(&home.open().unwrap(), &chain, CommitmentKind::Mpt);
}

#[test]
fn a_damaged_database_is_rebuilt_from_a_sound_snapshot() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash, CommitmentKind::None] {
        for newest_is_bad in [false, true] {
            let (home, chain) = home(kind, 2, false);
            let snapshots = home.open().unwrap().snapshots();
            // A table file of the database that no snapshot shares, and a row that no longer fits
            // its history.
            let account = chain.last().unwrap().world.accounts.keys().next().unwrap().to_vec();
            spoil(&home, "account", |db, family| {
                let row = [&40u64.to_be_bytes()[..], &[1, 1, 5, 0]].concat();
                db.put_cf(&db.cf_handle(family).unwrap(), &account, row).unwrap();
            });
            if newest_is_bad {
                fs::remove_file(snapshots[1].database().join("CURRENT")).unwrap();
            }
            let report = repair(&home, false).unwrap();
            assert!(report.findings.iter().any(|finding| finding.name() == "history"), "{report:?}");
            let height = if newest_is_bad { 15 } else { 25 };
            let aside = home.options().dir.with_file_name("state.bad-1");
            assert_eq!(report.actions, [RepairAction::FromSnapshot { height, aside: aside.clone() }]);
            assert!(aside.join("CURRENT").exists(), "the damaged one is kept");
            assert_eq!(report.lost, None);
            let kv = home.open().unwrap();
            check(&kv, &chain, kind);
            assert_eq!(kv.verify(&mut |_| true).unwrap().findings, []);
        }
    }
}

#[test]
fn a_missing_or_unreadable_database_is_rebuilt() {
    for gone in [false, true] {
        let (home, chain) = home(CommitmentKind::Mpt, 3, false);
        let db = home.options().dir.join("db");
        match gone {
            true => fs::remove_dir_all(&db).unwrap(),
            false => fs::write(db.join("CURRENT"), "damaged\n").unwrap(),
        }
        assert!(home.open().is_err());
        let report = repair(&home, false).unwrap();
        assert_eq!(report.problems.len(), 1, "{report:?}");
        assert!(matches!(report.actions[..], [RepairAction::FromSnapshot { height: 25, .. }]), "{report:?}");
        check(&home.open().unwrap(), &chain, CommitmentKind::Mpt);
    }
}

/// Spoils a byte of the record that stands first behind an offset of a segment.
fn flip(segment: &Path, from_end: u64) {
    let mut bytes = fs::read(segment).unwrap();
    let at = bytes.len() - from_end as usize;
    bytes[at] ^= 1;
    fs::write(segment, bytes).unwrap();
}

#[test]
fn a_bad_record_that_the_database_holds_costs_nothing() {
    let (home, chain) = home(CommitmentKind::Mpt, 4, false);
    // In the segment with the last flushed record: earlier ones are not even read.
    let last = home.segments().pop().unwrap();
    let bytes = fs::metadata(&last).unwrap().len();
    flip(&last, bytes - 60);
    let refused = home.open().err().unwrap();
    assert!(
        matches!(refused, FlatKvError::WalDamaged { .. } | FlatKvError::WalTruncated { .. }),
        "{refused}"
    );
    let report = repair(&home, false).unwrap();
    assert_eq!(report.problems, [refused.to_string()]);
    assert!(matches!(report.actions[..], [RepairAction::LogRewritten { .. }]), "{report:?}");
    assert_eq!((report.lost, bad_folders(&home)), (None, vec!["wal.bad-1".to_owned()]));
    let kv = home.open().unwrap();
    check(&kv, &chain, CommitmentKind::Mpt);
    let mut longer = chain.clone();
    grow(&kv, &home, &mut longer, 45, &mut Random(9));
    let killed = home.killed();
    check(&killed.open().unwrap(), &longer, CommitmentKind::Mpt);
}

#[test]
fn a_bad_record_in_the_middle_is_given_up_only_with_a_word() {
    let (home, chain) = home(CommitmentKind::Mpt, 5, true);
    // The database holds what the snapshot of 25 held; the log alone has what came after.
    let segments = home.segments();
    flip(&segments[segments.len() - 2], 100);
    let Err(FlatKvError::WouldLose { from, to, first, last }) = repair(&home, false) else {
        panic!("repaired")
    };
    assert!((26..40).contains(&from), "{from}");
    assert_eq!((to, last - first), (40, 40 - from - 1), "the bad record is one of those that are lost");
    assert!(matches!(home.open(), Err(FlatKvError::WalDamaged { .. })), "nothing was changed");
    assert_eq!(bad_folders(&home), [""; 0]);

    let report = repair(&home, true).unwrap();
    assert_eq!(report.lost, Some((from, 40)));
    assert_eq!(report.head.map(|head| (head.height, head.hash)), Some((from - 1, at(&chain, from - 1).hash)));
    let kv = home.open().unwrap();
    check(&kv, &chain[..(from - BASE) as usize], CommitmentKind::Mpt);
    // The lost blocks can come again.
    for block in &chain[(from - BASE) as usize..] {
        block.commit(&kv, &home.tables, false).unwrap();
    }
    check(&kv, &chain, CommitmentKind::Mpt);
}

#[test]
fn a_log_that_lost_what_was_synced_goes_on_behind_the_database() {
    let (home, chain) = home(CommitmentKind::LtHash, 6, false);
    for segment in home.segments() {
        fs::remove_file(segment).unwrap();
    }
    assert!(matches!(home.open(), Err(FlatKvError::WalTruncated { .. })));
    let report = repair(&home, false).unwrap();
    assert!(matches!(report.actions[..], [RepairAction::LogRewritten { records: 1, .. }]), "{report:?}");
    let kv = home.open().unwrap();
    check(&kv, &chain, CommitmentKind::LtHash);
    let mut longer = chain.clone();
    grow(&kv, &home, &mut longer, 42, &mut Random(9));
    check(&home.killed().open().unwrap(), &longer, CommitmentKind::LtHash);
}

/// The ledger of the model: its blocks.
struct Ledger<'a> {
    chain: &'a [Block],
    home: &'a Home,
    told: Option<Head>,
}

impl Executor for Ledger<'_> {
    fn execute(&mut self, store: &Arc<FlatKv>, last: Option<Head>) -> Result<(), FlatKvError> {
        self.told = last;
        for block in self.chain {
            let mut commit = block.as_commit(&self.home.tables.copy());
            commit.positions = self.home.tables.positions();
            match store.head() {
                None => store.init(commit)?,
                Some(_) => store.commit(commit)?,
            }
        }
        Ok(())
    }
}

#[test]
fn without_snapshot_and_log_the_ledger_is_executed_again() {
    let (home, chain) = home(CommitmentKind::Mpt, 7, false);
    fs::remove_file(home.options().dir.join("db/CURRENT")).unwrap();
    for entry in fs::read_dir(home.options().dir.join("snapshots")).unwrap() {
        fs::remove_file(entry.unwrap().path().join("db/CURRENT")).unwrap();
    }
    fs::remove_file(&home.segments()[0]).unwrap();
    let before = home.tables.positions();
    let without = repair(&home, false).unwrap_err();
    assert!(matches!(without, FlatKvError::Unrepairable { .. }), "{without}");

    let (options, tables) = (home.options(), home.tables.clone() as Arc<dyn JoinedTables>);
    struct Failing;
    impl Executor for Failing {
        fn execute(&mut self, _: &Arc<FlatKv>, _: Option<Head>) -> Result<(), FlatKvError> {
            Err(FlatKvError::Cancelled)
        }
    }
    let failed =
        Repair { options: &options, tables: &tables, accept_loss: false, executor: Some(&mut Failing) };
    assert!(matches!(failed.run(&mut |_| true), Err(FlatKvError::Cancelled)));
    assert_eq!(home.tables.positions(), before, "the ledger is not touched");

    let mut ledger = Ledger { chain: &chain, home: &home, told: None };
    let repair =
        Repair { options: &options, tables: &tables, accept_loss: false, executor: Some(&mut ledger) };
    let report = repair.run(&mut |_| true).unwrap();
    assert!(matches!(report.actions[..], [RepairAction::FromLedger { .. }]), "{report:?}");
    assert_eq!(ledger.told.map(|head| head.height), Some(40));
    assert_eq!(
        bad_folders(&home),
        ["snapshots.bad-1", "state.bad-1", "wal.bad-1"].map(str::to_owned).to_vec()
    );
    assert_eq!(home.tables.positions(), before);
    let kv = home.open().unwrap();
    check(&kv, &chain, CommitmentKind::Mpt);
    assert_eq!(kv.verify(&mut |_| true).unwrap().findings, Vec::<Finding>::new());
}

#[test]
fn a_missing_store_does_not_remove_the_ledger() {
    let (home, chain) = home(CommitmentKind::Mpt, 8, false);
    let (options, tables) = (home.options(), home.tables.clone() as Arc<dyn JoinedTables>);
    fs::remove_dir_all(&options.dir).unwrap();
    fs::remove_dir_all(&options.wal_dir).unwrap();
    let before = home.tables.positions();
    assert!(matches!(repair(&home, true), Err(FlatKvError::Unrepairable { .. })));
    assert_eq!(home.tables.positions(), before);
    let mut ledger = Ledger { chain: &chain, home: &home, told: None };
    let repair =
        Repair { options: &options, tables: &tables, accept_loss: false, executor: Some(&mut ledger) };
    let report = repair.run(&mut |_| true).unwrap();
    assert!(matches!(report.actions[..], [RepairAction::FromLedger { .. }]), "{report:?}");
    assert_eq!((ledger.told, home.tables.positions()), (None, before));
    check(&home.open().unwrap(), &chain, CommitmentKind::Mpt);
}

//! A state as a stream: the same state gives the same bytes, goes into an empty home, and continues
//! from there; what is damaged or broken off leaves nothing.

use crate::{
    model::{BASE, Block, Home, Random, World},
    snapshots::{at, grow},
    steps::{StopDisk, stride},
};
use alloy_primitives::B256;
use hearth_flatkv::{
    CommitmentKind, FlatKv, FlatKvError, ImportSource, Imported, IndexWrite, Options, TransferProgress,
};
use hearth_primitives::{Height, StateError};
use std::sync::Arc;

const KINDS: [CommitmentKind; 3] = [CommitmentKind::Mpt, CommitmentKind::LtHash, CommitmentKind::None];

fn export(kv: &FlatKv, chain: &[Block], height: Height) -> Vec<u8> {
    let mut out = Vec::new();
    let attachments = [("chain".to_owned(), vec![7; 3000]), ("empty".to_owned(), Vec::new())];
    let block = at(chain, height);
    let done = kv.export(height, block.parent, &attachments, &mut out, &mut |_| true).unwrap();
    assert_eq!((done.head.height, done.head.hash, done.bytes), (height, block.hash, out.len() as u64));
    let slots = block.world.accounts.values().map(|(_, slots)| slots.len() as u64).sum::<u64>();
    assert_eq!((done.counts.accounts, done.counts.slots), (block.world.accounts.len() as u64, slots));
    out
}

fn import(
    home: &Home,
    options: &Options,
    bytes: &[u8],
    watch: &mut dyn FnMut(TransferProgress) -> bool,
) -> Result<(Arc<FlatKv>, Imported), FlatKvError> {
    let mut input = bytes;
    let source = ImportSource::open(&mut input)?;
    assert_eq!(source.attachment("chain"), Some([7; 3000].as_slice()));
    assert_eq!((source.attachment("empty"), source.attachment("none")), (Some([].as_slice()), None));
    let index = vec![IndexWrite { key: b"anchor".to_vec(), value: Some(vec![1]) }];
    let anchor = |_: &_| Ok::<_, FlatKvError>((index, home.tables.append(10)));
    FlatKv::import(options, home.tables.clone(), source, anchor, watch)
}

/// A store that has a chain, and the chain.
fn grown(kind: CommitmentKind, seed: u64, to: Height) -> (Home, Arc<FlatKv>, Vec<Block>) {
    let home = Home::new(kind);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(seed));
    grow(&kv, &home, &mut chain, to, &mut random);
    (home, kv, chain)
}

#[test]
fn any_height_imports_into_an_empty_home_and_continues() {
    for kind in KINDS {
        let (_home, kv, chain) = grown(kind, 91, 50);
        for height in [BASE, 20, 49, 50] {
            let bytes = export(&kv, &chain, height);
            let target = Home::new(kind);
            let (copy, imported) = import(&target, &target.options(), &bytes, &mut |_| true).unwrap();
            let block = at(&chain, height);
            assert_eq!(imported.head, copy.head().unwrap());
            assert_eq!((imported.head.height, imported.head.hash), (height, block.hash));
            assert_eq!((imported.bytes, imported.snapshot.height), (bytes.len() as u64, height));
            assert_eq!(copy.oldest(), Some(height));
            assert_eq!(copy.index_get(b"anchor").unwrap(), Some(vec![1]));
            block.world.check(&copy.at(height).unwrap(), height).unwrap();
            assert_eq!(copy.verify(&mut |_| true).unwrap().findings, [], "{kind} at {height}");
            // The same state gives the same bytes.
            assert_eq!(export(&copy, &chain, height), bytes, "{kind} at {height}");
            // The chain continues, and is what it was in the first home.
            for block in &chain[(height - BASE + 1) as usize..] {
                block.commit(&copy, &target.tables, false).unwrap();
                block.world.check(&copy.at(block.height).unwrap(), block.height).unwrap();
            }
            assert_eq!(copy.head(), kv.head());
            block.world.check(&copy.at(height).unwrap(), height).unwrap();
            copy.unwind(height).unwrap();
            copy.close().unwrap();
            drop(copy);
            let copy = target.open().unwrap();
            block.world.check(&copy.at(height).unwrap(), height).unwrap();
            assert_eq!(copy.verify(&mut |_| true).unwrap().findings, []);
        }
    }
}

#[test]
fn rows_of_modules_travel_too() {
    let (home, kv, chain) = grown(CommitmentKind::LtHash, 92, 12);
    let top = chain.last().unwrap();
    let rows = [
        IndexWrite { key: b"bank/b".to_vec(), value: Some(vec![1, 2]) },
        IndexWrite { key: b"a".to_vec(), value: Some(vec![3]) },
    ];
    kv.apply(&Default::default(), &rows).unwrap();
    let next = Block { world: World::default(), ..top.next(4) };
    next.commit(&kv, &home.tables, false).unwrap();
    let mut bytes = Vec::new();
    let done = kv.export(
        13,
        top.hash,
        &[("chain".into(), vec![7; 3000]), ("empty".into(), vec![])],
        &mut bytes,
        &mut |_| true,
    );
    assert_eq!(done.unwrap().counts.legacy, 2);
    let target = Home::new(CommitmentKind::LtHash);
    let (copy, imported) = import(&target, &target.options(), &bytes, &mut |_| true).unwrap();
    assert_eq!(imported.counts.legacy, 2);
    assert_eq!(copy.head(), kv.head());
    assert_eq!(copy.verify(&mut |_| true).unwrap().findings, []);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let (_home, kv, chain) = grown(CommitmentKind::Mpt, 93, 20);
    let refused = kv.export(21, B256::ZERO, &[], &mut Vec::new(), &mut |_| true).unwrap_err();
    assert!(matches!(
        refused,
        FlatKvError::State(StateError::NotRetained { height: 21, oldest: BASE, newest: 20 })
    ));
    assert!(matches!(
        kv.export(20, B256::ZERO, &[], &mut Vec::new(), &mut |_| false),
        Err(FlatKvError::Cancelled)
    ));
    let bytes = export(&kv, &chain, 20);
    let (target, _kv, _) = grown(CommitmentKind::Mpt, 94, 9);
    drop(_kv);
    assert!(matches!(
        import(&target, &target.options(), &bytes, &mut |_| true),
        Err(FlatKvError::NotEmpty { head: 9 })
    ));
    target.open().unwrap();
}

#[test]
fn no_changed_byte_and_no_cut_goes_unnoticed() {
    let (_home, kv, chain) = grown(CommitmentKind::None, 95, 14);
    let bytes = export(&kv, &chain, 14);
    let target = Home::new(CommitmentKind::None);
    let refuse = |bytes: &[u8], what: String| {
        let mut input = bytes;
        let opened = ImportSource::open(&mut input).map(|source| *source.head());
        if opened.is_ok() {
            let import = import(&target, &target.options(), bytes, &mut |_| true);
            assert!(import.is_err(), "{what}");
            assert_eq!(target.open().unwrap().head(), None, "{what}");
        }
    };
    for at in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
        let mut spoilt = bytes.clone();
        spoilt[at] ^= 0x10;
        refuse(&spoilt, format!("byte {at}"));
        refuse(&bytes[..at], format!("cut at byte {at}"));
    }
    refuse(&[bytes.as_slice(), &[0]].concat(), "a byte too many".into());
    let import = import(&target, &target.options(), &bytes, &mut |_| true).unwrap();
    assert_eq!(import.1.head.height, 14);
}

#[test]
fn an_interrupted_import_leaves_all_or_nothing() {
    let (_home, kv, chain) = grown(CommitmentKind::Mpt, 96, 40);
    let bytes = export(&kv, &chain, 40);
    let (mut stops, mut empty, mut whole) = (0, 0, 0);
    loop {
        let target = Home::new(CommitmentKind::Mpt);
        let disk = StopDisk::after(stops);
        let options = Options { disk: Arc::new(disk.clone()), ..target.options() };
        let result = import(&target, &options, &bytes, &mut |_| true);
        if !disk.stopped() {
            result.unwrap();
            break;
        }
        let killed = target.killed();
        drop(result);
        let copy = killed.open().unwrap();
        match copy.head() {
            None => empty += 1,
            Some(head) => {
                assert_eq!((head.height, head.hash), (40, at(&chain, 40).hash));
                assert_eq!(copy.verify(&mut |_| true).unwrap().findings, [], "stop {stops}");
                whole += 1;
            }
        }
        if copy.head().is_none() {
            drop(copy);
            assert!(!killed.options().dir.join("intent").exists());
            let (copy, _) = import(&killed, &killed.options(), &bytes, &mut |_| true).unwrap();
            assert_eq!(copy.verify(&mut |_| true).unwrap().findings, [], "again after stop {stops}");
        }
        stops += stride(stops);
    }
    assert!(empty > 1 && whole > 1, "{stops} stops: {empty} empty, {whole} whole");
    // Stopped by who watches, in the middle of the rows.
    let target = Home::new(CommitmentKind::Mpt);
    assert!(matches!(
        import(&target, &target.options(), &bytes, &mut |_| false),
        Err(FlatKvError::Cancelled)
    ));
    assert!(target.options().dir.join("intent").exists());
    assert_eq!(target.open().unwrap().head(), None);
}

#[test]
fn an_opening_that_wipes_an_import_may_die_at_any_step() {
    let (_home, kv, chain) = grown(CommitmentKind::Mpt, 97, 40);
    let bytes = export(&kv, &chain, 40);
    let target = Home::new(CommitmentKind::Mpt);
    let mut input = bytes.as_slice();
    let source = ImportSource::open(&mut input).unwrap();
    // Rows and tables are written when the import breaks off.
    let anchor = |_: &_| {
        target.tables.append(10);
        Err(FlatKvError::Cancelled)
    };
    let broken = FlatKv::import(&target.options(), target.tables.clone(), source, anchor, &mut |_| true);
    assert!(matches!(broken, Err(FlatKvError::Cancelled)));
    let (mut stops, mut begun) = (0, 0);
    loop {
        let home = target.killed();
        let disk = StopDisk::after(stops);
        let options = Options { disk: Arc::new(disk.clone()), ..home.options() };
        let opened = FlatKv::open(options, home.tables.clone());
        let done = !disk.stopped();
        drop(opened);
        let home = home.killed();
        begun += u64::from(!home.options().dir.join("intent").exists());
        assert_eq!(home.open().unwrap().head(), None, "stop {stops}");
        if done {
            break;
        }
        stops += 1;
    }
    assert!(stops > 5 && begun > 1, "{stops} stops, {begun} behind the intent");
}

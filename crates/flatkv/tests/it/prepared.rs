//! Commits that were prepared: the store is what plain commits make of it, at once and after a
//! kill, and a commit that does not fit the head any more changes nothing.

use crate::model::{Block, Home, Random, check};
use hearth_flatkv::{CommitmentKind, FlatKvError};
use std::sync::atomic::{AtomicBool, Ordering};

fn base(home: &Home, seed: u64) -> (std::sync::Arc<hearth_flatkv::FlatKv>, Vec<Block>) {
    let kv = home.open().unwrap();
    let chain = vec![Block::base(seed)];
    chain[0].commit(&kv, &home.tables, false).unwrap();
    (kv, chain)
}

#[test]
fn prepared_and_plain_commits_make_the_same_store() {
    for kind in [CommitmentKind::Mpt, CommitmentKind::LtHash] {
        let home = Home::new(kind);
        let (kv, mut chain) = base(&home, 1);
        let mut random = Random(2);
        for number in 0..40 {
            let next = chain[chain.len() - 1].next(random.next());
            match number % 3 {
                0 => next.commit(&kv, &home.tables, false).unwrap(),
                _ => assert!(next.commit_prepared(&kv, &home.tables).unwrap()),
            }
            // The new head is read at once, while its batch may be on its way.
            let top = kv.at(next.height).unwrap();
            next.world.check(&top, next.height).unwrap();
            chain.push(next);
            if number % 7 == 6 {
                let below = chain[chain.len() - 3].height;
                kv.unwind(below).unwrap();
                chain.truncate(chain.len() - 2);
            }
            if number % 10 == 9 {
                // What a kill leaves now.
                check(&home.killed().open().unwrap(), &chain, kind);
            }
        }
        check(&kv, &chain, kind);
        kv.close().unwrap();
        drop(kv);
        check(&home.open().unwrap(), &chain, kind);
    }
}

#[test]
fn a_prepared_commit_that_does_not_fit_any_more_changes_nothing() {
    let home = Home::new(CommitmentKind::Mpt);
    let (kv, mut chain) = base(&home, 5);
    let [mine, other] = [6, 7].map(|seed| chain[0].next(seed));
    let prepare = || {
        let mut commit = mine.as_commit(&home.tables);
        (std::mem::take(&mut commit.positions), kv.prepare(commit).unwrap())
    };
    // Another block took its place.
    let (positions, prepared) = prepare();
    assert!(prepared.height() == mine.height && prepared.memory_bytes() > 0);
    other.commit(&kv, &home.tables, false).unwrap();
    assert!(!kv.commit_prepared(prepared, positions).unwrap());
    chain.push(other);
    check(&kv, &chain, CommitmentKind::Mpt);
    // The head left and came back: the log says more than before.
    kv.unwind(chain[0].height).unwrap();
    chain.pop();
    let (positions, prepared) = prepare();
    mine.commit(&kv, &home.tables, false).unwrap();
    kv.unwind(chain[0].height).unwrap();
    assert!(!kv.commit_prepared(prepared, positions).unwrap());
    check(&kv, &chain, CommitmentKind::Mpt);
    // One that is dropped leaves nothing, also on the disk.
    drop(prepare());
    check(&home.killed().open().unwrap(), &chain, CommitmentKind::Mpt);
    assert!(mine.commit_prepared(&kv, &home.tables).unwrap());
    let height = mine.height;
    chain.push(mine.clone());
    check(&kv, &chain, CommitmentKind::Mpt);
    // A block that is in the chain already, and one while changes wait.
    let again = kv.prepare(mine.as_commit(&home.tables)).err().unwrap();
    assert!(matches!(again, FlatKvError::Height { got, .. } if got == height), "{again}");
    let next = mine.next(9);
    kv.apply(&next.changes, &[]).unwrap();
    let refused = kv.prepare(next.as_commit(&home.tables)).err().unwrap().to_string();
    assert!(refused.contains("applied and not committed"), "{refused}");
}

#[test]
fn readers_never_see_an_old_or_mixed_head() {
    let home = Home::new(CommitmentKind::Mpt);
    let (kv, mut chain) = base(&home, 11);
    let mut random = Random(12);
    for _ in 0..60 {
        let top = &chain[chain.len() - 1];
        chain.push(top.next(random.next()));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut reads = 0_u64;
                while !done.load(Ordering::SeqCst) || reads == 0 {
                    let head = kv.head().unwrap();
                    let block = &chain[(head.height - chain[0].height) as usize];
                    assert_eq!(head.commitment, block.world.root());
                    let view = kv.at(head.height).unwrap();
                    block.world.check(&view, head.height).unwrap();
                    for row in &block.index {
                        // Later blocks may have changed the row; the block's own or theirs it is.
                        let found = kv.index_get(&row.key).unwrap();
                        let later = chain.iter().filter(|later| later.height >= head.height);
                        let mut values = later.flat_map(|later| &later.index).filter(|it| it.key == row.key);
                        assert!(values.any(|it| it.value == found), "an index row older than the head");
                    }
                    reads += 1;
                }
            });
        }
        for block in &chain[1..] {
            assert!(block.commit_prepared(&kv, &home.tables).unwrap());
        }
        done.store(true, Ordering::SeqCst);
    });
    check(&kv, &chain, CommitmentKind::Mpt);
}

//! Views beside a writer that commits and unwinds: what a view answers is its block's state, or
//! that it was unwound.

use crate::model::{Block, Home, Random, World};
use hearth_flatkv::CommitmentKind;
use hearth_primitives::{StateError, StateReader};
use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

const RUN: Duration = Duration::from_secs(4);
const READERS: usize = 3;

#[test]
fn views_answer_their_blocks_state_or_that_it_was_unwound() {
    let home = Home::new(CommitmentKind::None);
    let kv = home.open().unwrap();
    // The world that each height has had, by the index row that names the block's seed.
    let worlds: Mutex<HashMap<u64, Vec<World>>> = Mutex::default();
    let note = |block: &Block| {
        worlds.lock().unwrap().entry(block.height).or_default().push(block.world.clone());
    };
    let base = Block::base(1);
    note(&base);
    base.commit(&kv, &home.tables, false).unwrap();
    let stop = AtomicBool::new(false);
    let (checked, unwound) = (AtomicU64::new(0), AtomicU64::new(0));

    thread::scope(|scope| {
        for reader in 0..READERS {
            let (kv, worlds, stop, checked, unwound) = (&kv, &worlds, &stop, &checked, &unwound);
            scope.spawn(move || {
                let mut random = Random(reader as u64);
                while !stop.load(SeqCst) {
                    let head = kv.head().unwrap().height;
                    // Mostly the newest blocks, where reads race with the writer.
                    let height = head.saturating_sub(random.below(3) * random.below(4)).max(base_height());
                    // The state below a block is read in two ways, and both must say the same.
                    let view: Box<dyn StateReader> = if random.below(2) == 0 {
                        let Ok(view) = kv.at(height) else { continue };
                        Box::new(view)
                    } else {
                        let Ok(view) = kv.before(height + 1) else { continue };
                        Box::new(view)
                    };
                    match snapshot(view.as_ref()) {
                        Ok(world) => {
                            let known = worlds.lock().unwrap();
                            assert!(
                                known[&height].iter().any(|w| w.accounts == world.accounts),
                                "at {height}"
                            );
                            checked.fetch_add(1, SeqCst);
                        }
                        Err(StateError::Unwound { height: named }) => {
                            assert_eq!(named, height);
                            unwound.fetch_add(1, SeqCst);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let mut random = Random(77);
        let mut chain = vec![base];
        let start = Instant::now();
        while start.elapsed() < RUN {
            if chain.len() > 4 && random.below(6) == 0 {
                let keep = chain.len() - 1 - random.below(4) as usize;
                chain.truncate(keep);
                kv.unwind(chain[keep - 1].height).unwrap();
            } else {
                let next = chain[chain.len() - 1].next(random.next());
                note(&next);
                next.commit(&kv, &home.tables, false).unwrap();
                chain.push(next);
            }
        }
        stop.store(true, SeqCst);
    });
    let (checked, unwound) = (checked.into_inner(), unwound.into_inner());
    assert!(checked > 100 && unwound > 0, "{checked} checked, {unwound} unwound");
}

fn base_height() -> u64 {
    crate::model::BASE
}

/// Everything a view says, point reads and scans alike.
fn snapshot(view: &dyn StateReader) -> Result<World, StateError> {
    use crate::model::{ACCOUNTS, SLOTS, address, slot};
    let mut world = World::default();
    for address in (0..ACCOUNTS).map(address) {
        let mut storage = std::collections::BTreeMap::new();
        for slot in (0..SLOTS).map(slot) {
            let value = view.storage(&address, &slot)?;
            if !value.is_zero() {
                storage.insert(slot, value);
            }
        }
        let scanned = view.storage_of(&address)?;
        assert_eq!(scanned.into_iter().collect::<std::collections::BTreeMap<_, _>>(), storage);
        match view.account(&address)? {
            Some(account) => drop(world.accounts.insert(address, (account, storage))),
            None => assert!(storage.is_empty()),
        }
    }
    Ok(world)
}

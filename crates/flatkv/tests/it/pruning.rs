//! History below the window goes in the background; a reader meanwhile gets an error with the
//! oldest height.

use crate::model::{BASE, Block, Home, Random, World, check_from};
use alloy_primitives::Address;
use hearth_disk::{DirEntry, Disk, DiskFile, FsKind, Lock, Metadata, OpenMode, RealDisk};
use hearth_flatkv::{CommitmentKind, FlatKv, FlatKvError, LockError};
use hearth_primitives::{StateError, StateReader};
use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

/// How long pruning may take to get to the oldest height.
const PATIENCE: Duration = Duration::from_secs(120);

fn wait_pruned(kv: &FlatKv) {
    let start = Instant::now();
    while kv.pruned() < kv.oldest().unwrap() {
        assert!(start.elapsed() < PATIENCE, "pruned to {} of {:?}", kv.pruned(), kv.oldest());
        thread::sleep(Duration::from_millis(1));
    }
}

fn grow(kv: &Arc<FlatKv>, home: &Home, chain: &mut Vec<Block>, blocks: u64, random: &mut Random) {
    for _ in 0..blocks {
        let seed = random.next();
        let block = chain.last().map_or_else(|| Block::base(seed), |top| top.next(seed));
        block.commit(kv, &home.tables, false).unwrap();
        chain.push(block);
    }
}

#[test]
fn a_later_window_is_kept_from_then_on_also_after_a_kill() {
    let mut home = Home::new(CommitmentKind::Mpt);
    let kv = home.open().unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(3));
    grow(&kv, &home, &mut chain, 300, &mut random);
    assert_eq!((kv.oldest(), kv.pruned()), (Some(BASE), BASE));
    kv.close().unwrap();
    drop(kv);

    home.history_blocks = 20;
    let kv = home.open().unwrap();
    assert_eq!(kv.oldest(), Some(BASE), "only a commit raises it");
    grow(&kv, &home, &mut chain, 1, &mut random);
    let oldest = kv.head().unwrap().height - 20;
    assert_eq!(kv.oldest(), Some(oldest));
    // In the middle of the work, or at its end: what was said stays said.
    let killed = home.killed();
    let again = killed.open().unwrap();
    check_from(&again, &chain, oldest);
    wait_pruned(&again);
    check_from(&again, &chain, oldest);
    assert!(matches!(again.unwind(oldest - 1), Err(FlatKvError::UnwindTarget { .. })));
    again.unwind(oldest).unwrap();
    check_from(&again, &chain[..=(oldest - BASE) as usize], oldest);
    drop(again);

    wait_pruned(&kv);
    kv.close().unwrap();
    drop(kv);
    // Without a window nothing more goes, and what is gone stays gone.
    home.history_blocks = 0;
    let kv = home.open().unwrap();
    grow(&kv, &home, &mut chain, 30, &mut random);
    assert_eq!((kv.oldest(), kv.pruned()), (Some(oldest), oldest));
    check_from(&kv, &chain, oldest);
}

#[test]
fn readers_that_pruning_overtakes_are_told_the_oldest_height() {
    let mut home = Home::new(CommitmentKind::None);
    home.history_blocks = 4;
    let kv = home.open().unwrap();
    let worlds: Mutex<Vec<World>> = Mutex::default();
    let mut top = Block::base(1);
    top.commit(&kv, &home.tables, false).unwrap();
    worlds.lock().unwrap().push(top.world.clone());
    let stop = AtomicBool::new(false);
    let (right, overtaken) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for reader in 0..3 {
            let (kv, worlds, stop, right, overtaken) = (&kv, &worlds, &stop, &right, &overtaken);
            scope.spawn(move || {
                let mut random = Random(reader);
                while !stop.load(SeqCst) {
                    // The oldest heights, where pruning is.
                    let height = kv.oldest().unwrap() + random.below(2);
                    let Ok(view) = kv.at(height) else { continue };
                    let world = worlds.lock().unwrap()[(height - BASE) as usize].clone();
                    // The same view until it is overtaken: every answer is right, or the oldest
                    // height.
                    let given_up = Instant::now();
                    loop {
                        match world.check(&view, height) {
                            Ok(()) => right.fetch_add(1, SeqCst),
                            Err(StateError::NotRetained { height: named, oldest, .. }) => {
                                assert!(named == height && oldest > height && oldest <= kv.oldest().unwrap());
                                overtaken.fetch_add(1, SeqCst);
                                break;
                            }
                            Err(error) => panic!("{error}"),
                        };
                        if stop.load(SeqCst) || given_up.elapsed() > PATIENCE {
                            break;
                        }
                    }
                }
            });
        }
        let (mut random, start) = (Random(9), Instant::now());
        while start.elapsed() < Duration::from_secs(3) {
            top = top.next(random.next());
            worlds.lock().unwrap().push(top.world.clone());
            top.commit(&kv, &home.tables, false).unwrap();
        }
        stop.store(true, SeqCst);
    });
    let (right, overtaken) = (right.into_inner(), overtaken.into_inner());
    assert!(right > 50 && overtaken > 50, "{right} right, {overtaken} overtaken");
    wait_pruned(&kv);
    let view = kv.latest().unwrap();
    top.world.check(&view, top.height).unwrap();
}

/// The machine's disk with as much room as the test says.
#[derive(Debug)]
struct Room {
    free: AtomicU64,
}

impl Disk for Room {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.create(path)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.open(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_file(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dir(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        RealDisk.list(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        RealDisk.metadata(path)
    }
    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        Ok(self.free.load(SeqCst))
    }
    fn fs_kind(&self, path: &Path) -> io::Result<FsKind> {
        RealDisk.fs_kind(path)
    }
    fn lock(&self, path: &Path) -> Result<Lock, LockError> {
        RealDisk.lock(path)
    }
}

#[test]
fn commits_stop_before_the_disk_is_full_and_resume() {
    let home = Home::new(CommitmentKind::Mpt);
    let room = Arc::new(Room { free: AtomicU64::new(1000) });
    let mut options = home.options();
    options.disk = room.clone();
    options.settings.min_free_bytes = 1000;
    let dir = options.dir.clone();
    let kv = FlatKv::open(options, home.tables.clone()).unwrap();
    let base = Block::base(1);
    base.commit(&kv, &home.tables, false).unwrap();
    let next = base.next(2);
    room.free.store(999, SeqCst);
    match next.commit(&kv, &home.tables, false) {
        Err(error @ FlatKvError::DiskNearlyFull { free: 999, needed: 1000, .. }) => {
            let text = error.to_string();
            assert!(text.contains(dir.to_str().unwrap()) && text.contains("min_free_bytes"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    check_from(&kv, std::slice::from_ref(&base), BASE);
    assert_eq!(kv.latest().unwrap().account(&Address::ZERO).unwrap(), None);
    room.free.store(1000, SeqCst);
    next.commit(&kv, &home.tables, false).unwrap();
    check_from(&kv, &[base, next], BASE);
}

use crate::support::{Home, assert_holds, fill, flip, large, small, value};
use hearth_disk::sim::SimDisk;
use hearth_disk::{Clock, Disk, DiskFile, OpenMode, RealDisk};
use hearth_littable::{Direction, Group, LittError, Littable, StoreOptions, TableOptions};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A process that dies leaves the files as they are: the tail of a segment torn at any byte opens
/// without the record that it tears, and takes it again.
#[test]
fn torn_tails_are_cut_at_open() {
    let home = Home::new();
    let table = home.open(large());
    fill(&table, 0..3);
    table.drain().unwrap();
    let before = fs::metadata(home.segment(0)).unwrap().len();
    let position = table.position().unwrap();
    let last = Group { secondary: &[(b"part", 0..5)], ..Group::new(b"last", b"value of the last") };
    table.put_group(&last).unwrap();
    table.drain().unwrap();
    let whole = fs::read(home.segment(0)).unwrap();
    drop(table);
    for len in before..whole.len() as u64 {
        for junk in [&b""[..], &[0; 50], &[0xf3, 0xa9, 0, 0]] {
            fs::write(home.segment(0), [&whole[..len as usize], junk].concat()).unwrap();
            let table = home.open(large());
            assert_eq!(table.position().unwrap(), position, "torn at {len}");
            assert!(!table.exists(b"last").unwrap() && !table.exists(b"part").unwrap());
            assert_holds(&table, 0..3, 3);
            table.put_group(&last).unwrap();
            assert_eq!(table.get(b"part").unwrap().unwrap(), b"value");
            assert!(table.position().unwrap() > position);
            drop(table);
            assert_eq!(home.open(large()).get(b"last").unwrap().unwrap(), b"value of the last");
        }
    }
}

#[test]
fn torn_new_segments_are_dropped() {
    for len in [0, 1, 37, 71] {
        let home = Home::new();
        let table = home.open(small());
        fill(&table, 0..40);
        drop(table);
        let next = (0..).find(|i| !home.segment(*i).exists()).unwrap();
        fs::write(home.segment(next), vec![0; len]).unwrap();
        let table = home.open(small());
        fill(&table, 40..90);
        drop(table);
        assert_holds(&home.open(small()), 0..90, 90);
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let copy = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &copy),
            false => drop(fs::copy(entry.path(), copy).unwrap()),
        }
    }
}

/// A cut drops the notes of what is durable that lie behind it: a damaged record below the cut must
/// not become the beginning of a torn tail, whether the process ends or dies after it.
#[test]
fn a_cut_behind_a_damaged_record_keeps_what_lies_between() {
    const KEYS: u32 = 30;
    for dies in [false, true] {
        let home = Home::new();
        let table = home.open(large());
        fill(&table, 0..KEYS);
        let position = table.position().unwrap();
        drop(table);
        let middle = fs::metadata(home.segment(0)).unwrap().len() / 3;
        // In the value of one record; its head is shorter than the flipped part of some record.
        let damaged = (0..200).step_by(8).find_map(|step| {
            flip(&home.segment(0), middle + step);
            let table = home.open(large());
            let wrong =
                (0..KEYS).find(|n| matches!(table.get(&n.to_be_bytes()), Err(LittError::Corrupt { .. })));
            drop(table);
            if wrong.is_none() {
                flip(&home.segment(0), middle + step);
            }
            wrong
        });
        let damaged = damaged.unwrap();
        let check = |table: &hearth_littable::Table| {
            for n in (0..KEYS).filter(|n| *n != damaged) {
                assert_eq!(table.get(&n.to_be_bytes()).unwrap().as_deref(), Some(&value(n)[..]), "{n}");
            }
            assert!(matches!(table.get(&damaged.to_be_bytes()), Err(LittError::Corrupt { .. })));
        };
        let table = home.open(large());
        fill(&table, KEYS..KEYS + 3);
        table.truncate(position).unwrap();
        check(&table);
        assert_eq!(table.position().unwrap(), position);
        if dies {
            // The files as they are while the process has the table open.
            let other = Home::new();
            copy_folder(home.dir.path(), other.dir.path());
            check(&other.open(large()));
        }
        drop(table);
        check(&home.open(large()));
    }
}

/// Whatever bit flips in a segment, each key is answered with its own bytes or with an error that
/// names the file, also after reopening; after a clean end nothing is taken for a torn tail.
#[test]
fn flipped_bits_never_give_wrong_bytes() {
    const KEYS: u32 = 30;
    let home = Home::new();
    let table = home.open(small());
    fill(&table, 0..KEYS);
    let last = table.position().unwrap();
    drop(table);
    // The last file was made ahead and holds nothing yet.
    let mut files = home.files(".seg");
    assert_eq!(files.pop(), Some(home.segment((last >> 32) as u32 + 1)));
    assert!(files.len() > 1);
    // Behind the last group is nothing but a note of what was synced; it is written again.
    let is_note = |path: &Path, at| *path == home.segment((last >> 32) as u32) && at >= last & 0xffff_ffff;
    let originals: Vec<_> = files.iter().map(|f| fs::read(f).unwrap()).collect();
    let runs: Vec<_> = home.files(".idx").iter().map(|f| (f.clone(), fs::read(f).unwrap())).collect();
    for (path, original) in files.iter().zip(&originals) {
        for at in (0..original.len() as u64).step_by(7) {
            flip(path, at);
            let table = home.open(small());
            let mut wrong = 0;
            for n in 0..KEYS {
                match table.get(&n.to_be_bytes()) {
                    Ok(there) => assert_eq!(there.as_deref(), Some(&value(n)[..]), "{path:?} {at}"),
                    Err(LittError::Corrupt { path: named, .. }) => {
                        assert_eq!(named, *path);
                        wrong += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(wrong <= 1, "{path:?} {at}: {wrong}");
            let report = table.scrub().unwrap();
            assert_eq!(report.damaged > 0, !is_note(path, at), "{path:?} {at}");
            assert!(
                report
                    .damage
                    .iter()
                    .all(|d| matches!(d, LittError::Corrupt { path: named, .. } if named == path))
            );
            // What was lost can be written again.
            fill(&table, 0..KEYS);
            assert_holds(&table, 0..KEYS, KEYS);
            drop(table);
            for (file, original) in files.iter().zip(&originals) {
                fs::write(file, original).unwrap();
            }
            let made = home.files(".seg").into_iter().filter(|f| !files.contains(f));
            made.for_each(|f| fs::remove_file(f).unwrap());
            home.files(".idx").iter().for_each(|f| fs::remove_file(f).unwrap());
            runs.iter().for_each(|(file, original)| fs::write(file, original).unwrap());
        }
    }
}

/// A key index is made of what segments hold: a damaged one is made again by the get that meets it.
#[test]
fn a_damaged_key_index_is_made_again_by_a_get() {
    let home = Home::new();
    let table = home.open(large());
    fill(&table, 0..1000);
    table.seal().unwrap();
    table.finish_upkeep().unwrap();
    drop(table);
    let index = home.files(".idx").pop().unwrap();
    for page in [0, 3] {
        flip(&index, page * 4096 + 1000);
        let table = home.open(large());
        assert_holds(&table, 0..1000, 1000);
        let info = table.info();
        assert_eq!((info.indexes_rebuilt, info.runs), (1, 1));
        assert_eq!(table.scrub().unwrap().damaged, 0);
    }
    // Beside a writer nothing may be changed: the damage is an error, and keys of other pages are
    // found.
    flip(&index, 4096 + 1000);
    let reader = Littable::open_read_only(home.options()).unwrap();
    let table = reader.table(large()).unwrap();
    let (mut found, mut refused) = (0, 0);
    for n in 0..1000_u32 {
        match table.get(&n.to_be_bytes()) {
            Ok(there) => {
                assert_eq!(there.unwrap(), value(n));
                found += 1;
            }
            Err(LittError::Corrupt { path, offset, .. }) => {
                assert_eq!((path, offset), (index.clone(), 4096));
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!((50..250).contains(&refused) && found + refused == 1000, "{found} {refused}");
    drop((table, reader));
    // A put that meets the damage writes the key again.
    let table = home.open(large());
    fill(&table, 0..1000);
    assert_holds(&table, 0..1000, 1000);
    assert_eq!(table.scrub().unwrap().damaged, 0);
}

/// A value that holds the bytes of another table's record is never taken for one.
#[test]
fn records_inside_values_are_not_found() {
    let forged = {
        let other = Home::new();
        other.open(large()).put(b"victim", b"forged").unwrap();
        fs::read(other.segment(0)).unwrap()[72..].to_vec()
    };
    let home = Home::new();
    let table = home.open(large());
    table.put(b"first", &forged.repeat(3)).unwrap();
    table.put(b"second", b"x").unwrap();
    drop(table);
    flip(&home.segment(0), 76);
    let table = home.open(large());
    assert!(matches!(table.get(b"victim"), Err(LittError::Corrupt { offset: 72, .. })));
    assert_eq!(table.get(b"second").unwrap().unwrap(), b"x");
    let found: Vec<_> = table.iter(Direction::Forward).unwrap().collect();
    assert!(
        matches!(&found[..], [Err(LittError::Corrupt { offset: 72, .. }), Ok(second)] if second.key == b"second")
    );
}

#[test]
fn missing_and_newer_files_are_refused() {
    let home = Home::new();
    let table = home.open(small());
    fill(&table, 0..60);
    drop(table);
    let bytes = fs::read(home.segment(1)).unwrap();
    fs::remove_file(home.segment(1)).unwrap();
    let error = home.try_open(small()).unwrap_err();
    assert!(matches!(&error, LittError::Corrupt { path, .. } if *path == home.segment(1)), "{error}");
    fs::write(home.segment(1), &bytes[..bytes.len() / 2]).unwrap();
    let table = home.open(small());
    let (mut good, mut cut_short) = (0, 0);
    for n in 0..60_u32 {
        match table.get(&n.to_be_bytes()) {
            Ok(there) => {
                assert_eq!(there.unwrap(), value(n));
                good += 1;
            }
            Err(LittError::Corrupt { path, .. }) => {
                assert_eq!(path, home.segment(1));
                cut_short += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(cut_short > 3 && good > 40, "{good} {cut_short}");
    drop(table);
    let last = home.files(".seg").pop().unwrap();
    let mut newer = fs::read(&last).unwrap();
    newer[5] = 9;
    let crc = crc32fast::hash(&newer[..32]).to_be_bytes();
    newer[32..36].copy_from_slice(&crc);
    fs::write(&last, newer).unwrap();
    let error = home.try_open(small()).unwrap_err();
    assert!(matches!(error, LittError::NewerFormat { found: 9, known: 2, .. }), "{error}");
}

/// A disk whose syncs fail, whose writes find no space, or on which background threads panic, when
/// set so.
#[derive(Debug, Default)]
struct Faulty {
    sync_fails: AtomicBool,
    full: AtomicBool,
    panics: AtomicBool,
    syncs: AtomicU64,
    /// The next sync waits for a message.
    waits: Mutex<Option<Receiver<()>>>,
}

#[derive(Debug)]
struct FaultyFile(Arc<dyn DiskFile>, Arc<Faulty>);

#[derive(Debug)]
struct FaultyDisk(Arc<Faulty>);

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        if self.0.full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let thread = std::thread::current();
        let is_background = thread.name().is_some_and(|name| name.starts_with("littable-"));
        if is_background && self.0.panics.load(Ordering::SeqCst) {
            panic!("planned");
        }
        Ok(Arc::new(FaultyFile(RealDisk.create(path)?, self.0.clone())))
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(FaultyFile(RealDisk.open(path, mode)?, self.0.clone())))
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
    fn list(&self, dir: &Path) -> io::Result<Vec<hearth_disk::DirEntry>> {
        RealDisk.list(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
    fn metadata(&self, path: &Path) -> io::Result<hearth_disk::Metadata> {
        RealDisk.metadata(path)
    }
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        RealDisk.free_bytes(path)
    }
    fn fs_kind(&self, _: &Path) -> io::Result<hearth_disk::FsKind> {
        Ok(hearth_disk::FsKind::Network("nfs"))
    }
    fn lock(&self, path: &Path) -> Result<hearth_disk::Lock, hearth_disk::LockError> {
        RealDisk.lock(path)
    }
}

impl DiskFile for FaultyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        if self.1.full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.write_at(buf, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.1.syncs.fetch_add(1, Ordering::SeqCst);
        let waits = self.1.waits.lock().unwrap().take();
        if let Some(waits) = waits {
            waits.recv().unwrap();
        }
        if self.1.sync_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("planned"));
        }
        std::thread::sleep(Duration::from_millis(2));
        self.0.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

fn faulty(home: &Home) -> (Arc<Faulty>, StoreOptions) {
    let faults = Arc::new(Faulty::default());
    let disk = Arc::new(FaultyDisk(faults.clone()));
    (faults, StoreOptions { disk, allow_network_fs: true, ..home.options() })
}

#[test]
fn network_file_systems_are_refused_unless_meant() {
    let home = Home::new();
    let (_, options) = faulty(&home);
    let refused = Littable::open(StoreOptions { allow_network_fs: false, ..options.clone() });
    assert!(matches!(refused, Err(LittError::NetworkFs { kind: "nfs", .. })), "{refused:?}");
    Littable::open(options).unwrap();
}

#[test]
fn a_failed_sync_is_not_tried_again() {
    let home = Home::new();
    let (faults, options) = faulty(&home);
    let store = Littable::open(options).unwrap();
    let table = store.table(large()).unwrap();
    fill(&table, 0..5);
    table.flush().unwrap();
    fill(&table, 5..8);
    faults.sync_fails.store(true, Ordering::SeqCst);
    assert!(matches!(table.flush(), Err(LittError::Io { .. })));
    faults.sync_fails.store(false, Ordering::SeqCst);
    let syncs = faults.syncs.load(Ordering::SeqCst);
    assert!(matches!(table.flush(), Err(LittError::ReadOnly { .. })));
    let put = table.put(b"b", b"2");
    assert!(matches!(&put, Err(LittError::ReadOnly { cause, .. }) if cause.contains("planned")), "{put:?}");
    assert_holds(&table, 0..8, 10);
    drop((table, store));
    assert_eq!(faults.syncs.load(Ordering::SeqCst), syncs);
    let table = home.open(large());
    fill(&table, 0..10);
    table.flush().unwrap();
    assert_holds(&table, 0..10, 10);
}

/// The last reference to a table is gone before its end is written: who opens it again then must
/// not have two writers of one segment.
#[test]
fn a_table_that_is_being_closed_is_waited_for() {
    let home = Home::new();
    let (faults, options) = faulty(&home);
    let store = Littable::open(options).unwrap();
    let table = store.table(small()).unwrap();
    fill(&table, 0..50);
    let (release, waits) = channel();
    *faults.waits.lock().unwrap() = Some(waits);
    std::thread::scope(|scope| {
        let closing = scope.spawn(move || drop(table));
        while faults.waits.lock().unwrap().is_some() {
            std::thread::yield_now();
        }
        let opening = scope.spawn(|| store.table(small()));
        std::thread::sleep(Duration::from_millis(100));
        let too_early = opening.is_finished();
        release.send(()).unwrap();
        closing.join().unwrap();
        let table = opening.join().unwrap().unwrap();
        assert!(!too_early, "it was opened beside its end");
        fill(&table, 50..70);
        assert_holds(&table, 0..70, 80);
    });
    store.drop_table("t").unwrap();
    assert_holds(&store.table(small()).unwrap(), 0..0, 70);
}

#[test]
fn a_full_disk_stops_puts_until_there_is_room() {
    // With a thread that writes what puts leave to it, and without.
    [0, 1].into_iter().for_each(full_disk);
}

fn full_disk(background_threads: usize) {
    let home = Home::new();
    let (faults, options) = faulty(&home);
    let store = Littable::open(StoreOptions { background_threads, ..options }).unwrap();
    let table = store.table(TableOptions { write_buffer_bytes: 1000, ..small() }).unwrap();
    fill(&table, 0..50);
    table.flush().unwrap();
    faults.full.store(true, Ordering::SeqCst);
    let mut put = 50;
    let error = loop {
        match table.put(&u32::to_be_bytes(put), &value(put)) {
            Ok(()) => put += 1,
            Err(error) => break error,
        }
        assert!(put < 200, "what waits is bounded");
    };
    assert!(
        matches!(&error, LittError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull),
        "{error}"
    );
    // Where the thread met the full disk first, by sealing a segment, no put waits.
    assert!(table.flush().is_err() || put == 50, "puts up to {put} wait");
    assert_holds(&table, 0..put, 250);
    faults.full.store(false, Ordering::SeqCst);
    fill(&table, put..220);
    table.flush().unwrap();
    assert_holds(&table, 0..220, 250);
    drop((table, store));
    let table = home.open(small());
    assert_holds(&table, 0..220, 250);
    assert_eq!(table.scrub().unwrap().damaged, 0);
}

#[test]
fn background_work_goes_on_after_a_panic() {
    let home = Home::new();
    let (faults, options) = faulty(&home);
    let gc_period = Duration::from_millis(5);
    let store = Littable::open(StoreOptions { background_threads: 1, gc_period, ..options }).unwrap();
    let table = store.table(TableOptions { segment_keys: 10, ..large() }).unwrap();
    let until = |what: &dyn Fn() -> bool| {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            what()
        })
    };
    faults.panics.store(true, Ordering::SeqCst);
    fill(&table, 0..15);
    assert!(until(&|| table.last_trouble().is_some()));
    let trouble = table.last_trouble().unwrap().to_string();
    assert!(trouble.contains("background work panicked: planned"), "{trouble}");
    faults.panics.store(false, Ordering::SeqCst);
    assert!(until(&|| table.info().runs == 1), "the thread is there, and seals the full segment");
    assert_holds(&table, 0..15, 20);
}

/// A key index that could not be made again on a full disk is made later, and takes its place below
/// those of newer segments.
#[test]
fn indexes_that_are_made_late_take_their_place() {
    let disk = SimDisk::new();
    let options = || StoreOptions {
        disk: Arc::new(disk.clone()),
        background_threads: 0,
        ..StoreOptions::new("/store")
    };
    let ten = || TableOptions { segment_keys: 10, ..large() };
    let store = Littable::open(options()).unwrap();
    let table = store.table(ten()).unwrap();
    fill(&table, 0..60);
    table.seal().unwrap();
    table.finish_upkeep().unwrap();
    fill(&table, 60..85);
    assert_eq!(table.info().runs, 3, "one of six segments, and two of one");
    drop((table, store));
    let merged = Path::new("/store/t/00-0000000000-0000000005.idx");
    let last = disk.metadata(merged).unwrap().len - 1;
    disk.flip(merged, last, 1).unwrap();
    disk.set_capacity(0);
    let store = Littable::open(options()).unwrap();
    let table = store.table(ten()).unwrap();
    assert_eq!((table.info().runs, table.info().open_segments), (2, 7));
    assert_holds(&table, 0..85, 90);
    disk.set_capacity(u64::MAX);
    table.finish_upkeep().unwrap();
    assert_eq!((table.info().runs, table.info().open_segments), (1, 1));
    assert_holds(&table, 0..85, 90);
    drop((table, store));
    let store = Littable::open(options()).unwrap();
    assert_holds(&store.table(ten()).unwrap(), 0..85, 90);
}

/// Puts of many threads leave full buffers to the one that writes: all of it gets there without a
/// flush, but for the last buffer, is read meanwhile from wherever it is, and is in order.
#[test]
fn full_buffers_are_written_without_a_flush() {
    let home = Home::new();
    let store = Littable::open(StoreOptions { background_threads: 1, ..home.options() }).unwrap();
    let buffer = 4096;
    let table = store.table(TableOptions { write_buffer_bytes: buffer, ..large() }).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let table = &table;
            scope.spawn(move || {
                for n in (thread..2000).step_by(4) {
                    table.put(&u32::to_be_bytes(n), &value(n)).unwrap();
                    assert_eq!(table.get(&n.to_be_bytes()).unwrap().unwrap(), value(n));
                }
            });
        }
    });
    let written = || fs::metadata(home.segment(0)).unwrap().len();
    let size = table.size();
    for _ in 0..500 {
        if written() + buffer as u64 >= size {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(written() + buffer as u64 >= size, "{} of {size} bytes", written());
    assert_holds(&table, 0..2000, 2100);
    // A process that dies here leaves a prefix: nothing that was written is behind something that
    // was not.
    let bytes = fs::read(home.segment(0)).unwrap();
    table.flush().unwrap();
    assert_eq!(fs::read(home.segment(0)).unwrap()[..bytes.len()], bytes);
    drop((table, store));
    assert_holds(&home.open(large()), 0..2000, 2100);
}

/// Flushes of many threads share syncs, and each covers what its thread put before.
#[test]
fn flushes_share_syncs() {
    let home = Home::new();
    let (faults, options) = faulty(&home);
    let store = Littable::open(options).unwrap();
    let table = store.table(large()).unwrap();
    let before = faults.syncs.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let (table, home) = (&table, &home);
            scope.spawn(move || {
                for n in 0..25 {
                    let key = (thread * 25 + n).to_be_bytes();
                    table.put(&key, &value(n)).unwrap();
                    table.flush().unwrap();
                    let bytes = fs::read(home.segment(0)).unwrap();
                    assert!(bytes.windows(4).any(|w| w == key));
                }
            });
        }
    });
    let syncs = faults.syncs.load(Ordering::SeqCst) - before;
    assert!((25..150).contains(&syncs), "{syncs} syncs for 200 flushes");
    assert_eq!(home.clock.monotonic(), Duration::ZERO);
}

//! Power cuts, deaths of the process, full disks and failed syncs under the WAL, each run
//! replayable by its seed: `HEARTH_SEED=n` runs that one and shows the disk's calls.

use super::{record::RecordHead, *};
use crate::Head;
use alloy_primitives::B256;
use hearth_disk::sim::{Call, Fault, Rng, SimDisk};

const DIR: &str = "/home/data/wal";
/// Runs in the everyday test.
const RUNS: u64 = 2_000;
/// Power cuts and deaths in one run.
const ROUNDS: u64 = 4;

/// What a run did and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    power_cuts: u64,
    kills: u64,
    full: u64,
    io_errors: u64,
    /// Acknowledged records that were not there afterwards.
    lost: u64,
    /// Records that were there with other bytes, or out of order.
    wrong: u64,
    /// Opens that were refused though every cut was one that a disk may show.
    refused: u64,
    /// Opens that were refused because a sound record followed a torn one, both unsynced: by the
    /// definition of a torn tail this is for `hearth db repair`. Only possible where several
    /// records wait for one sync.
    out_of_order: u64,
    /// How often there were zeros behind the log.
    preallocations: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.power_cuts += other.power_cuts;
        self.kills += other.kills;
        self.full += other.full;
        self.io_errors += other.io_errors;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.refused += other.refused;
        self.out_of_order += other.out_of_order;
        self.preallocations += other.preallocations;
    }

    fn failures(&self) -> u64 {
        self.lost + self.wrong + self.refused
    }
}

/// One WAL and what it should hold.
struct Run {
    rng: Rng,
    disk: SimDisk,
    /// Payload of every record, from number 1 on, that may be in the WAL.
    records: Vec<Vec<u8>>,
    /// Records that a sync that returned covers.
    acknowledged: u64,
    /// Records below it may be pruned.
    flushed: u64,
    /// Records to a sync: 1 is `fsync = "block"`.
    sync_every: u64,
    /// Whether a call of the next open fails.
    faulty: bool,
    /// The last refusal that counts as a failure.
    refusal: String,
    tally: Tally,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new();
        disk.create_dir_all(Path::new(DIR)).unwrap();
        let sync_every = [1, 1, 1, 4][rng.below(4) as usize];
        let tally = Tally::default();
        Self {
            rng,
            disk,
            records: Vec::new(),
            acknowledged: 0,
            flushed: 0,
            sync_every,
            faulty: false,
            refusal: String::new(),
            tally,
        }
    }

    fn payload(&mut self) -> Vec<u8> {
        let n = self.records.len() as u64;
        let mut hash = [0; 32];
        self.rng.fill(&mut hash);
        let head = Head { height: n, hash: B256::from(hash), commitment: B256::ZERO };
        // Mostly small, at times over several sectors.
        let most = if self.rng.chance(1, 4) { 600 } else { 8 };
        let rows = self.rng.below(most);
        let positions = (0..rows).map(|_| self.rng.next_u64()).collect();
        RecordHead { unwind: false, head, parent: B256::ZERO, positions, oldest: 0 }.unwind_payload()
    }

    /// Opens as the store does; `None` where it is refused.
    fn open(&mut self) -> Option<Wal> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let opened = WalScan::read(&disk, Path::new(DIR), self.flushed).and_then(|mut scan| {
            self.judge(&scan);
            scan.truncate(scan.records.len().checked_sub(1))?;
            let wal = Wal::resume(scan, 2_000)?;
            wal.sync()?;
            Ok(wal)
        });
        match opened {
            Ok(wal) => {
                // Whatever is there now was synced.
                self.records.truncate(wal.last() as usize);
                self.acknowledged = wal.last();
                Some(wal)
            }
            Err(_) if self.disk.is_dead() => None,
            Err(FlatKvError::Io { .. }) if self.faulty => None,
            Err(FlatKvError::WalDamaged { what, .. })
                if self.sync_every > 1
                    && self.records.len() as u64 > self.acknowledged + 1
                    && what.contains("sound records") =>
            {
                self.tally.out_of_order += 1;
                None
            }
            Err(error) => {
                self.refusal = error.to_string();
                self.tally.refused += 1;
                None
            }
        }
    }

    /// Compares what an open found with what was written.
    fn judge(&mut self, scan: &WalScan) {
        let last = scan.records.last().map_or(0, |found| found.number);
        let first = scan.records.first().map_or(1, |found| found.number);
        self.tally.lost += self.acknowledged.saturating_sub(last);
        self.tally.lost += (first - 1).saturating_sub(self.flushed);
        for (found, number) in scan.records.iter().zip(first..) {
            let written = self.records.get(found.number as usize - 1);
            let same = written.is_some_and(|payload| {
                RecordHead::from_payload(payload).is_ok_and(|head| head == found.head)
            });
            self.tally.wrong += u64::from(!same || found.number != number);
        }
    }

    /// Appends, syncs and prunes until the disk dies or it was enough.
    fn work(&mut self, mut wal: Wal) {
        for _ in 0..self.rng.below(40) {
            match self.rng.below(60) {
                0 => {
                    // Full for one record, then there is room again.
                    self.disk.set_capacity(self.disk.used() + self.rng.below(64));
                    self.tally.full += 1;
                    let payload = self.payload();
                    let appended = self.append(&mut wal, payload);
                    self.disk.set_capacity(u64::MAX);
                    // As in the store: a record over preallocated zeros, which need no room, is
                    // synced before the next one.
                    if appended && self.sync_every == 1 && !self.sync(&wal) {
                        return;
                    }
                }
                1 => self.fail_a_call(),
                2..=4 => {
                    self.flushed = self.flushed.max(self.rng.below(self.acknowledged + 1));
                    if wal.prune(self.flushed).is_err() {
                        return;
                    }
                }
                _ => {}
            }
            let payload = self.payload();
            if !self.append(&mut wal, payload) {
                // The store takes no more after a failure; opening again brings things together.
                return;
            }
            let unsynced = self.records.len() as u64 - self.acknowledged;
            if unsynced >= self.sync_every {
                if !self.sync(&wal) {
                    return;
                }
                // As in the store: where each record is synced alone.
                if self.sync_every == 1 && self.rng.chance(1, 3) {
                    wal.preallocate();
                    wal.join_preallocation();
                    self.tally.preallocations += u64::from(wal.preallocated_bytes() > 0);
                }
            }
        }
    }

    /// Syncs; whether that acknowledges all records. A failed sync is not tried again.
    fn sync(&mut self, wal: &Wal) -> bool {
        if wal.sync().is_err() {
            assert!(wal.sync().is_err(), "a failed sync was tried again");
            return false;
        }
        self.acknowledged = self.records.len() as u64;
        true
    }

    fn fail_a_call(&mut self) {
        const CALLS: [Call; 6] =
            [Call::Write, Call::Create, Call::Sync, Call::SyncDir, Call::Remove, Call::SetLen];
        let call = CALLS[self.rng.below(6) as usize];
        self.disk.fail(call, self.rng.below(2), Fault::Io);
        self.tally.io_errors += 1;
    }

    fn append(&mut self, wal: &mut Wal, payload: Vec<u8>) -> bool {
        self.records.push(payload);
        let done = wal.append(&self.records[self.records.len() - 1]).is_ok();
        // A process that dies may have finished its last write; one that lives has taken it back.
        if !done && !self.disk.is_dead() {
            self.records.pop();
        }
        done
    }

    fn go(&mut self) {
        for _ in 0..ROUNDS {
            let Some(wal) = self.open() else {
                if !self.disk.is_dead() && !self.faulty {
                    return;
                }
                self.end();
                continue;
            };
            let more = self.rng.below(120);
            self.disk.die_at(self.disk.changes() + more);
            self.work(wal);
            self.end();
        }
        self.open();
    }

    /// The machine or the process dies.
    fn end(&mut self) {
        let seed = self.rng.next_u64();
        if self.rng.chance(1, 3) {
            self.tally.kills += 1;
            self.disk = self.disk.kill();
        } else {
            self.tally.power_cuts += 1;
            self.disk = self.disk.power_cut(seed);
        }
        // The next open may be cut off as well, or a call of it may fail.
        if self.rng.chance(1, 4) {
            let calls = self.rng.below(6);
            self.disk.die_at(calls);
        }
        self.faulty = self.rng.chance(1, 8);
        if self.faulty {
            self.fail_a_call();
        }
    }
}

fn run(seed: u64) -> Run {
    let mut run = Run::new(seed);
    run.go();
    run
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_acknowledged_is_lost() {
    if let Some(seed) = number("HEARTH_SEED") {
        let mut run = Run::new(seed);
        run.disk.keep_journal(400);
        run.go();
        println!("{}\n{:?}", run.disk.journal().join("\n"), run.tally);
        assert_eq!(run.tally.failures(), 0, "{}", run.refusal);
        return;
    }
    let runs = number("HEARTH_FAULT_RUNS").unwrap_or(RUNS);
    let mut all = Tally::default();
    for seed in 0..runs {
        let Run { tally, refusal, .. } = run(seed);
        assert_eq!(tally.failures(), 0, "HEARTH_SEED={seed}: {tally:?} {refusal}");
        all.add(tally);
    }
    println!("faults: WAL | power cut | {} | {} | {}", all.power_cuts, all.lost, all.wrong);
    println!("faults: WAL | kill | {} | 0 | 0", all.kills);
    println!("faults: WAL | full disk | {} | 0 | 0", all.full);
    println!("faults: WAL | I/O error | {} | 0 | 0", all.io_errors);
    println!("faults: WAL | unsynced records out of order, refused | {} | 0 | 0", all.out_of_order);
    assert!(all.power_cuts > runs && all.kills > 0 && all.full > 0 && all.io_errors > 0);
    assert!(all.preallocations > runs, "{all:?}");
}

#[test]
fn a_run_is_its_seed() {
    // Salts are random, so that sizes and faults, not bytes, are what a seed fixes.
    assert!((0..50).all(|seed| run(seed).tally == run(seed).tally));
}

#[test]
fn a_bad_record_that_a_sound_one_follows_names_the_repair() {
    let disk = SimDisk::new();
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut wal = Wal::resume(WalScan::read(&shared, Path::new(DIR), 0).unwrap(), u64::MAX).unwrap();
    let mut run = Run::new(0);
    let mut second = 32;
    for n in 0..3 {
        let bytes = wal.append(&run.payload()).unwrap();
        second += if n == 0 { bytes } else { 0 };
    }
    disk.flip(&segment_path(Path::new(DIR), 1), second + 30, 4).unwrap();
    let error = WalScan::read(&shared, Path::new(DIR), 0).unwrap_err().to_string();
    assert!(error.contains("00000000000000000001.wal") && error.contains("`hearth db repair`"), "{error}");
    assert!(error.contains(&format!("byte {second} ")), "{error}");
}

#[test]
fn a_gap_is_damage_unless_rocksdb_has_what_stood_in_it() {
    let disk = SimDisk::new();
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let read = |flushed| WalScan::read(&shared, Path::new(DIR), flushed);
    // Every segment takes one record.
    let mut wal = Wal::resume(read(0).unwrap(), 1).unwrap();
    let mut run = Run::new(0);
    for _ in 0..7 {
        wal.append(&run.payload()).unwrap();
    }
    wal.sync().unwrap();
    let path = |number| segment_path(Path::new(DIR), number);
    disk.remove_file(&path(2)).unwrap();
    disk.remove_file(&path(4)).unwrap();
    for (flushed, missing) in [(0, 2), (1, 2), (2, 4), (3, 4)] {
        let error = read(flushed).unwrap_err().to_string();
        assert!(error.contains(&format!("(record {missing} is missing)")), "{flushed}: {error}");
        assert!(error.contains("`hearth db repair`"), "{error}");
    }
    let mut scan = read(4).unwrap();
    assert!(disk.read(&path(1)).is_ok(), "reading takes nothing away");
    scan.truncate(scan.records.len().checked_sub(1)).unwrap();
    assert_eq!(scan.records.iter().map(|found| found.number).collect::<Vec<_>>(), [5, 6, 7]);
    assert!(disk.read(&path(1)).is_err() && disk.read(&path(3)).is_err());
    assert_eq!(read(0).unwrap().records.len(), 3, "without the stale segments there is no gap");
    assert_eq!(Wal::resume(scan, 1).unwrap().last(), 7);
}

#[test]
fn pruning_goes_on_after_a_sync_that_failed() {
    let disk = SimDisk::new();
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    // Every segment takes one record.
    let mut wal = Wal::resume(WalScan::read(&shared, Path::new(DIR), 0).unwrap(), 1).unwrap();
    let mut run = Run::new(0);
    for _ in 0..6 {
        wal.append(&run.payload()).unwrap();
    }
    let there = || disk.files(Path::new(DIR)).unwrap();
    let path = |number| segment_path(Path::new(DIR), number);
    disk.fail(Call::SyncDir, 0, Fault::Io);
    wal.prune(6).unwrap_err();
    assert_eq!(there(), [2, 3, 4, 5, 6].map(path));
    wal.prune(6).unwrap();
    assert_eq!(there(), [4, 5, 6].map(path));
}

#[test]
fn zeros_of_a_preallocation_that_failed_are_cut_off() {
    let disk = SimDisk::new();
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut wal = Wal::resume(WalScan::read(&shared, Path::new(DIR), 0).unwrap(), u64::MAX).unwrap();
    let mut run = Run::new(0);
    wal.append(&run.payload()).unwrap();
    wal.sync().unwrap();
    let len = || disk.metadata(&segment_path(Path::new(DIR), 1)).unwrap().len;
    let end = len();
    // The disk is full after some of the zeros.
    disk.set_capacity(disk.used() + 1_000);
    wal.preallocate();
    wal.join_preallocation();
    assert_eq!((len(), wal.preallocated_bytes()), (end + 1_000, 0));
    disk.fail(Call::SetLen, 0, Fault::Io);
    wal.cut_preallocation().unwrap_err();
    wal.cut_preallocation().unwrap();
    assert_eq!(len(), end);
    // There is nothing left to cut.
    disk.fail(Call::SetLen, 0, Fault::Io);
    wal.cut_preallocation().unwrap();
}

#[test]
fn bytes_of_a_failed_sync_are_written_again() {
    // The process that saw the sync fail dies, the machine continues: the next one reads the record
    // from memory.
    let mut seen = 0;
    for seed in 0..32 {
        let disk = SimDisk::new();
        disk.create_dir_all(Path::new(DIR)).unwrap();
        let open = |disk: &SimDisk, flushed| {
            let shared: Arc<dyn Disk> = Arc::new(disk.clone());
            let mut scan = WalScan::read(&shared, Path::new(DIR), flushed).unwrap();
            scan.truncate(scan.records.len().checked_sub(1)).unwrap();
            Wal::resume(scan, u64::MAX).unwrap()
        };
        let mut wal = open(&disk, 0);
        let mut run = Run::new(seed);
        wal.append(&run.payload()).unwrap();
        wal.sync().unwrap();
        wal.append(&run.payload()).unwrap();
        disk.fail(Call::Sync, 0, Fault::Io);
        wal.sync().unwrap_err();
        let disk = disk.kill();
        let accepted = open(&disk, 1).last();
        seen += u64::from(accepted == 2);
        assert_eq!(open(&disk.power_cut(seed), 1).last(), accepted, "seed {seed}");
    }
    assert!(seen > 0, "the record was in memory at times");
}

#[test]
fn a_disk_that_only_says_it_synced_is_found_out() {
    // The suite proves itself: with syncs that do nothing it must see losses.
    let lost = |call| {
        let mut all = Tally::default();
        for seed in 0..200 {
            let mut run = Run::new(seed);
            run.sync_every = 1;
            run.disk.ignore(call);
            run.go();
            all.add(run.tally);
        }
        all.failures()
    };
    assert!(lost(Call::Sync) > 0);
    assert!(lost(Call::SyncDir) > 0);
}

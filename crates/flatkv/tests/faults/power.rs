//! Power cuts anywhere in the calls of the whole process: of what was not synced any part may be
//! lost or torn.

use crate::{
    amount,
    child::{Said, Work, run},
    journal::{Played, read},
    judge::{judge, keep},
    model::{Random, temp_dir},
    preload::{Fault, Mode, journal},
    row, run_all, seeds,
    story::{Setup, Story},
};
use hearth_flatkv::{Fsync, failpoints::InjectedBug};
use std::{collections::BTreeMap, fs, path::Path};
use tempfile::TempDir;

/// Homes in the quick, the everyday and the full test.
const RUNS: [u64; 3] = [4, 6, 300];
/// Journals of one home: each child but the first continues from what a cut left.
const ROUNDS: u64 = 3;
/// Cuts in one journal.
const CUTS: u64 = 8;
/// Homes whose new names are cut behind in the quick, the everyday and the full test.
const NAME_RUNS: [u64; 3] = [1, 2, 30];
/// Openings of one such home.
const NAME_OPENINGS: u64 = 2;
/// Steps after each opening.
const NAME_STEPS: u64 = 3;
/// Cuts behind each name.
const CUTS_AT_A_NAME: u64 = 8;
/// Steps of one child.
const STEPS: u64 = 30;

/// What cuts found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub tried: u64,
    pub lost: u64,
    pub wrong: u64,
    pub out_of_order: u64,
    pub findings: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.out_of_order += other.out_of_order;
        self.findings.extend(other.findings);
    }
}

/// What was acknowledged up to a moment of a journal, and may be on the disk.
struct Heard {
    said: Said,
    /// Steps that no cut may lose.
    floor: u64,
    block: bool,
}

impl Heard {
    fn new(story: &Story) -> Self {
        let block = story.setup.fsync == Fsync::Block;
        Self { said: Said::default(), floor: story.steps, block }
    }

    fn hear(&mut self, message: &str) {
        self.said.hear(message);
        if !message.starts_with("done ") {
            return;
        }
        let (Some(done), Some((n, step))) = (self.said.done, &self.said.begun) else { return };
        let syncs = matches!(step.as_str(), "flush" | "snapshot" | "rollback");
        // The first block is on disk in every mode.
        if self.block || syncs || *n == 0 {
            self.floor = done;
        }
    }

    fn most(&self) -> u64 {
        self.said.begun.as_ref().map_or(self.floor, |(n, _)| n + 1).max(self.floor)
    }
}

/// Cuts the power at this moment and judges what is left; gives the home as the cut left it with
/// the steps that it has, where it is sound. The play can continue either way.
fn cut_here(
    played: &Played,
    cut: u64,
    seed: u64,
    heard: &Heard,
    tally: &mut Tally,
    place: impl FnOnce() -> String,
) -> Option<(u64, TempDir)> {
    let (left, again) = (temp_dir(), temp_dir());
    let home = left.path().join("home");
    played.cut(cut, &home).unwrap();
    let verdict = judge(&home, seed, heard.floor..=heard.most(), &heard.said);
    tally.tried += 1;
    // Several records that wait for one sync may reach the disk in any order.
    if verdict.out_of_order && !heard.block {
        tally.out_of_order += 1;
        return None;
    }
    tally.lost += u64::from(verdict.lost.is_some());
    tally.wrong += u64::from(verdict.wrong.is_some());
    // The judge has changed what it opened.
    played.cut(cut, &again.path().join("home")).unwrap();
    if let Some(what) = verdict.lost.or(verdict.wrong) {
        keep(&again.path().join("home"), &format!("power-{seed}-{cut}"));
        let step = &heard.said.begun;
        tally.findings.push(format!("seed {seed}, {}, in step {step:?}: {what}", place()));
        return None;
    }
    Some((verdict.steps, again))
}

/// Journals a child on a home and cuts its power; gives a cut that another child may continue from.
fn round(work: &mut Work, random: &mut Random, aside: &Path, tally: &mut Tally) -> Option<()> {
    let story = Story::after(work.seed, work.done);
    let mut played = Played::new(&work.home).unwrap();
    let end = run(work, &Fault::new(Mode::Journal), aside);
    let bad = end.broke().or_else(|| end.said.refused.clone());
    if let Some(what) = bad.or_else(|| end.said.error.as_ref().map(|(n, error)| format!("step {n}: {error}")))
    {
        tally.findings.push(format!("seed {}, without a fault: {what}", work.seed));
        tally.lost += 1;
        return None;
    }
    let records = read(&journal(aside)).unwrap();
    let mut cuts = BTreeMap::new();
    while cuts.len() < CUTS.min(records.len() as u64) as usize {
        cuts.insert(random.below(records.len() as u64) as usize, random.next());
    }
    let goes_on = *cuts.keys().nth(random.below(cuts.len() as u64) as usize)?;
    let mut heard = Heard::new(&story);
    let mut next = None;
    for (at, record) in records.iter().enumerate() {
        if let Some(seed) = cuts.get(&at) {
            let left = cut_here(&played, *seed, work.seed, &heard, tally, || {
                format!("{:?}, call {at} of {}", story.setup, records.len())
            });
            if at == goes_on {
                next = left;
            }
        }
        match record.message() {
            Some(message) => heard.hear(&message),
            None => played.play(record).unwrap(),
        }
    }
    let (done, left) = next?;
    fs::remove_dir_all(&work.home).unwrap();
    crate::judge::copy_dir(&left.path().join("home"), &work.home).unwrap();
    work.done = done;
    Some(())
}

/// A home through several power cuts.
pub fn cuts(seed: u64, bug: Option<InjectedBug>) -> Tally {
    let (home, aside) = (temp_dir(), temp_dir());
    let mut work = Work { home: home.path().join("home"), seed, done: 0, steps: STEPS, bug };
    fs::create_dir(&work.home).unwrap();
    let (mut random, mut tally) = (Random(seed ^ 0xca7), Tally::default());
    for _ in 0..ROUNDS {
        if round(&mut work, &mut random, aside.path(), &mut tally).is_none() {
            break;
        }
    }
    tally
}

#[test]
fn power_cuts_lose_nothing_acknowledged() {
    let runs = amount("HEARTH_FLATKV_CUTS", RUNS);
    let mut all = Tally::default();
    for tally in run_all(seeds(runs), |seed| cuts(seed, None)) {
        all.add(tally);
    }
    row("power cut", all.tried, all.lost, all.wrong);
    row("power cut, unsynced records out of order, refused", all.out_of_order, 0, 0);
    assert!(all.findings.is_empty(), "{:#?}", all.findings);
    assert!(all.tried >= runs * CUTS, "{all:?}");
}

/// Between a name and the sync of its folder, at every opening of a home: few calls of many, and of
/// those a cut there may keep the one name and lose another. RocksDB moves CURRENT there.
#[test]
fn cuts_behind_new_names_lose_nothing() {
    let mut all = Tally::default();
    for tally in run_all(seeds(amount("HEARTH_FLATKV_NAMES", NAME_RUNS)), cuts_behind_names) {
        all.add(tally);
    }
    row("power cut behind a new name", all.tried, all.lost, all.wrong);
    assert!(all.findings.is_empty(), "{:#?}", all.findings);
    assert!(all.tried > 0, "{all:?}");
}

fn cuts_behind_names(seed: u64) -> Tally {
    let (home, aside) = (temp_dir(), temp_dir());
    let mut work = Work { home: home.path().join("home"), seed, done: 0, steps: NAME_STEPS, bug: None };
    fs::create_dir(&work.home).unwrap();
    let mut tally = Tally::default();
    for _ in 0..NAME_OPENINGS {
        let story = Story::after(seed, work.done);
        let mut played = Played::new(&work.home).unwrap();
        let end = run(&work, &Fault::new(Mode::Journal), aside.path());
        assert_eq!(end.broke(), None);
        let records = read(&journal(aside.path())).unwrap();
        let (mut heard, mut named) = (Heard::new(&story), false);
        for (at, record) in records.iter().enumerate() {
            for cut in 0..if named { CUTS_AT_A_NAME } else { 0 } {
                cut_here(&played, seed << 8 | cut, seed, &heard, &mut tally, || {
                    format!("{:?}, call {at} of {}", story.setup, records.len())
                });
            }
            named = record.renames();
            match record.message() {
                Some(message) => heard.hear(&message),
                None => played.play(record).unwrap(),
            }
        }
        work.done += NAME_STEPS;
    }
    tally
}

/// Without snapshots nothing but an opening sees to it that the name of the database stays, and the
/// WAL alone does not have its oldest records any more.
#[test]
fn the_database_keeps_its_name() {
    let fits = |seed: &u64| {
        Setup::new(*seed).snapshot_interval_blocks == 0 && Setup::new(*seed).fsync == Fsync::Block
    };
    let mut alone = 0;
    for seed in (0..).filter(fits).take(6) {
        let (home, aside) = (temp_dir(), temp_dir());
        let work = Work { home: home.path().join("home"), seed, done: 0, steps: 2 * STEPS, bug: None };
        fs::create_dir(&work.home).unwrap();
        let mut played = Played::new(&work.home).unwrap();
        let end = run(&work, &Fault::new(Mode::Journal), aside.path());
        let records = read(&journal(aside.path())).unwrap();
        records
            .iter()
            .filter(|record| record.message().is_none())
            .for_each(|record| played.play(record).unwrap());
        alone += u64::from(!work.home.join("wal/00000000000000000001.wal").exists());
        for cut in 0..8 {
            let left = temp_dir();
            let home = left.path().join("home");
            played.cut(cut, &home).unwrap();
            let verdict = judge(&home, seed, 2 * STEPS..=2 * STEPS, &end.said);
            assert_eq!(verdict.lost.or(verdict.wrong), None, "seed {seed}, cut {cut}");
        }
    }
    assert!(alone > 0, "every WAL begins with its first record");
}

/// The journal misses nothing: played to its end it gives the home, file by file.
#[test]
fn a_journal_gives_the_home_that_is_there() {
    for seed in 0..3 {
        let (home, aside, again) = (temp_dir(), temp_dir(), temp_dir());
        let work = Work { home: home.path().join("home"), seed, done: 0, steps: STEPS, bug: None };
        fs::create_dir(&work.home).unwrap();
        let mut played = Played::new(&work.home).unwrap();
        let end = run(&work, &Fault::new(Mode::Journal), aside.path());
        assert_eq!(end.broke(), None);
        let records = read(&journal(aside.path())).unwrap();
        records
            .iter()
            .filter(|record| record.message().is_none())
            .for_each(|record| played.play(record).unwrap());
        played.now(again.path()).unwrap();
        let (there, made) = (files(&work.home), files(again.path()));
        assert!(there.len() > 20, "{there:?}");
        assert_eq!(there.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>());
        for (name, bytes) in &there {
            assert!(made[name] == *bytes, "{name}: {} and {} bytes", bytes.len(), made[name].len());
        }
    }
}

/// Files below a folder with their bytes, without RocksDB's text log.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(dir).unwrap().display().to_string();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else if !entry.file_name().to_string_lossy().starts_with("LOG") {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

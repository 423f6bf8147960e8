//! Flipped bits in every kind of file of a home that was closed in good order.

use crate::{
    amount,
    home::Home,
    judge::{Found, copy_dir, read, verify},
    model::{Random, temp_dir},
    row, run_all,
    story::Story,
    tables::FileTables,
};
use hearth_flatkv::{CommitmentKind, FlatKv, list_snapshots};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Flips in the quick, the everyday and the full test.
const FLIPS: [u64; 3] = [60, 120, 4_000];
/// Steps of the home.
const STEPS: u64 = 120;
/// Heights that are read in each database.
const HEIGHTS: u64 = 6;

/// What flips of one kind of file did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub tried: u64,
    /// Found by an opening, by a read, or by `verify`, of the store or of a snapshot.
    pub detected: u64,
    /// The changed bytes were not needed: every answer was right.
    pub harmless: u64,
    /// A wrong answer, or a head that is not there without a word.
    pub served: u64,
}

/// A home and its story.
struct Sample {
    dir: tempfile::TempDir,
    story: Story,
    /// Files by kind.
    kinds: BTreeMap<&'static str, Vec<PathBuf>>,
}

/// Which kind a file of a home is; `None` where RocksDB only writes it for people, or never writes
/// into it.
fn kind(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_in = |dir: &str| path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(dir));
    if is_in("side-") {
        return None;
    }
    let snapshot = is_in("snapshots");
    Some(match name.as_str() {
        _ if name.ends_with(".wal") => "WAL",
        _ if name.ends_with(".sst") && snapshot => "snapshot's SST",
        _ if name.ends_with(".sst") => "SST",
        _ if name.starts_with("MANIFEST") => "MANIFEST",
        _ if name.starts_with("OPTIONS") => "OPTIONS",
        "CURRENT" => "CURRENT",
        "hearth.lock" => "lock",
        "snapshot" => "snapshot's description",
        _ => return None,
    })
}

fn build(seed: u64) -> Sample {
    let dir = temp_dir();
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let mut story = Story::new(seed);
    let mut at = Home::open(&story, &home).unwrap();
    while story.steps < STEPS {
        let step = story.go();
        at.step(&story, step).unwrap();
    }
    at.kv().snapshot().unwrap();
    at.kv().close().unwrap();
    drop(at);
    let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut todo = vec![home.clone()];
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if let Some(kind) = kind(&path) {
                kinds.entry(kind).or_default().push(path.strip_prefix(&home).unwrap().to_owned());
            }
        }
    }
    kinds.values_mut().for_each(|paths| paths.sort());
    Sample { dir, story, kinds }
}

/// What became of a flip.
enum Fate {
    Detected,
    Harmless,
    Served(String),
}

impl Sample {
    /// Opens a copy of the home and its snapshots and reads everything there is.
    fn look(&self, home: &Path) -> Fate {
        let options = self.story.setup.options(home);
        let chain = &self.story.chain;
        let tables = match FileTables::open(home) {
            Ok(tables) => tables,
            Err(_) => return Fate::Detected,
        };
        let snapshots = list_snapshots(&options).unwrap_or_default();
        if snapshots.len() < list_snapshots(&self.story.setup.options(&self.home())).unwrap().len() {
            return Fate::Detected;
        }
        for snapshot in snapshots {
            let reading = match FlatKv::open_in(options.clone(), &snapshot) {
                Ok(kv) if verify(&kv).is_err() => return Fate::Detected,
                Ok(kv) => {
                    let below = chain.iter().position(|block| block.hash == snapshot.hash);
                    below.map_or(Ok(()), |top| read(&kv, &chain[..=top], HEIGHTS))
                }
                Err(_) => return Fate::Detected,
            };
            match reading {
                Ok(()) => {}
                Err(Found::Error(_)) => return Fate::Detected,
                Err(Found::Wrong(what)) => return Fate::Served(what),
            }
        }
        let kv = match FlatKv::open(options, tables) {
            Ok(kv) => kv,
            Err(_) => return Fate::Detected,
        };
        if kv.head().map(|head| head.hash) != self.story.tip() {
            return Fate::Served(format!("the head is at {:?}", kv.head().map(|head| head.height)));
        }
        match read(&kv, chain, HEIGHTS) {
            Ok(()) if verify(&kv).is_err() => Fate::Detected,
            Ok(()) => Fate::Harmless,
            Err(Found::Error(_)) => Fate::Detected,
            Err(Found::Wrong(what)) => Fate::Served(what),
        }
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Flips a bit of a file of one kind and looks.
    fn flip(&self, kind: &'static str, random: &mut Random) -> (Fate, String) {
        let copy = temp_dir();
        let home = copy.path().join("home");
        copy_dir(&self.home(), &home).unwrap();
        let paths = &self.kinds[kind];
        let path = &paths[random.below(paths.len() as u64) as usize];
        let mut bytes = fs::read(home.join(path)).unwrap();
        // A lock without an owner is empty.
        bytes.resize(bytes.len().max(1), 0);
        let at = random.below(bytes.len() as u64) as usize;
        let bit = random.below(8);
        bytes[at] ^= 1 << bit;
        // Not through a hard link: the file of the home has to change, not that of a snapshot as
        // well.
        fs::remove_file(home.join(path)).unwrap();
        fs::write(home.join(path), bytes).unwrap();
        (self.look(&home), format!("byte {at}, bit {bit} of {}", path.display()))
    }
}

/// Flips bits, evenly over the kinds of files; only one kind where it is named.
pub fn flips(count: u64, from: u64, only: Option<&str>) -> (BTreeMap<&'static str, Counts>, Vec<String>) {
    // A trie and a lattice, with all of history.
    let kinds = [CommitmentKind::Mpt, CommitmentKind::LtHash];
    let samples: Vec<_> = kinds
        .iter()
        .map(|kind| {
            let fits = |seed: &u64| {
                let setup = Story::new(*seed).setup;
                setup.kind == *kind && setup.history_blocks == 0 && setup.snapshot_interval_blocks > 0
            };
            build((from..).find(fits).unwrap())
        })
        .collect();
    let found = run_all(0..count, |seed| {
        let mut random = Random(seed ^ from << 20);
        let sample = &samples[random.below(2) as usize];
        let names: Vec<_> =
            sample.kinds.keys().copied().filter(|name| only.is_none_or(|only| only == *name)).collect();
        let kind = names[seed as usize % names.len()];
        let (fate, what) = sample.flip(kind, &mut random);
        (kind, fate, what)
    });
    let (mut counts, mut findings) = (BTreeMap::<_, Counts>::new(), Vec::new());
    for (kind, fate, what) in found {
        let count = counts.entry(kind).or_default();
        count.tried += 1;
        match fate {
            Fate::Detected => count.detected += 1,
            Fate::Harmless => count.harmless += 1,
            Fate::Served(how) => {
                count.served += 1;
                findings.push(format!("{what}: {how}"));
            }
        }
    }
    (counts, findings)
}

#[test]
fn flipped_bits_are_never_served() {
    let count = amount("HEARTH_FLATKV_FLIPS", FLIPS);
    let (counts, findings) = flips(count, 0, None);
    for (kind, Counts { tried, detected, harmless, served }) in &counts {
        println!("faults: flips in {kind}: {detected} of {tried} detected, {harmless} harmless");
        row(&format!("bit flip in {kind}"), *tried, 0, *served);
    }
    let sum = |of: fn(&Counts) -> u64| counts.values().map(of).sum::<u64>();
    row("bit flip", sum(|count| count.tried), 0, sum(|count| count.served));
    assert!(findings.is_empty(), "{findings:#?}");
    for kind in ["WAL", "SST", "MANIFEST", "CURRENT", "OPTIONS", "snapshot's description", "snapshot's SST"] {
        assert!(counts.contains_key(kind), "no flip in {kind}");
    }
    // Every byte of these is under a checksum that is looked at.
    for kind in ["WAL", "snapshot's description"] {
        assert_eq!(counts[kind].harmless, 0, "{kind}: {:?}", counts[kind]);
    }
}

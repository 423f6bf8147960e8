//! Opens what a fault left and compares it with the model.

use crate::{
    child::Said,
    home::side_dir,
    model::{ACCOUNTS, BASE, Block, LEGACY_KEYS, Random, SLOTS, address, legacy_key, slot},
    story::Story,
    tables::FileTables,
};
use alloy_primitives::B256;
use hearth_flatkv::{CommitmentKind, FlatKv, FlatKvError};
use hearth_primitives::StateError;
use std::{
    collections::BTreeMap,
    fs, io,
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

/// Blocks below the head whose rows in the table are looked for.
const TABLE_BLOCKS: usize = 60;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What was acknowledged and is not there, an opening that is refused included.
    pub lost: Option<String>,
    /// Rows that should not exist.
    pub wrong: Option<String>,
    /// An opening was refused for a sound record behind a torn one, both unsynced: for
    /// `hearth db repair`, by the definition of a torn tail.
    pub out_of_order: bool,
    /// Steps that the home has.
    pub steps: u64,
}

/// Reads everything of some heights that are retained, the head and the oldest among them. An error
/// says what is wrong; one of the store's own is another thing, see [`Found`].
pub fn read_all(kv: &Arc<FlatKv>, chain: &[Block], heights: u64) -> Result<(), String> {
    match read(kv, chain, heights) {
        Ok(()) => Ok(()),
        Err(Found::Error(error)) => Err(format!("a read failed: {error}")),
        Err(Found::Wrong(what)) => Err(what),
    }
}

/// Why reading everything stopped.
#[derive(Debug)]
pub enum Found {
    /// The store said so itself.
    Error(String),
    /// A wrong answer.
    Wrong(String),
}

impl From<StateError> for Found {
    fn from(error: StateError) -> Self {
        Self::Error(error.to_string())
    }
}

/// Reads as [`read_all`], separating errors from wrong answers.
pub fn read(kv: &Arc<FlatKv>, chain: &[Block], heights: u64) -> Result<(), Found> {
    let compared = catch_unwind(AssertUnwindSafe(|| compare(kv, chain, heights)));
    compared.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(Found::Wrong(text.unwrap_or_else(|| "a read panicked".to_owned())))
    })
}

fn compare(kv: &Arc<FlatKv>, chain: &[Block], heights: u64) -> Result<(), Found> {
    let Some(top) = chain.last() else { return Ok(()) };
    let oldest = kv.oldest().ok_or(Found::Wrong("no oldest height".to_owned()))?;
    if !(BASE..=top.height).contains(&oldest) {
        return Err(Found::Wrong(format!("oldest height {oldest} of a chain from {BASE} to {}", top.height)));
    }
    let mut random = Random(top.height ^ oldest);
    let retained = top.height - oldest + 1;
    let mut asked: Vec<_> = match heights >= retained {
        true => (oldest..=top.height).collect(),
        false => (0..heights).map(|_| oldest + random.below(retained)).collect(),
    };
    asked.extend([top.height, oldest]);
    for height in asked {
        let block = &chain[(height - BASE) as usize];
        block.world.check(&kv.at(height)?, height)?;
    }
    for height in [oldest.wrapping_sub(1), top.height + 1] {
        if kv.at(height).is_ok() {
            return Err(Found::Wrong(format!(
                "height {height} is answered, {oldest} to {} are there",
                top.height
            )));
        }
    }
    let index: BTreeMap<_, _> = kv.index_range(&[], &[0xff], usize::MAX)?.into_iter().collect();
    if index != top.world.index {
        return Err(Found::Wrong(format!("index of height {}", top.height)));
    }
    let view = kv.at(top.height)?;
    for key in (0..LEGACY_KEYS).map(legacy_key) {
        if view.legacy(&key)?.as_ref() != top.world.legacy.get(&key) {
            return Err(Found::Wrong(format!("legacy row of {} bytes", key.len())));
        }
    }
    if kv.has_trie() {
        prove(kv, top)?;
    }
    Ok(())
}

/// Every account and slot of the head out of the trie.
fn prove(kv: &Arc<FlatKv>, top: &Block) -> Result<(), Found> {
    let slots: Vec<_> = (0..SLOTS).map(slot).collect();
    for address in (0..ACCOUNTS).map(address) {
        let proof = kv.prove(top.height, &address, &slots)?;
        let there = top.world.accounts.get(&address);
        let value = |slot| there.and_then(|(_, storage)| storage.get(slot).copied()).unwrap_or_default();
        let same = proof.account == there.map(|(account, _)| *account)
            && proof.slots.iter().zip(&slots).all(|(proof, slot)| proof.value == value(slot));
        if !same {
            return Err(Found::Wrong(format!("proof of {address} at {}", top.height)));
        }
    }
    Ok(())
}

/// Opens a home whose steps may be any of these many, and compares all of it. The first
/// number is what was acknowledged.
pub fn judge(home: &Path, seed: u64, steps: RangeInclusive<u64>, said: &Said) -> Verdict {
    let tips = tips(seed, *steps.end());
    let mut verdict = Verdict { steps: *steps.start(), ..Verdict::default() };
    let setup = Story::new(seed).setup;
    let opened = FileTables::open(home)
        .map_err(|source| FlatKvError::Io { path: home.to_owned(), source })
        .and_then(|tables| FlatKv::open(setup.options(home), tables));
    let kv = match opened {
        Ok(kv) => kv,
        Err(error) => {
            verdict.out_of_order =
                matches!(&error, FlatKvError::WalDamaged { what, .. } if what.contains("sound records"));
            verdict.lost = Some(format!("refused to open: {error}"));
            return verdict;
        }
    };
    let head = kv.head().map(|head| head.hash);
    // The first one: steps that leave the head where it is are done again rather than taken for
    // done.
    let Some(found) = steps.clone().find(|after| tips[*after as usize] == head) else {
        let known = tips.iter().rposition(|tip| *tip == head);
        let what = format!("the head is that of step {known:?}, not of one of {steps:?}");
        match known {
            Some(_) => verdict.lost = Some(what),
            None => verdict.wrong = Some(what),
        }
        return verdict;
    };
    verdict.steps = found;
    let story = Story::after(seed, found);
    if let (CommitmentKind::Mpt, Some(head), Some(top)) = (setup.kind, kv.head(), story.chain.last())
        && head.commitment != top.world.root()
    {
        verdict.wrong = Some(format!("state root of height {}", head.height));
    }
    if let (Some(head), Some(commitment)) = (kv.head(), said.commitment(found))
        && head.commitment != commitment
    {
        verdict.wrong = Some(format!("commitment of height {} is another than before", head.height));
    }
    if let Err(what) = read_all(&kv, &story.chain, 3) {
        verdict.wrong = Some(what);
    }
    if let Err(what) = verify(&kv) {
        verdict.wrong = Some(what);
    }
    drop(kv);
    if let Err(what) = side(home, seed, *steps.end(), said.done.unwrap_or(0).max(*steps.start())) {
        verdict.lost = Some(what);
    }
    let rows = FileTables::blocks(home);
    let newest = story.chain.iter().rev().take(TABLE_BLOCKS);
    for block in newest.filter(|block| !rows.contains(&(block.height, block.hash))) {
        verdict.lost = Some(format!("row of height {} in the table", block.height));
    }
    verdict
}

/// Everything in the store against everything else in it.
pub fn verify(kv: &FlatKv) -> Result<(), String> {
    if kv.head().is_none() {
        return Ok(());
    }
    match kv.verify(&mut |_| true) {
        Ok(report) if report.is_sound() => Ok(()),
        Ok(report) => Err(format!("verify finds {:?}", report.findings)),
        Err(error) => Err(format!("verify: {error}")),
    }
}

/// Looks at the store of the newest transfer: there whole if it was acknowledged, and otherwise
/// whole or empty.
fn side(home: &Path, seed: u64, most: u64, done: u64) -> Result<(), String> {
    let story = Story::after(seed, most);
    let Some((n, block)) = story.side else { return Ok(()) };
    let dir = side_dir(home, n);
    if !dir.exists() && n >= done {
        return Ok(());
    }
    let say = |what: &dyn std::fmt::Display| Err(format!("transfer of step {n}: {what}"));
    let tables = FileTables::open(&dir).map_err(|error| error.to_string())?;
    let kv = match FlatKv::open(story.setup.options(&dir), tables) {
        Ok(kv) => kv,
        Err(error) => return say(&error),
    };
    let Some(head) = kv.head() else {
        return if n < done { say(&"it is empty") } else { Ok(()) };
    };
    if (head.height, head.hash) != (block.height, block.hash) {
        return say(&format!("it has the head {head:?}"));
    }
    let compared = catch_unwind(AssertUnwindSafe(|| match kv.at(head.height) {
        Ok(view) => block.world.check(&view, head.height).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }));
    match compared {
        Ok(Ok(())) => verify(&kv),
        Ok(Err(error)) => say(&error),
        Err(_) => say(&"another state"),
    }
}

/// The head after each number of steps.
fn tips(seed: u64, most: u64) -> Vec<Option<B256>> {
    let mut story = Story::new(seed);
    let mut tips = vec![None];
    while story.steps < most {
        story.go();
        tips.push(story.tip());
    }
    tips
}

/// Copies a folder.
pub fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Keeps the home of a failure in the folder that a variable names.
pub fn keep(home: &Path, name: &str) {
    if let Some(dir) = std::env::var_os("HEARTH_FAULT_KEEP") {
        let _ = copy_dir(home, &Path::new(&dir).join(name));
    }
}

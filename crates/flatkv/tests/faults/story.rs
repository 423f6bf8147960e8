//! What happens to a home, out of a seed: its settings, and one step after the other. The same in
//! child and parent.

use crate::model::{BASE, Block, Random};
use alloy_primitives::B256;
use hearth_flatkv::{CommitmentKind, Fsync, Options};
use hearth_primitives::Height;
use std::num::NonZeroU64;
use std::{path::Path, time::Duration};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A block in one commit; the first one makes the store.
    Commit,
    /// A block that is applied first and committed then.
    Apply,
    Unwind(Height),
    Flush,
    Snapshot,
    /// Operator rollback, with the store closed; `true`: through a snapshot where there is one.
    Rollback(Height, bool),
    /// The head as a stream, imported into a store of its own beside this one; the number of the
    /// step.
    Transfer(u64),
}

impl Step {
    /// What the child calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Apply => "apply",
            Self::Unwind(_) => "unwind",
            Self::Flush => "flush",
            Self::Snapshot => "snapshot",
            Self::Rollback(..) => "rollback",
            Self::Transfer(_) => "transfer",
        }
    }
}

/// How a home is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub kind: CommitmentKind,
    pub fsync: Fsync,
    pub history_blocks: u64,
    pub snapshot_interval_blocks: u64,
    /// Blocks to a flush, about.
    pub flush_every: u64,
}

impl Setup {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed ^ 0x5e70_0b5e);
        let kind = [CommitmentKind::Mpt, CommitmentKind::LtHash][random.below(2) as usize];
        let fsync = match random.below(4) {
            0 => Fsync::None,
            1 => Fsync::Interval(Duration::from_millis(3)),
            _ => Fsync::Block,
        };
        let history_blocks = [0, 12, 20][random.below(3) as usize];
        let snapshot_interval_blocks = [0, 24][random.below(2) as usize];
        Self { kind, fsync, history_blocks, snapshot_interval_blocks, flush_every: 10 + random.below(20) }
    }

    pub fn options(&self, home: &Path) -> Options {
        let mut options = Options::new(home.join("state"), home.join("wal"), self.kind, self.fsync);
        options.settings.memory_budget_bytes = 64 << 20;
        options.segment_bytes = 3 << 10;
        options.settings.state_history_blocks = NonZeroU64::new(self.history_blocks);
        options.settings.snapshot_interval_blocks = NonZeroU64::new(self.snapshot_interval_blocks);
        options.settings.enable_kvdb_metrics = false;
        options
    }
}

/// A chain and how it came about.
pub struct Story {
    pub seed: u64,
    pub setup: Setup,
    pub chain: Vec<Block>,
    /// The newest block in the parts in which it is applied, where it is.
    pub parts: Vec<Block>,
    /// The newest transfer: the number of its step, and the block.
    pub side: Option<(u64, Block)>,
    pub steps: u64,
    /// Oldest height that the store may have left; it may have older ones still.
    pub oldest: Height,
}

impl Story {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            setup: Setup::new(seed),
            chain: Vec::new(),
            parts: Vec::new(),
            side: None,
            steps: 0,
            oldest: BASE,
        }
    }

    /// The story after so many steps.
    pub fn after(seed: u64, steps: u64) -> Self {
        let mut story = Self::new(seed);
        while story.steps < steps {
            story.go();
        }
        story
    }

    /// Hash of the head.
    pub fn tip(&self) -> Option<B256> {
        self.chain.last().map(|top| top.hash)
    }

    fn random(&self) -> Random {
        Random(self.seed.wrapping_mul(0x9e37_79b9).wrapping_add(self.steps << 32))
    }

    /// What the next step is.
    pub fn next(&self) -> Step {
        let mut random = self.random();
        let Some(top) = self.chain.last() else { return Step::Commit };
        let lowest = self.oldest.max(top.height.saturating_sub(1 + random.below(3)));
        match random.below(1000) {
            _ if self.chain.len() < 4 => Step::Commit,
            0..150 if lowest < top.height => Step::Unwind(lowest),
            150..153 if lowest < top.height => Step::Rollback(lowest, random.below(3) > 0),
            153..156 => Step::Transfer(self.steps),
            156..166 => Step::Snapshot,
            200..350 => Step::Apply,
            draw if draw % self.setup.flush_every == 0 => Step::Flush,
            _ => Step::Commit,
        }
    }

    /// Takes the next step.
    pub fn go(&mut self) -> Step {
        let step = self.next();
        let seed = self.random().next();
        match step {
            Step::Commit | Step::Apply => {
                let top = self.chain.last();
                self.parts = if step == Step::Apply { Block::parts(top, &[seed, !seed]) } else { Vec::new() };
                let whole = || top.map_or_else(|| Block::base(seed), |top| top.next(seed));
                let block = self.parts.last().cloned().unwrap_or_else(whole);
                if self.setup.history_blocks > 0 {
                    self.oldest = self.oldest.max(block.height.saturating_sub(self.setup.history_blocks));
                }
                self.chain.push(block);
            }
            Step::Unwind(to) | Step::Rollback(to, _) => self.chain.truncate((to - BASE + 1) as usize),
            Step::Transfer(_) => self.side = self.chain.last().map(|top| (self.steps, top.clone())),
            Step::Flush | Step::Snapshot => {}
        }
        self.steps += 1;
        step
    }
}

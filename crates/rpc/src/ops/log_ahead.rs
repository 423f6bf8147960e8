//! Reads the blocks of a log search ahead, several at a time: a slow disk answers many requests as
//! fast as one.

use super::logs::may_match;
use crate::LogFilter;
use alloy_primitives::B256;
use hearth_home::{Home, NodeError};
use hearth_ledger::{FoundLogs, LedgerError, StoredBlock};
use hearth_primitives::Height;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::VecDeque;
use std::sync::OnceLock;

/// Threads that read, for all searches together.
const THREADS: usize = 8;
/// Most blocks that are read ahead of a search. It begins with one, for most searches look at few.
const BLOCKS_AHEAD: usize = 32;

/// A block that may hold logs, with those that the filter wants.
pub(crate) struct Candidate {
    pub hash: B256,
    pub height: Height,
    pub found: FoundLogs,
}

/// Candidates of heights, in their order; none where no block is canonical there.
pub(crate) struct Ahead<'a, I> {
    home: &'a Home,
    filter: &'a LogFilter,
    heights: I,
    at_once: usize,
    ready: VecDeque<(Height, Result<Option<Candidate>, NodeError>)>,
}

impl<'a, I: Iterator<Item = Result<Height, LedgerError>>> Ahead<'a, I> {
    pub fn new(home: &'a Home, filter: &'a LogFilter, heights: I) -> Self {
        Self { home, filter, heights, at_once: 1, ready: VecDeque::new() }
    }

    /// The next height with its candidate.
    pub fn next(&mut self) -> Result<Option<(Height, Option<Candidate>)>, NodeError> {
        if self.ready.is_empty() {
            let heights: Vec<Height> = self.heights.by_ref().take(self.at_once).collect::<Result<_, _>>()?;
            self.at_once = (2 * self.at_once).min(BLOCKS_AHEAD);
            let (home, filter) = (self.home, self.filter);
            let read = |height: Height| (height, at(home, filter, height));
            match pool().filter(|_| heights.len() > 1) {
                Some(pool) => {
                    let all: Vec<_> = pool.install(|| heights.into_par_iter().map(read).collect());
                    self.ready.extend(all);
                }
                None => self.ready.extend(heights.into_iter().map(read)),
            }
        }
        let Some((height, candidate)) = self.ready.pop_front() else { return Ok(None) };
        candidate.map(|candidate| Some((height, candidate)))
    }
}

/// What is canonical at a height.
fn at(home: &Home, filter: &LogFilter, height: Height) -> Result<Option<Candidate>, NodeError> {
    let reader = home.chain().reader();
    let (blocks, receipts) = reader.floors();
    if height >= blocks.max(receipts) {
        let Some(hash) = reader.canonical_hash(height)? else { return Ok(None) };
        // Missing or damaged records are reported below.
        if let Ok(Some(found)) = reader.found_logs(&hash, |address, topics| filter.wants(address, topics)) {
            return Ok(Some(Candidate { hash, height, found }));
        }
    }
    let Some(block) = home.canonical(height)? else { return Ok(None) };
    read(home, filter, &block).map(Some)
}

/// The logs of a block. Its receipts are read unless its bloom excludes every match.
pub(super) fn read(home: &Home, filter: &LogFilter, block: &StoredBlock) -> Result<Candidate, NodeError> {
    let found = match may_match(&block.block.header.logs_bloom, filter) {
        false => FoundLogs::default(),
        true => {
            FoundLogs::of(block, &*home.receipts_of(block)?, |address, topics| filter.wants(address, topics))
        }
    };
    Ok(Candidate { hash: block.hash, height: block.number(), found })
}

/// The threads; `None` if the system provides none: then each block is read in its turn.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let build = || {
        let named = ThreadPoolBuilder::new().thread_name(|index| format!("hearth-logs-{index}"));
        named.num_threads(THREADS).build().ok()
    };
    POOL.get_or_init(build).as_ref()
}

//! Reads a range of canonical blocks in batches.
//!
//! ```text
//! batch = next u64 | last hash | groups u32 | group*
//! ```
//! `next` is the height at which the next batch begins, `last` the hash of the block before it,
//! which the next batch expects there.

use super::packed::Packed;
use alloy_primitives::B256;
use hearth_home::{Home, NodeError};
use hearth_ledger::StoredBlock;
use hearth_primitives::Height;
use serde::Deserialize;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// Bytes after which a batch ends.
const BATCH_BYTES: usize = 1 << 20;
/// Time after which a batch ends, so that a cancelled read stops soon.
const BATCH_TIME: Duration = Duration::from_millis(250);
/// Bytes of `next`, `last` and `groups`.
const HEAD_BYTES: usize = 8 + 32 + 4;

/// Canonical blocks, both ends inclusive.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Range {
    /// First height.
    pub from: Height,
    /// Last height.
    pub to: Height,
    /// Hash of the block below the first, if it was read before: it is an error if that block has
    /// changed.
    #[serde(default)]
    pub after: Option<B256>,
}

impl Range {
    /// Refuses a range whose beginning does not follow what was read before.
    pub(super) fn check(&self, home: &Home) -> Result<(), NodeError> {
        let first = home.first_block();
        if self.from < first {
            return Err(NodeError::BeforeFirstBlock { height: self.from, first });
        }
        let Some(after) = self.after else { return Ok(()) };
        let Some(height) = self.from.checked_sub(1) else { return Ok(()) };
        if home.chain().reader().canonical_hash(height)? == Some(after) {
            return Ok(());
        }
        Err(NodeError::Reorganised { height })
    }

    /// The last height that there is of the range; none where the chain ends below it.
    pub(super) fn last(&self, home: &Home) -> Option<Height> {
        let last = self.to.min(home.chain().head().height);
        (last >= self.from).then_some(last)
    }
}

/// A batch that is being put together.
pub(super) struct Batch {
    pub packed: Packed,
    groups: usize,
    began: Instant,
    unwinds: u64,
}

impl Batch {
    pub fn new(home: &Home) -> Self {
        let mut packed = Packed::with_capacity(BATCH_BYTES / 4);
        packed.raw(&[0; HEAD_BYTES]);
        Self { packed, groups: 0, began: Instant::now(), unwinds: home.chain().reader().unwinds() }
    }

    /// Another group was written.
    pub fn grew(&mut self) {
        self.groups += 1;
    }

    /// Whether it has as much as one batch should.
    pub fn is_full(&self) -> bool {
        self.packed.len() >= BATCH_BYTES || self.began.elapsed() >= BATCH_TIME
    }

    /// The bytes of a batch of everything below `next`; `after` is the hash before the range if the
    /// batch covers nothing.
    pub fn finish(self, home: &Home, range: &Range, next: Height) -> Result<Vec<u8>, NodeError> {
        let Self { packed, groups, unwinds, .. } = self;
        if home.chain().reader().unwinds() != unwinds {
            // Blocks of two branches may have come together.
            return Err(NodeError::Reorganised { height: range.from });
        }
        let last = match (next > range.from, next.checked_sub(1)) {
            (true, Some(height)) => home.chain().reader().canonical_hash(height)?.unwrap_or_default(),
            _ => range.after.unwrap_or_default(),
        };
        let mut head = Packed::with_capacity(HEAD_BYTES);
        head.u64(next).hash(&last).u32(groups);
        let mut bytes = packed.into_bytes();
        bytes[..HEAD_BYTES].copy_from_slice(&head.into_bytes());
        Ok(bytes)
    }
}

/// A batch of whole blocks: each is written by `write`.
pub(super) fn whole_blocks(
    home: &Home,
    range: &Range,
    mut write: impl FnMut(&mut Packed, &Arc<StoredBlock>) -> Result<(), NodeError>,
) -> Result<Vec<u8>, NodeError> {
    range.check(home)?;
    let mut batch = Batch::new(home);
    let mut next = range.from;
    if let Some(last) = range.last(home) {
        while next <= last && !batch.is_full() {
            stopped(home)?;
            let Some(block) = home.canonical(next)? else { break };
            write(&mut batch.packed, &block)?;
            batch.grew();
            next += 1;
        }
    }
    batch.finish(home, range, next)
}

/// Refuses to continue once the node closes.
pub(super) fn stopped(home: &Home) -> Result<(), NodeError> {
    if home.stopping().load(Ordering::Relaxed) { Err(NodeError::Closed) } else { Ok(()) }
}

//! Operator rollback of a home.

use super::{described, state_options};
use crate::{Chain, ChainError, ChainOptions};
use alloy_primitives::B256;
use hearth_flatkv::{Head, JoinedTables};
use hearth_ledger::Ledger;
use hearth_primitives::Height;
use std::path::Path;
use std::sync::Arc;

/// What a rollback does, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolledBack {
    /// The head before.
    pub from: Head,
    /// Hash of the canonical block at the requested height.
    pub to: B256,
}

/// Reports the effect of a roll-back to a height, with every check, without a change of the chain.
///
/// # Errors
/// [`ChainError::CannotReach`] and [`hearth_flatkv::FlatKvError::Unreachable`]; those of
/// [`Chain::open`].
pub fn plan_roll_back(
    home: &Path,
    options: &ChainOptions,
    to: Height,
    from_snapshot: bool,
) -> Result<RolledBack, ChainError> {
    let (paths, file) = described(home)?;
    let kv = state_options(&paths, &file, options);
    // Opening moves to the chosen head and forgets the working head, so that nothing leads back
    // afterwards.
    let chain = Chain::open(home, options)?;
    chain.kv.rollback_source(&kv, to, from_snapshot)?;
    let asked = chain.ledger_reaches(to);
    let from = chain.head();
    chain.close()?;
    Ok(RolledBack { from, to: asked? })
}

/// Rolls a home back to a height; returns what it did and the head. Every store is checked first
/// for whether it can reach the height. Blocks above it stay in the ledger and are executed again
/// if they are imported again; `from_snapshot` restores the state from a snapshot even if history
/// would suffice.
///
/// # Errors
/// [`ChainError::CannotReach`] and [`hearth_flatkv::FlatKvError::Unreachable`] before anything has
/// changed; those of [`Chain::open`].
pub fn roll_back(
    home: &Path,
    options: &ChainOptions,
    to: Height,
    from_snapshot: bool,
) -> Result<(RolledBack, Head), ChainError> {
    let done = plan_roll_back(home, options, to, from_snapshot)?;
    let (paths, file) = described(home)?;
    let kv = state_options(&paths, &file, options);
    let tables: Arc<dyn JoinedTables> = Ledger::open(&paths.ledger(), &options.ledger, &options.metrics)?;
    Ok((done, hearth_flatkv::roll_back(&kv, &tables, to, from_snapshot)?))
}

impl Chain {
    /// The block at a height, where the ledger has what a head there needs.
    fn ledger_reaches(&self, to: Height) -> Result<B256, ChainError> {
        let cannot = |why: &str| ChainError::CannotReach { to, store: "ledger", why: why.to_owned() };
        if to == self.base() && to > 0 {
            return Ok(self.base_hash());
        }
        let block =
            self.ledger.canonical_block(to)?.ok_or_else(|| cannot("it has no block of that height"))?;
        match self.ledger.receipts(&block.hash)? {
            Some(_) => Ok(block.hash),
            None => Err(cannot("it has no receipts of that height")),
        }
    }
}

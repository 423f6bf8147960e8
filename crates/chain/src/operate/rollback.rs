//! Operator rollback of a home.

use super::{described, state_options};
use crate::{Chain, ChainError, ChainOptions};
use hearth_flatkv::{Head, JoinedTables};
use hearth_ledger::Ledger;
use hearth_primitives::Height;
use std::path::Path;
use std::sync::Arc;

/// Takes a home back to a height. Every store is asked first whether it can reach it. Blocks above stay in the ledger and
/// are executed again when they come again; `anew` makes the state from a snapshot even where history would do.
///
/// # Errors
/// [`ChainError::CannotReach`] and [`hearth_flatkv::FlatKvError::Unreachable`] before anything is changed; as [`Chain::open`].
pub fn roll_back(home: &Path, options: &ChainOptions, to: Height, anew: bool) -> Result<Head, ChainError> {
    let (paths, file) = described(home)?;
    let kv = state_options(&paths, &file, options);
    // Opening moves to the chosen head and forgets what was worked on, so that nothing leads back afterwards.
    let chain = Chain::open(home, options)?;
    chain.kv.reach(&kv, to, anew)?;
    let asked = chain.ledger_reaches(to);
    chain.close()?;
    drop(chain);
    asked?;
    let tables: Arc<dyn JoinedTables> = Ledger::open(&paths.ledger(), &options.ledger, &options.metrics)?;
    Ok(hearth_flatkv::roll_back(&kv, &tables, to, anew)?)
}

impl Chain {
    /// Whether the ledger has what a head at a height needs: its block, from which the chain goes on.
    fn ledger_reaches(&self, to: Height) -> Result<(), ChainError> {
        let cannot = |why: &str| ChainError::CannotReach { to, store: "ledger", why: why.to_owned() };
        if to == self.base() && to > 0 {
            return Ok(());
        }
        let block =
            self.ledger.canonical_block(to)?.ok_or_else(|| cannot("it has no block of that height"))?;
        match self.ledger.receipts(&block.hash)? {
            Some(_) => Ok(()),
            None => Err(cannot("it has no receipts of that height")),
        }
    }
}

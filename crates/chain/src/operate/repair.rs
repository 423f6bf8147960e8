//! Repair of a home's state and of its trace capsules.

use super::{CapsuleRepair, described, execute::Again, state_options};
use crate::{Chain, ChainError, ChainOptions};
use hearth_flatkv::{Executor, JoinedTables, Repair, RepairReport, Watch};
use hearth_ledger::Ledger;
use std::path::Path;
use std::sync::Arc;

/// What a repair of a home found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Of state and log.
    pub state: RepairReport,
    /// Of trace capsules.
    pub capsules: CapsuleRepair,
}

/// Looks for damage in a home's state and log and mends it, see [`Repair`]; then makes the trace capsules again that are
/// missing or do not read. No node may have the home open.
///
/// # Errors
/// The store's: [`hearth_flatkv::FlatKvError::WouldLose`] before anything is given up.
pub fn repair(
    home: &Path,
    options: &ChainOptions,
    accept_loss: bool,
    watch: Watch<'_>,
) -> Result<Repaired, ChainError> {
    let state = repair_state(home, options, accept_loss, watch)?;
    if state.head.is_none() {
        return Ok(Repaired { state, capsules: CapsuleRepair::default() });
    }
    let chain = Chain::open(home, options)?;
    let capsules = chain.make_capsules(watch);
    chain.close()?;
    Ok(Repaired { state, capsules: capsules? })
}

fn repair_state(
    home: &Path,
    options: &ChainOptions,
    accept_loss: bool,
    watch: Watch<'_>,
) -> Result<RepairReport, ChainError> {
    let (paths, file) = described(home)?;
    let kv = state_options(&paths, &file, options);
    let tables = Ledger::open(&paths.ledger(), &options.ledger, &options.metrics)?;
    let joined: Arc<dyn JoinedTables> = tables.clone();
    let mut again = Again { paths, file, tables };
    let executor = again.is_possible().then_some(&mut again as &mut dyn Executor);
    Ok(Repair { options: &kv, tables: &joined, accept_loss, executor }.run(watch)?)
}

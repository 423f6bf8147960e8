//! Repair of a home's state.

use super::{described, execute::Again, state_options};
use crate::{ChainError, ChainOptions};
use hearth_flatkv::{Executor, JoinedTables, Repair, RepairReport, Watch};
use hearth_ledger::Ledger;
use std::path::Path;
use std::sync::Arc;

/// Looks for damage in a home's state and log and mends it; see [`Repair`]. No node may have the home open.
///
/// # Errors
/// The store's: [`hearth_flatkv::FlatKvError::WouldLose`] before anything is given up.
pub fn repair(
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

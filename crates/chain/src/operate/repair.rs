//! Repair of a home: its state, the records of its ledger, its trace capsules.

use super::{CapsuleRepair, LedgerRepair, described, execute::LedgerReplay, state_options};
use crate::{Chain, ChainError, ChainOptions};
use hearth_flatkv::{Executor, JoinedTables, ProgressFn, Repair, RepairReport};
use hearth_ledger::Ledger;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a repair of a home found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Of state and log.
    pub state: RepairReport,
    /// Of blocks and receipts.
    pub ledger: LedgerRepair,
    /// Of trace capsules.
    pub capsules: CapsuleRepair,
}

/// Finds and repairs damage in a home's state and log, see [`Repair`]; then writes damaged records
/// of the ledger again, blocks from the files `from`; then rebuilds missing or damaged trace
/// capsules. No node may have the home open.
///
/// # Errors
/// Those of the store: [`hearth_flatkv::FlatKvError::WouldLose`] before any data is given up.
pub fn repair(
    home: &Path,
    options: &ChainOptions,
    accept_loss: bool,
    from: &[PathBuf],
    watch: ProgressFn<'_>,
) -> Result<Repaired, ChainError> {
    let state = repair_state(home, options, accept_loss, watch)?;
    if state.head.is_none() {
        return Ok(Repaired { state, ledger: LedgerRepair::default(), capsules: CapsuleRepair::default() });
    }
    let chain = Chain::open(home, options)?;
    let rest = chain.repair_ledger(from, watch).and_then(|ledger| Ok((ledger, chain.make_capsules(watch)?)));
    chain.close()?;
    let (ledger, capsules) = rest?;
    Ok(Repaired { state, ledger, capsules })
}

/// Writes damaged records of the ledger again, blocks from the files `from`, with the trace
/// capsules of their blocks. No node may have the home open.
///
/// # Errors
/// Those of [`Chain::open`] and [`Chain::repair_ledger`].
pub fn restore_blocks(
    home: &Path,
    options: &ChainOptions,
    from: &[PathBuf],
    watch: ProgressFn<'_>,
) -> Result<LedgerRepair, ChainError> {
    let chain = Chain::open(home, options)?;
    let done = chain.repair_ledger(from, watch).and_then(|ledger| {
        chain.make_capsules(watch)?;
        Ok(ledger)
    });
    chain.close()?;
    done
}

fn repair_state(
    home: &Path,
    options: &ChainOptions,
    accept_loss: bool,
    watch: ProgressFn<'_>,
) -> Result<RepairReport, ChainError> {
    let (paths, file) = described(home)?;
    let kv = state_options(&paths, &file, options);
    let tables = Ledger::open(&paths.ledger(), &options.ledger, &options.metrics)?;
    let joined: Arc<dyn JoinedTables> = tables.clone();
    let mut again = LedgerReplay { paths, file, tables };
    let executor = again.is_possible().then_some(&mut again as &mut dyn Executor);
    Ok(Repair { options: &kv, tables: &joined, accept_loss, executor }.run(watch)?)
}

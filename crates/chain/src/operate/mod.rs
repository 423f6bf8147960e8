//! Operations on a home: verify, repair, roll back, take snapshots, transfer a height, back up.

mod backup;
mod capsules;
mod execute;
mod index;
mod ledger_repair;
mod reading;
mod repair;
mod replace;
mod rollback;
mod transfer;

pub use backup::{BackupOptions, BackupProgress, BackupReport, back_up};
pub use capsules::CapsuleRepair;
pub use index::{LedgerFinding, LedgerReport};
pub use ledger_repair::{BlockRecord, LedgerRepair};
pub use reading::Reading;
pub use repair::{Repaired, repair, restore_blocks};
pub use replace::{StorePosition, finish_replacing, replace_state, store_position};
pub use rollback::{RolledBack, plan_roll_back, roll_back};
pub use transfer::{export_state, import_state};

use crate::follow::Elsewhere;
use crate::home::ChainFile;
use crate::{ChainError, ChainOptions, HomePaths};
use hearth_flatkv::{Options, Snapshot, list_snapshots};
use std::path::Path;
use std::sync::Arc;

/// Options of the state store of a home.
pub(crate) fn state_options(paths: &HomePaths, file: &ChainFile, options: &ChainOptions) -> Options {
    let mut kv = Options::new(paths.state(), paths.wal(), file.commitment.into(), options.fsync);
    kv.settings = options.state.clone();
    kv.origin = options.origin.clone();
    if kv.origin.is_some() {
        kv.settings.state_history_blocks = None;
    }
    if file.is_follower() {
        kv.origin = Some(Arc::new(Elsewhere));
    }
    kv.metrics = options.metrics.clone();
    kv
}

/// The description of a home that has a chain.
pub(crate) fn described(home: &Path) -> Result<(HomePaths, ChainFile), ChainError> {
    let paths = HomePaths::new(home);
    let none = || match paths.has_data() {
        true => ChainError::DescriptionMissing { path: paths.chain(), home: home.to_owned() },
        false => ChainError::NotInitialised { home: home.to_owned() },
    };
    let file = ChainFile::read(&paths)?.ok_or_else(none)?;
    Ok((paths, file))
}

/// The snapshots of a home's state, oldest first, whether a node has it open or not.
///
/// # Errors
/// [`ChainError::NotInitialised`]; the store's.
pub fn snapshots(home: &Path, options: &ChainOptions) -> Result<Vec<Snapshot>, ChainError> {
    let (paths, file) = described(home)?;
    Ok(list_snapshots(&state_options(&paths, &file, options))?)
}

//! Replaces the stores of a home by those of a height that was imported next to them; used by state
//! sync.

use super::{described, import_state};
use crate::home::{HomePaths, sync_dir, write_whole};
use crate::{BlockNumHash, Chain, ChainError, ChainOptions};
use hearth_flatkv::WatchTransfer;
use hearth_primitives::Height;
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Folder of the imported stores within the data directory until they replace its stores.
const INCOMING: &str = "data/incoming";

/// Marker file that is written when the import is complete. Once it exists, a restart finishes the
/// replacement.
const READY: &str = "ready";

/// Head and oldest state of a data directory that is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorePosition {
    /// Its head.
    pub head: BlockNumHash,
    /// Its base block: the head where no block was executed since the home was made.
    pub base: BlockNumHash,
    /// The first block that CometBFT decides on; `None` where it decides on none.
    pub bft_start: Option<Height>,
}

/// Opens a home to see where it is.
///
/// # Errors
/// As [`Chain::open`].
pub fn store_position(home: &Path, options: &ChainOptions) -> Result<StorePosition, ChainError> {
    let chain = Chain::open(home, options)?;
    let (head, base, bft_start) = (chain.head(), (chain.base(), chain.base_hash()), chain.spec().bft_start());
    chain.close()?;
    Ok(StorePosition { head: (head.height, head.hash), base, bft_start })
}

/// Reads a stream (see [`super::export_state`]) into a home that has no blocks so far, replacing
/// its stores. The stream must be of the block `expected`, and of this home's chain. An invalid
/// stream leaves the home unchanged.
///
/// # Errors
/// Those of [`import_state`]; [`ChainError::BadStream`] if the stream is of another block or chain.
pub fn replace_state(
    home: &Path,
    options: &ChainOptions,
    expected: BlockNumHash,
    input: &mut dyn Read,
    watch: WatchTransfer<'_>,
) -> Result<(), ChainError> {
    let (_, file) = described(home)?;
    let incoming = home.join(INCOMING);
    remove_dir(&incoming)?;
    let imported = import_state(&incoming, options, input, watch)?;
    let bad = |why: String| Err(ChainError::BadStream { why });
    let found = (imported.head.height, imported.head.hash);
    if found != expected {
        return bad(format!(
            "it is of block {} ({}), not of {} ({})",
            found.0, found.1, expected.0, expected.1
        ));
    }
    let (paths, given) = described(&incoming)?;
    if (given.chain_id, given.rules, given.commitment) != (file.chain_id, file.rules, file.commitment) {
        return bad("it is of another chain".to_owned());
    }
    // The rules stay those of this home: its own genesis file is not replaced.
    if let Some(genesis) = fs::read_to_string(paths.genesis()).ok().filter(|_| file.base == 0)
        && crate::genesis_hash(&genesis)? != file.base_hash
    {
        return bad("its genesis is another".to_owned());
    }
    write_whole(&incoming.join(READY), b"")?;
    finish_replacing(home)
}

/// Completes a replacement during which the process died; no effect if there was none. To be called
/// before the home is opened.
///
/// # Errors
/// [`ChainError::Io`].
pub fn finish_replacing(home: &Path) -> Result<(), ChainError> {
    let incoming = home.join(INCOMING);
    if !incoming.join(READY).exists() {
        return remove_dir(&incoming);
    }
    let (from, to) = (HomePaths::new(&incoming), HomePaths::new(home));
    for (from, to) in [(from.state(), to.state()), (from.wal(), to.wal()), (from.ledger(), to.ledger())] {
        if from.exists() {
            remove_dir(&to)?;
            fs::rename(&from, &to).map_err(ChainError::io(&to))?;
        }
    }
    sync_dir(&home.join("data"))?;
    if from.chain().exists() {
        fs::rename(from.chain(), to.chain()).map_err(ChainError::io(&to.chain()))?;
        sync_dir(&to.config())?;
    }
    remove_dir(&incoming)
}

fn remove_dir(path: &PathBuf) -> Result<(), ChainError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ChainError::io(path)(error)),
        _ => Ok(()),
    }
}

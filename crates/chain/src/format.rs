//! The format of a home: one number in `data/FORMAT`, for all of its stores together.
//!
//! | format | what is new |
//! |---|---|
//! | 1 | no such file; only `config/chain.json` |
//! | 2 | rows of native modules and the oldest height in the state store's log; heights up to which history was pruned |
//! | 3 | a table of trace capsules, whose end is in the state store's log next to those of blocks and receipts |
//!
//! Opening a home of an older format upgrades it to the newest: the stores read the existing data,
//! and write the new.

use crate::home::{HomePaths, write_lasting};
use crate::{ChainError, HOME_FORMAT};
use hearth_flatkv::Fsync;
use std::path::Path;

/// Oldest format that this version opens.
pub(crate) const OLDEST_FORMAT: u32 = 1;
/// Format of a home that has a description and no FORMAT file.
const BEFORE_THE_FILE: u32 = 1;
/// Most bytes of a FORMAT file.
const MAX_FORMAT_BYTES: usize = 16;

/// The format of a home; `None` where there is no home.
///
/// # Errors
/// [`ChainError::BadHome`] where the file does not read.
pub fn home_format(home: &Path) -> Result<Option<u32>, ChainError> {
    let paths = HomePaths::new(home);
    let path = paths.format();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(paths.chain().exists().then_some(BEFORE_THE_FILE));
        }
        Err(error) => return Err(ChainError::io(&path)(error)),
    };
    let number = std::str::from_utf8(&bytes).ok().filter(|_| bytes.len() <= MAX_FORMAT_BYTES);
    let number = number.and_then(|text| text.trim_end().parse().ok()).filter(|number| *number > 0);
    let bad =
        || ChainError::BadHome { path, why: "it should hold the format of the home, one number".into() };
    number.map(Some).ok_or_else(bad)
}

/// Refuses a home whose format this version cannot open.
pub(crate) fn check(paths: &HomePaths) -> Result<(), ChainError> {
    let Some(found) = home_format(&paths.home)? else { return Ok(()) };
    let path = paths.format();
    if found > HOME_FORMAT {
        return Err(ChainError::NewerFormat { path, found, known: HOME_FORMAT });
    }
    if found < OLDEST_FORMAT {
        return Err(ChainError::OlderFormat { home: paths.home.clone(), found, oldest: OLDEST_FORMAT });
    }
    Ok(())
}

/// Notes that the home is of this version's format, once its stores are.
pub(crate) fn note(paths: &HomePaths, fsync: Fsync) -> Result<(), ChainError> {
    if paths.format().exists() && home_format(&paths.home)? == Some(HOME_FORMAT) {
        return Ok(());
    }
    write_lasting(&paths.format(), format!("{HOME_FORMAT}\n").as_bytes(), fsync)
}

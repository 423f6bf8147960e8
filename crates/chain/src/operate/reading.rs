//! A home for reading: all of it where no node runs, its newest snapshot beside a node that does.

use super::described;
use crate::home::{ChainFile, HomePaths};
use crate::{Chain, ChainError, ChainOptions};
use hearth_flatkv::FlatKv;
use hearth_ledger::Ledger;
use hearth_primitives::Height;
use std::path::Path;
use std::sync::Arc;

/// A home that is read.
pub struct Reading {
    pub(crate) paths: HomePaths,
    pub(crate) file: ChainFile,
    kv: Arc<FlatKv>,
    ledger: Arc<Ledger>,
    /// The chain, where no node runs.
    chain: Option<Chain>,
}

impl Reading {
    /// Opens a home for reading. While a node is running: the newest snapshot that has `height`, or
    /// the newest of all, with the current ledger.
    ///
    /// # Errors
    /// Those of [`Chain::open`]; [`hearth_flatkv::FlatKvError::NoSnapshot`] while a node is
    /// running.
    pub fn open(home: &Path, options: &ChainOptions, height: Option<Height>) -> Result<Self, ChainError> {
        let (paths, file) = described(home)?;
        match Chain::open(home, options) {
            Ok(chain) => {
                let (kv, ledger) = (chain.kv.clone(), chain.ledger.clone());
                Ok(Self { paths, file, kv, ledger, chain: Some(chain) })
            }
            Err(error) if error.home_in_use().is_some() => {
                let Chain { kv, ledger, .. } = Chain::beside(home, options, height)?;
                Ok(Self { paths, file, kv, ledger, chain: None })
            }
            Err(other) => Err(other),
        }
    }

    /// The state.
    pub fn kv(&self) -> &Arc<FlatKv> {
        &self.kv
    }

    /// The ledger.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Height of the snapshot that is read because a node has the home open; `None` if the home
    /// itself is read.
    pub fn snapshot(&self) -> Option<Height> {
        match self.chain {
            Some(_) => None,
            None => self.kv.head().map(|head| head.height),
        }
    }

    /// Height of the oldest state.
    pub fn base(&self) -> Height {
        self.file.base
    }

    /// Lets the home go.
    ///
    /// # Errors
    /// The stores'.
    pub fn close(self) -> Result<(), ChainError> {
        match self.chain {
            Some(chain) => chain.close(),
            None => Ok(()),
        }
    }
}

//! The traits through which execution reads state, so that stores, capsules and recorded cases are
//! interchangeable.

use crate::{Account, Changeset, Failure, Height};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::{error::Error, sync::Arc};

/// A read of state that could not be answered. Absence is never an error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StateError {
    /// The height lies below the oldest that history reaches, or above the head.
    #[error("state at height {height} is not available: this node has heights {oldest} to {newest}")]
    NotRetained {
        /// The requested height.
        height: Height,
        /// Oldest height with state.
        oldest: Height,
        /// Newest height with state.
        newest: Height,
    },
    /// The block whose state was read was unwound meanwhile.
    #[error("block {height} was unwound while its state was read")]
    Unwound {
        /// Height of the view.
        height: Height,
    },
    /// An account names code that the store does not hold.
    #[error("code {0} is missing from the store")]
    MissingCode(B256),
    /// A trie node that is needed to compute a root is not there.
    #[error("trie node {hash} is missing")]
    MissingNode {
        /// Hash of the node.
        hash: B256,
    },
    /// The chain has no state trie.
    #[error("there is no state trie: {why}")]
    NoTrie {
        /// Why there is none.
        why: &'static str,
    },
    /// The trie at a height would take too much memory: too much has changed since.
    #[error(
        "the state trie of block {height} cannot be made: more than {limit} accounts and slots have changed since"
    )]
    TooFarBack {
        /// The requested height.
        height: Height,
        /// Most accounts and slots that are taken back.
        limit: usize,
    },
    /// Something that the block's capsule does not have, and that no other state here has either.
    #[error(
        "the capsule of block {height} does not have {what}, and the state before that block is not available: {source}"
    )]
    OutsideCapsule {
        /// Height of the block.
        height: Height,
        /// The requested item.
        what: &'static str,
        /// Why there is no such state.
        source: Box<Failure>,
    },
    /// The remote node of a fork did not answer a read.
    #[error("the origin of the fork: {0}")]
    Origin(String),
    /// The node follows another one and keeps no state.
    #[error("{0}")]
    NotHere(#[source] Elsewhere),
    /// A row of the store does not decode, or contradicts another one.
    #[error("{}{}", damaged_row(what), REPAIR)]
    Damaged {
        /// Kind of the row.
        what: &'static str,
    },
    /// The database below the store failed.
    #[error("state store: {source}")]
    Database {
        /// Whether the database found damaged files (RocksDB's `Status::Corruption`), as opposed to
        /// a failed read or write.
        damaged: bool,
        /// The database's error.
        source: SharedError,
    },
    /// Something else that the store needs failed: a thread, another store.
    #[error("state store: {what}: {source}")]
    Failed {
        /// Short description of the failure.
        what: String,
        /// Its error.
        source: SharedError,
    },
    /// The store refuses the request, with the reason as a sentence.
    #[error("state store: {0}")]
    Store(String),
}

/// Why a state is not here. An error that has this as its source is no failure: the node that is
/// followed has the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("not kept here: this node follows another one, which has it")]
pub struct Elsewhere;

/// Whether an error, or what it comes from, is that a state is not here.
pub fn is_elsewhere(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        if error.is::<Elsewhere>() {
            return true;
        }
        at = error.source();
    }
    false
}

/// An error that several holders of a failed store share.
pub type SharedError = Arc<dyn Error + Send + Sync>;

/// What the message of a damaged store ends with: what to do.
pub const REPAIR: &str = "; run `hearth db repair`";

fn damaged_row(what: &str) -> String {
    format!("state store: damaged {what} row")
}

impl StateError {
    /// The message without [`REPAIR`], for a caller that names the command with its arguments.
    pub fn finding(&self) -> String {
        match self {
            Self::Damaged { what } => damaged_row(what),
            other => other.to_string(),
        }
    }

    /// Whether something in the store is damaged, so that a repair may help.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::MissingCode(_) | Self::MissingNode { .. } => true,
            Self::Database { damaged, .. } => *damaged,
            Self::NotRetained { .. }
            | Self::Unwound { .. }
            | Self::NoTrie { .. }
            | Self::TooFarBack { .. }
            | Self::OutsideCapsule { .. }
            | Self::Origin(_)
            | Self::NotHere(_)
            | Self::Failed { .. }
            | Self::Store(_) => false,
        }
    }

    /// Whether the message has words of a store, which may name files of this machine.
    pub fn is_private(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Database { .. } | Self::Failed { .. } | Self::Store(_) => true,
            Self::OutsideCapsule { source, .. } => source.public().is_some(),
            Self::NotRetained { .. }
            | Self::Unwound { .. }
            | Self::MissingCode(_)
            | Self::MissingNode { .. }
            | Self::NoTrie { .. }
            | Self::TooFarBack { .. }
            | Self::Origin(_)
            | Self::NotHere(_) => false,
        }
    }

    /// The failure of something that the store needs, with its error as the source.
    pub fn failed(what: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed { what: what.into(), source: Arc::new(source) }
    }
}

/// State as of one point in time.
pub trait StateReader: Send + Sync {
    /// The account, or `None` where none exists.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;

    /// The value of a slot; zero where none is set.
    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError>;

    /// The code with this Keccak-256 hash. Never called with the hash of empty code.
    fn code(&self, hash: &B256) -> Result<Bytes, StateError>;

    /// Every non-zero slot of an account, for the changeset of its destruction; any order.
    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError>;

    /// A faster reader of the same state for many consecutive reads, such as those of an execution;
    /// `None` if there is none.
    fn for_execution(&self) -> Option<Box<dyn StateReader + '_>> {
        None
    }
}

impl<S: StateReader + ?Sized> StateReader for Box<S> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        (**self).account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        (**self).storage(address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        (**self).code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        (**self).storage_of(address)
    }

    fn for_execution(&self) -> Option<Box<dyn StateReader + '_>> {
        (**self).for_execution()
    }
}

/// Hashes of ancestors, for `BLOCKHASH`.
pub trait BlockHashes: Send + Sync {
    /// Hash of the ancestor with this number; zero where it is not known.
    fn block_hash(&self, number: Height) -> Result<B256, StateError>;
}

/// A Merkle Patricia trie over the state, to which the write sets of a block are applied. It
/// provides the roots after each transaction (before Byzantium) and after the block.
pub trait RootTracker {
    /// Applies one write set on top of those before it.
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError>;

    /// State root over everything applied so far.
    fn root(&mut self) -> Result<B256, StateError>;
}

//! What can go wrong between a home, its stores and the blocks that are given to it.

use alloy_primitives::B256;
use hearth_evm::{BlockError, SpecError};
use hearth_flatkv::{FlatKvError, Holder, LockError};
use hearth_ledger::LedgerError;
use hearth_primitives::{Height, StateError};
use std::path::{Path, PathBuf};

/// Errors of [`crate::Chain`], import and export.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The file system failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The home has no chain yet.
    #[error(
        "{home} has no chain yet: give its genesis, with `hearth init --genesis FILE` or `hearth import --genesis FILE`, or run `hearth dev`",
        home = home.display()
    )]
    NotInitialised {
        /// The home.
        home: PathBuf,
    },
    /// The home has data, but nothing says which chain it is.
    #[error(
        "{path} is missing, and {home} has the data of a chain: run `hearth init --home {home} --genesis FILE` with the genesis of that chain, which writes the file again and keeps the data",
        path = path.display(), home = home.display()
    )]
    DescriptionMissing {
        /// The file.
        path: PathBuf,
        /// The home.
        home: PathBuf,
    },
    /// The home's genesis file is missing.
    #[error(
        "{path} is missing: run `hearth init --home {home} --genesis FILE` with the genesis of this chain, which writes the file again and keeps the data",
        path = path.display(), home = home.display()
    )]
    GenesisMissing {
        /// The file.
        path: PathBuf,
        /// The home.
        home: PathBuf,
    },
    /// The home's description does not read.
    #[error(
        "{path}: {why}; move the file away and run `hearth init --home {home} --genesis FILE` with the genesis of this chain, which writes it again and keeps the data",
        path = path.display(), home = home.display()
    )]
    DescriptionDamaged {
        /// The file.
        path: PathBuf,
        /// The home.
        home: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The home is a file.
    #[error("{home} is a file: give a folder as the data directory", home = home.display())]
    HomeIsFile {
        /// What was given.
        home: PathBuf,
    },
    /// The home was written by a newer version.
    #[error("{path}: format {found} is newer than this version's {known}: use a newer hearth", path = path.display())]
    NewerFormat {
        /// The file that says so.
        path: PathBuf,
        /// Format found.
        found: u32,
        /// Newest known format.
        known: u32,
    },
    /// The home was written by a version that is too old to be opened.
    #[error("{home} has format {found}, and this version opens formats from {oldest} on: run `hearth db migrate --home {home}`", home = home.display())]
    OlderFormat {
        /// The home.
        home: PathBuf,
        /// Its format.
        found: u32,
        /// Oldest format that can be opened.
        oldest: u32,
    },
    /// The home's description does not parse.
    #[error("{path}: {why}", path = path.display())]
    BadHome {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The home holds another chain.
    #[error("{home} holds another chain: its {what} is {there}, the one given has {given}", home = home.display())]
    OtherChain {
        /// The home.
        home: PathBuf,
        /// The property that differs: `genesis hash`, `chain id`, `fork rules`, …
        what: &'static str,
        /// What the home has.
        there: String,
        /// What was given.
        given: String,
    },
    /// The home began as a fork, and its origin was not given.
    #[error("{home} is a fork of another chain: give its origin with `hearth dev --fork-url URL`", home = home.display())]
    ForkWithoutOrigin {
        /// The home.
        home: PathBuf,
    },
    /// The genesis file cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Genesis {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SpecError,
    },
    /// A height that a store cannot be taken back to. Nothing was changed.
    #[error("the chain cannot be taken back to height {to}: the {store}: {why}")]
    CannotReach {
        /// The requested height.
        to: Height,
        /// The store that cannot.
        store: &'static str,
        /// Why.
        why: String,
    },
    /// A home whose ledger lies in folders that a backup does not follow.
    #[error(
        "the ledger of {home} lies in {roots} folders beside its own: move it together with `hearth db rebase` before a backup",
        home = home.display()
    )]
    LedgerElsewhere {
        /// The home.
        home: PathBuf,
        /// Folders beside its own.
        roots: usize,
    },
    /// A home that must be new has a chain.
    #[error("{home} has a chain already: give a new data directory", home = home.display())]
    HomeNotEmpty {
        /// The home.
        home: PathBuf,
    },
    /// A stream of a state that cannot make a home.
    #[error("the stream: {why}")]
    BadStream {
        /// What is wrong with it.
        why: String,
    },
    /// A block's parent is not known.
    #[error("block {number} ({hash}): its parent {parent} is not known")]
    UnknownParent {
        /// Number of the block.
        number: Height,
        /// Its hash.
        hash: B256,
        /// Hash of the parent.
        parent: B256,
    },
    /// A block that is not known.
    #[error("block {0} is not known")]
    UnknownBlock(B256),
    /// A branch that is too long to be executed in memory, or a head too far away to unwind to.
    #[error("more than {limit} blocks lie between the block and the canonical chain")]
    BranchTooLong {
        /// Most blocks.
        limit: u64,
    },
    /// A block that is refused.
    #[error("block {number} ({hash}): {source}")]
    Refused {
        /// Number of the block.
        number: Height,
        /// Its hash.
        hash: B256,
        /// Why.
        source: BlockError,
    },
    /// A block file that is not a row of RLP blocks.
    #[error("{file}: block {index} of the file, byte {offset}: {field}: {why}", file = file.display())]
    BadBlockFile {
        /// The file.
        file: PathBuf,
        /// Number of the block in the file, from 0.
        index: u64,
        /// Offset in the (decompressed) file, in bytes.
        offset: u64,
        /// The field that does not decode.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A block of a file that is refused, or whose commit failed.
    #[error("{file}: block {index} of the file, byte {offset}: {source}", file = file.display())]
    AtBlock {
        /// The file.
        file: PathBuf,
        /// Number of the block in the file, from 0.
        index: u64,
        /// Offset in the (decompressed) file, in bytes.
        offset: u64,
        /// What is wrong with the block.
        source: Box<ChainError>,
    },
    /// A block 0 that is not the home's genesis.
    #[error("{file}: its block 0 is {given}, the genesis of this chain is {genesis}", file = file.display())]
    OtherGenesis {
        /// The file.
        file: PathBuf,
        /// Hash of its block 0.
        given: B256,
        /// Hash of the home's genesis.
        genesis: B256,
    },
    /// A recorded case that does not parse.
    #[error("{file}: {why}", file = file.display())]
    BadCase {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the field.
        why: String,
    },
    /// Blocks cannot be executed on a home that holds a part of the state only.
    #[error("{home} holds a recorded block and a part of its state: no further blocks can be executed on it", home = home.display())]
    PartialState {
        /// The home.
        home: PathBuf,
    },
    /// A block to be followed, in a home with its own state.
    #[error("{home} holds the state of its chain: it follows no other node", home = home.display())]
    NoFollower {
        /// The home.
        home: PathBuf,
    },
    /// The witness of a block whose parent's state was edited: the parent's state root does not
    /// prove it.
    #[error("block {number} has no witness: a development method edited the state before it")]
    EditedState {
        /// Number of the block.
        number: Height,
    },
    /// A recorded pre-state that is not the state of the parent.
    #[error("state root of the parent: expected {expected} (recorded), got {got} from the pre-state")]
    ParentStateRoot {
        /// Root that is recorded.
        expected: B256,
        /// Root that the pre-state gives.
        got: B256,
    },
    /// The operation was cancelled; what was done before it is kept.
    #[error("cancelled")]
    Cancelled,
    /// A range of blocks that the chain does not have.
    #[error("blocks {from} to {to} are not there: this chain has blocks {first} to {last}")]
    NoSuchRange {
        /// The first requested block.
        from: Height,
        /// The last requested block.
        to: Height,
        /// First block of the chain.
        first: Height,
        /// Its last block.
        last: Height,
    },
    /// A block that cannot be exported: the RLP of a block cannot carry native transactions.
    #[error(
        "block {number} has native transactions, which the RLP of a block cannot carry: export the blocks before it, or copy the state with `hearth db export`"
    )]
    NativeTransactions {
        /// Height of the block.
        number: Height,
    },
    /// A stored native transaction does not decode.
    #[error("native transaction {index} of block {hash} cannot be decoded: {source}")]
    NativeUnreadable {
        /// Hash of the block.
        hash: B256,
        /// Its index among the block's native transactions.
        index: usize,
        /// What is wrong.
        source: Box<hearth_cosmos::TxError>,
    },
    /// Too much of the state is edited between two blocks.
    #[error("more than {limit} accounts and slots are edited between two blocks: make a block first")]
    TooManyEdits {
        /// Most accounts and slots.
        limit: usize,
    },
    /// The state store failed.
    #[error(transparent)]
    Store(#[from] FlatKvError),
    /// State could not be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl ChainError {
    /// The lock held by the process that has the home open, if that is the error: a home has a lock
    /// for each of its stores.
    pub fn home_in_use(&self) -> Option<&LockError> {
        match self {
            Self::Store(FlatKvError::Locked(lock)) => Some(lock),
            Self::Ledger(LedgerError::Table(error)) => error.held(),
            _ => None,
        }
    }

    /// Whether a state is needed that is not kept any more, or lies too far behind the head.
    pub fn is_out_of_reach(&self) -> bool {
        let (Self::State(error)
        | Self::Store(FlatKvError::State(error))
        | Self::Refused { source: BlockError::State(error), .. }) = self
        else {
            return false;
        };
        matches!(error, StateError::NotRetained { .. } | StateError::TooFarBack { .. })
    }

    /// Whether something in a store is damaged, so that a repair may help.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Store(error) => error.is_damage(),
            Self::State(error) => error.is_damage(),
            Self::Ledger(error) => error.is_damage(),
            _ => false,
        }
    }

    /// The message without the command that repairs the damage, for a caller that names it with its
    /// arguments.
    pub fn finding(&self) -> String {
        match self {
            Self::Store(error) => error.finding(),
            Self::State(error) | Self::Ledger(LedgerError::Index(error)) => error.finding(),
            other => other.to_string(),
        }
    }

    /// Who has the home open, where that is the error and is known.
    pub fn holder(&self) -> Option<&Holder> {
        match self.home_in_use()? {
            LockError::Held { holder, .. } => holder.as_ref(),
            LockError::Io { .. } => None,
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

//! Why CometBFT must not continue.

use hearth_abci::Exception;
use hearth_chain::ChainError;
use hearth_home::NodeError;
use hearth_ledger::LedgerError;
use hearth_primitives::Height;

/// What stops the chain on this node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsensusError {
    /// The two genesis files are not of the same chain.
    #[error("genesis of CometBFT and genesis of this home differ: {field}: have {have}, want {want}")]
    Genesis {
        /// The field of CometBFT's genesis.
        field: &'static str,
        /// What it is.
        have: String,
        /// What the home says.
        want: String,
    },
    /// CometBFT begins a chain that this home has blocks of.
    #[error(
        "CometBFT starts the chain from its first block, and this data directory has blocks up to {head}: move its folder data away, or give CometBFT its own data back"
    )]
    NotAtGenesis {
        /// Height of the head.
        head: Height,
    },
    /// CometBFT begins a network with a block whose parent this home does not have.
    #[error(
        "CometBFT begins with block {start} and this home has blocks up to {head}: join the network with --trust-height and --trust-hash, so that the state comes from a peer"
    )]
    Behind {
        /// Height of the head.
        head: Height,
        /// The first block of the network.
        start: Height,
    },
    /// A height that does not follow the head.
    #[error("{method} of height {height}, and the next block is {next}")]
    Height {
        /// The method.
        method: &'static str,
        /// The requested height.
        height: i64,
        /// The height after the head.
        next: Height,
    },
    /// A block whose time is before that of its parent, or no time.
    #[error("block {height} has the time {seconds}, before that of its parent, {parent}")]
    Time {
        /// Its height.
        height: i64,
        /// Its time, in seconds.
        seconds: i64,
        /// The parent's time, in seconds.
        parent: u64,
    },
    /// A message without a field that it must have.
    #[error("{method}: {field} is missing")]
    Missing {
        /// The method.
        method: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A validator with more power than CometBFT can count.
    #[error("a validator has the power {power}, which is too much")]
    Power {
        /// Its power.
        power: u64,
    },
    /// Commit without a block that was finalized before.
    #[error("Commit comes without FinalizeBlock")]
    NothingFinalized,
    /// A method that answers nothing here.
    #[error("{0} is not a request to an application")]
    Unexpected(&'static str),
    /// The chain or its stores.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The home.
    #[error(transparent)]
    Home(#[from] NodeError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The state.
    #[error(transparent)]
    State(#[from] hearth_primitives::StateError),
}

impl From<ConsensusError> for Exception {
    fn from(error: ConsensusError) -> Self {
        Self(error.to_string())
    }
}

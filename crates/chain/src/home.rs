//! A home's description of itself: `config/chain.json` and the genesis file, and the locations of
//! its stores.

use crate::{ChainError, Network};
use alloy_primitives::B256;
use hearth_evm::{ChainSpec, Genesis};
use hearth_flatkv::{CommitmentKind, Fsync};
use hearth_primitives::Height;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Newest format of a home that this version reads, and the one that it writes; see `format.rs`.
pub const HOME_FORMAT: u32 = 3;

/// Format of `config/chain.json`, except of a home that follows.
pub(crate) const DESCRIPTION_FORMAT: u32 = 1;

/// Format of `config/chain.json` of a home that follows another node: versions that would take its
/// missing state for an empty one refuse it. The newest format that this version reads.
pub(crate) const FOLLOWER_FORMAT: u32 = 2;

/// The files and folders of a home.
#[derive(Clone, Debug)]
pub struct HomePaths {
    /// The home itself.
    pub home: PathBuf,
}

impl HomePaths {
    /// The paths below a home.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// `config/`.
    pub fn config(&self) -> PathBuf {
        self.home.join("config")
    }

    /// `config/genesis.json`, in geth's format.
    pub fn genesis(&self) -> PathBuf {
        self.config().join("genesis.json")
    }

    /// `config/chain.json`: which chain this is.
    pub fn chain(&self) -> PathBuf {
        self.config().join("chain.json")
    }

    /// `data/state`.
    pub fn state(&self) -> PathBuf {
        self.home.join("data/state")
    }

    /// `data/wal`.
    pub fn wal(&self) -> PathBuf {
        self.home.join("data/wal")
    }

    /// `data/ledger`.
    pub fn ledger(&self) -> PathBuf {
        self.home.join("data/ledger")
    }

    /// `data/FORMAT`: the format of the home.
    pub fn format(&self) -> PathBuf {
        self.home.join("data/FORMAT")
    }

    /// Whether the home has the data of a chain.
    pub(crate) fn has_data(&self) -> bool {
        self.state().join("db").join("CURRENT").exists()
    }

    /// Edits of the state after the head.
    pub(crate) fn edits(&self) -> PathBuf {
        self.home.join("data/edits")
    }

    /// The last blocks that were refused.
    pub(crate) fn bad_blocks(&self) -> PathBuf {
        self.home.join("data").join("bad_blocks.rlp")
    }

    /// `data/ledger/finality`: which blocks the consensus client calls safe and finalized.
    pub(crate) fn finality(&self) -> PathBuf {
        self.home.join("data/ledger/finality")
    }

    /// The hash of the chosen head while another branch is being worked on; see [`crate::Chain`].
    pub(crate) fn chosen_head(&self) -> PathBuf {
        self.home.join("data/ledger/head")
    }
}

/// Where a home's rules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulesFrom {
    /// `config/genesis.json`.
    Genesis,
    /// Ethereum mainnet's, built in.
    Mainnet,
    /// Sepolia's, built in.
    Sepolia,
    /// Holesky's, built in.
    Holesky,
    /// Hoodi's, built in.
    Hoodi,
    /// `config/genesis.json`; the first state is that of another chain's block, of which the home
    /// only contains changed parts.
    Fork,
}

impl RulesFrom {
    /// The network whose rules they are, where they are built in.
    pub fn network(self) -> Option<Network> {
        match self {
            Self::Mainnet => Some(Network::Mainnet),
            Self::Sepolia => Some(Network::Sepolia),
            Self::Holesky => Some(Network::Holesky),
            Self::Hoodi => Some(Network::Hoodi),
            Self::Genesis | Self::Fork => None,
        }
    }
}

impl From<Network> for RulesFrom {
    fn from(network: Network) -> Self {
        match network {
            Network::Mainnet => Self::Mainnet,
            Network::Sepolia => Self::Sepolia,
            Network::Holesky => Self::Holesky,
            Network::Hoodi => Self::Hoodi,
        }
    }
}

/// What commits to a home's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Commitment {
    Mpt,
    LtHash,
    None,
    /// Nothing here: the home follows another node, and has no state.
    Elsewhere,
}

impl Commitment {
    /// What a chain with these rules commits with.
    pub fn of(spec: &ChainSpec) -> Self {
        if spec.is_lthash() { Self::LtHash } else { Self::Mpt }
    }
}

impl From<Commitment> for CommitmentKind {
    fn from(kind: Commitment) -> Self {
        match kind {
            Commitment::Mpt => Self::Mpt,
            Commitment::LtHash => Self::LtHash,
            Commitment::None | Commitment::Elsewhere => Self::None,
        }
    }
}

/// `config/chain.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChainFile {
    pub format: u32,
    pub rules: RulesFrom,
    pub chain_id: u64,
    pub commitment: Commitment,
    /// Height of the first state: 0, or N-1 for a recorded block N.
    pub base: Height,
    /// Hash of the block at that height.
    pub base_hash: B256,
}

impl ChainFile {
    /// The home's description; `None` where there is none.
    pub fn read(paths: &HomePaths) -> Result<Option<Self>, ChainError> {
        let path = paths.chain();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(_) if paths.home.is_file() => {
                return Err(ChainError::HomeIsFile { home: paths.home.clone() });
            }
            Err(error) => return Err(ChainError::io(&path)(error)),
        };
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let bad = |error: serde_json::Error| ChainError::DescriptionDamaged {
            path: path.clone(),
            home: paths.home.clone(),
            why: error.to_string(),
        };
        // The format is looked at first: a newer one may have other fields.
        let Format { format: found } = serde_json::from_str(&text).map_err(bad)?;
        if found > FOLLOWER_FORMAT {
            return Err(ChainError::NewerFormat { path, found, known: FOLLOWER_FORMAT });
        }
        serde_json::from_str(&text).map_err(bad).map(Some)
    }

    /// Whether the home follows another node.
    pub fn is_follower(&self) -> bool {
        self.commitment == Commitment::Elsewhere
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data always serialises")
    }

    pub fn write(&self, paths: &HomePaths, fsync: Fsync) -> Result<(), ChainError> {
        write_lasting(&paths.chain(), self.to_text().as_bytes(), fsync)
    }
}

/// Parses a genesis file's text; the error names the file.
pub(crate) fn parse_genesis(path: &Path, text: &str) -> Result<(ChainSpec, Genesis), ChainError> {
    ChainSpec::from_genesis_json(text).map_err(|source| ChainError::Genesis { path: path.to_owned(), source })
}

/// Writes a file so that it is there whole or not at all, and durable.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ChainError> {
    write_lasting(path, bytes, Fsync::Block)
}

/// As [`write_whole`], but not durable in a home that is never synced.
pub(crate) fn write_lasting(path: &Path, bytes: &[u8], fsync: Fsync) -> Result<(), ChainError> {
    let lasts = fsync != Fsync::Never;
    let dir = path.parent().expect("the files of a home lie in folders");
    std::fs::create_dir_all(dir).map_err(ChainError::io(dir))?;
    let part = path.with_extension("part");
    let written = std::fs::File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        if lasts { file.sync_all() } else { Ok(()) }
    });
    written.map_err(ChainError::io(&part))?;
    std::fs::rename(&part, path).map_err(ChainError::io(path))?;
    if lasts { sync_dir(dir) } else { Ok(()) }
}

/// Removes a file if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), ChainError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ChainError::io(path)(error)),
        _ => Ok(()),
    }
}

pub(crate) fn sync_dir(dir: &Path) -> Result<(), ChainError> {
    std::fs::File::open(dir).and_then(|d| d.sync_all()).map_err(ChainError::io(dir))
}

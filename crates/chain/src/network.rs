//! Public networks whose rules are built in.

use alloy_primitives::{B256, b256};
use hearth_evm::ChainSpec;

/// A network that needs no genesis file where no genesis state is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Ethereum mainnet.
    Mainnet,
    /// Sepolia.
    Sepolia,
    /// Holesky.
    Holesky,
    /// Hoodi.
    Hoodi,
}

impl Network {
    /// Every network.
    pub const ALL: [Self; 4] = [Self::Mainnet, Self::Sepolia, Self::Holesky, Self::Hoodi];

    /// The network with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mainnet => "mainnet",
            Self::Sepolia => "sepolia",
            Self::Holesky => "holesky",
            Self::Hoodi => "hoodi",
        }
    }

    /// Its rules.
    pub fn spec(self) -> ChainSpec {
        match self {
            Self::Mainnet => ChainSpec::mainnet(),
            Self::Sepolia => ChainSpec::sepolia(),
            Self::Holesky => ChainSpec::holesky(),
            Self::Hoodi => ChainSpec::hoodi(),
        }
    }

    /// Hash of its genesis block.
    pub fn genesis_hash(self) -> B256 {
        match self {
            Self::Mainnet => b256!("0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"),
            Self::Sepolia => b256!("0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"),
            Self::Holesky => b256!("0xb5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4"),
            Self::Hoodi => b256!("0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b"),
        }
    }
}

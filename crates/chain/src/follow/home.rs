//! Making a home that follows.

use crate::chain::build_genesis;
use crate::home::{
    ChainFile, Commitment, FOLLOWER_FORMAT, HomePaths, RulesFrom, parse_genesis, write_lasting,
};
use crate::{Chain, ChainError, ChainOptions, Network};
use alloy_primitives::B256;
use hearth_evm::ChainSpec;
use hearth_flatkv::{Commit, IndexWrite};
use hearth_ledger::index::number_key;
use hearth_primitives::{Changeset, Header};
use std::path::Path;

/// The rules of the chain that is followed.
#[derive(Clone, Debug)]
pub enum FollowedRules {
    /// Those of a network that is built in.
    Network(Network),
    /// Those of a geth-format genesis file, given as text.
    Genesis(String),
}

impl FollowedRules {
    /// The rules, and the hash of the genesis block.
    fn read(&self, paths: &HomePaths) -> Result<(ChainSpec, B256), ChainError> {
        match self {
            Self::Network(network) => Ok((network.spec(), network.genesis_hash())),
            Self::Genesis(text) => {
                let (spec, genesis) = parse_genesis(&paths.genesis(), text)?;
                let (_, hash) = build_genesis(&spec, &genesis)?;
                Ok((spec, hash))
            }
        }
    }
}

impl Chain {
    /// Makes a home that follows a chain from the block after `base` on, or opens it if it exists.
    /// `genesis_hash` is what the node to be followed says.
    ///
    /// # Errors
    /// [`ChainError::Genesis`], [`ChainError::OtherChain`] if the hash differs, or the home
    /// contains another chain or begins elsewhere. Nothing is written then.
    pub fn create_follower(
        home: &Path,
        rules: &FollowedRules,
        base: &Header,
        genesis_hash: Option<B256>,
        options: &ChainOptions,
    ) -> Result<Self, ChainError> {
        let paths = HomePaths::new(home);
        let (spec, genesis) = rules.read(&paths)?;
        let base_hash = base.hash_slow();
        let expected = genesis_hash.or((base.number == 0).then_some(base_hash));
        if let Some(given) = expected.filter(|given| *given != genesis) {
            let (there, given) = (genesis.to_string(), given.to_string());
            return Err(ChainError::OtherChain { home: paths.home, what: "genesis hash", there, given });
        }
        let file = ChainFile {
            format: FOLLOWER_FORMAT,
            rules: match rules {
                FollowedRules::Network(network) => (*network).into(),
                FollowedRules::Genesis(_) => RulesFrom::Genesis,
            },
            chain_id: spec.chain_id(),
            commitment: Commitment::Elsewhere,
            base: base.number,
            base_hash,
        };
        if let Some(there) = ChainFile::read(&paths)?
            && there != file
        {
            let of = |file: &ChainFile| {
                let kind = if file.is_follower() { "following" } else { "with its own state" };
                format!("chain {} from block {} ({}) on, {kind}", file.chain_id, file.base, file.base_hash)
            };
            let (there, given) = (of(&there), of(&file));
            return Err(ChainError::OtherChain { home: paths.home, what: "chain", there, given });
        }
        if let FollowedRules::Genesis(text) = rules {
            write_lasting(&paths.genesis(), text.as_bytes(), options.fsync)?;
        }
        file.write(&paths, options.fsync)?;
        let chain = Self::assemble(paths, spec, file, options)?;
        if chain.kv.head().is_none() {
            chain.init_follower(base, base_hash)?;
        }
        Ok(chain)
    }

    /// Stores the header that the first block is checked against, as a block without a body.
    fn init_follower(&self, base: &Header, hash: B256) -> Result<(), ChainError> {
        let block = crate::chain::bare_block(base.clone());
        self.ledger.append(&block, hash, base.difficulty, &[], &[])?;
        self.kv.init(Commit {
            height: base.number,
            hash,
            parent: base.parent_hash,
            changes: &Changeset::default(),
            trie: None,
            state_root: None,
            index: vec![IndexWrite { key: number_key(base.number), value: Some(hash.to_vec()) }],
            positions: self.ledger.positions(),
        })?;
        Ok(())
    }
}

//! A home that follows another node: making one, giving it blocks, and what it does not have.

use crate::{FsyncPolicy, Home, NodeError, chain_error, open::fsync};
use alloy_primitives::{B256, Bytes};
use alloy_rlp::Decodable as _;
use hearth_chain::{Chain, ChainError, ChainOptions, FollowMeta, FollowedRules, GivenBlock, Network};
use hearth_flatkv::StateSettings;
use hearth_ledger::{LedgerOptions, LedgerSettings};
use hearth_primitives::{Elsewhere, Header, Height, StateError};
use serde::Deserialize;
use std::path::PathBuf;

/// What a home that follows is made of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitOptions {
    home: PathBuf,
    chain: FollowedChain,
    /// RLP of the header below the first block.
    base: Bytes,
    #[serde(default)]
    upstream: Upstream,
    #[serde(default)]
    store: Option<Stores>,
}

/// One of both.
#[derive(Debug, Deserialize)]
struct FollowedChain {
    /// Name of a chain whose rules are built in.
    #[serde(default)]
    network: Option<String>,
    /// Text of a geth-format genesis file.
    #[serde(default)]
    genesis: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Upstream {
    #[serde(default)]
    genesis_hash: Option<B256>,
}

/// How the stores are opened.
#[derive(Debug, Deserialize)]
struct Stores {
    fsync: FsyncPolicy,
    flatkv: StateSettings,
    littable: LedgerSettings,
}

impl FollowedChain {
    fn rules(self) -> Result<FollowedRules, NodeError> {
        match (self.network.as_deref(), self.genesis) {
            (_, Some(text)) => Ok(FollowedRules::Genesis(text)),
            (Some(name), None) => {
                let network = Network::named(name).ok_or_else(|| NodeError::Genesis {
                    reason: format!("the rules of {name} are not built in: give its genesis file"),
                })?;
                Ok(FollowedRules::Network(network))
            }
            (None, None) => {
                Err(NodeError::Genesis { reason: "neither a network nor a genesis file is given".into() })
            }
        }
    }
}

/// Makes a home that holds blocks but no state, as `{home, chain: {network?, genesis?}, base,
/// upstream?: {genesisHash?}, store?}` says. Returns `{chainId, genesisHash, base: {number,
/// hash}}`. A home that was made so is opened and closed again.
///
/// # Errors
/// [`NodeError::Genesis`] if the rules are unknown or another chain's than the upstream's,
/// [`NodeError::HomeIncompatible`] if the home contains something else. Nothing is written then.
pub fn init_follower(options: &str) -> Result<Vec<u8>, NodeError> {
    let options: InitOptions =
        serde_json::from_str(options).map_err(|error| NodeError::Config { reason: error.to_string() })?;
    let InitOptions { home, chain, base, upstream, store } = options;
    let mut rlp = &base[..];
    let header = Header::decode(&mut rlp).ok().filter(|_| rlp.is_empty());
    let header = header.ok_or_else(|| NodeError::Config { reason: "base: no RLP of a header".into() })?;
    let stores = match store {
        None => ChainOptions::default(),
        Some(Stores { fsync: policy, flatkv, littable }) => ChainOptions {
            fsync: fsync(policy),
            state: flatkv,
            ledger: LedgerOptions::new(littable),
            ..ChainOptions::default()
        },
    };
    let failed = |error| match error {
        error @ ChainError::OtherChain { what: "genesis hash", .. } => {
            NodeError::Genesis { reason: error.to_string() }
        }
        error => chain_error(&home, error),
    };
    let made = Chain::create_follower(&home, &chain.rules()?, &header, upstream.genesis_hash, &stores);
    let made = made.map_err(failed)?;
    let state = made.followed_state();
    made.close().map_err(failed)?;
    let state = state.map_err(failed)?.ok_or(NodeError::Closed)?;
    let answer = serde_json::json!({
        "chainId": state.chain_id,
        "genesisHash": state.genesis_hash,
        "base": state.base,
    });
    Ok(answer.to_string().into_bytes())
}

/// Blocks that are final according to the node that is followed.
#[derive(Debug, Deserialize)]
struct FinalBlocks {
    #[serde(default)]
    safe: Option<B256>,
    #[serde(default)]
    finalized: Option<B256>,
}

impl Home {
    /// Gives a block to a home that follows; see [`Chain::follow_block`]. `meta` is JSON, as is the
    /// answer.
    ///
    /// # Errors
    /// [`NodeError::InvalidParams`] for other JSON, [`NodeError::Unsupported`] in a home that does
    /// not follow, and errors of the stores.
    pub fn follow_block(
        &self,
        meta: &str,
        block: &[u8],
        witness: Option<&[u8]>,
        extra: Option<&[u8]>,
    ) -> Result<Vec<u8>, NodeError> {
        if self.config().read_only {
            return Err(NodeError::ReadOnly);
        }
        let meta: FollowMeta =
            serde_json::from_str(meta).map_err(|error| NodeError::invalid_params(error.to_string()))?;
        let answer = self.chain().follow_block(GivenBlock { meta, block, witness, extra });
        let answer = answer.map_err(|error| match error {
            ChainError::NoFollower { .. } => NodeError::Unsupported { message: error.to_string() },
            error => chain_error(&self.config().home, error),
        })?;
        Ok(serde_json::json!(answer).to_string().into_bytes())
    }

    /// What a home that follows holds, as JSON; `null` in any other.
    ///
    /// # Errors
    /// Those of the stores.
    pub fn followed_state(&self) -> Result<Vec<u8>, NodeError> {
        let state = self.chain().followed_state();
        let state = state.map_err(|error| chain_error(&self.config().home, error))?;
        Ok(serde_json::json!(state).to_string().into_bytes())
    }

    /// A number that differs after each change of [`Self::followed_state`]; see
    /// [`Chain::followed_changes`].
    pub fn followed_changes(&self) -> u64 {
        self.chain().followed_changes()
    }

    /// Stores which blocks are final: `{safe?, finalized?}`, both hashes.
    ///
    /// # Errors
    /// [`NodeError::InvalidParams`]; those of the stores.
    pub fn set_followed_finality(&self, json: &str) -> Result<(), NodeError> {
        let FinalBlocks { safe, finalized } =
            serde_json::from_str(json).map_err(|error| NodeError::invalid_params(error.to_string()))?;
        let set = self.chain().set_followed_finality(safe, finalized);
        set.map_err(|error| chain_error(&self.config().home, error))
    }

    /// Fails where a home that follows has a block without receipts in a range, bounds included:
    /// what is searched there would be incomplete.
    ///
    /// # Errors
    /// [`NodeError::State`]; those of the stores.
    pub fn check_holes(&self, from: Height, to: Height) -> Result<(), NodeError> {
        let hole = self.chain().first_hole(from, to);
        match hole.map_err(|error| chain_error(&self.config().home, error))? {
            None => Ok(()),
            Some(_) => Err(StateError::NotHere(Elsewhere).into()),
        }
    }

    /// Whether a block is the header below the first one of a home that follows: it has no body
    /// here.
    pub(crate) fn is_bare(&self, height: Height) -> bool {
        height == self.chain().base() && height < self.first_block() && self.chain().is_follower()
    }

    /// The error for a record that a stored block must have: damage, except in a home that follows,
    /// where blocks may lack it.
    pub(crate) fn missing_record(&self, what: &str, hash: &B256) -> NodeError {
        if self.chain().is_follower() {
            return StateError::NotHere(Elsewhere).into();
        }
        NodeError::Store { message: format!("{what} of block {hash} are missing from the ledger") }
    }
}

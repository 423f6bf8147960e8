//! Checks of a block's body against its header: roots, ommers, blobs, size.

use super::validate_fields;
use crate::{
    error::{BlockError, Field, expect_eq},
    spec::{ChainSpec, Fork},
};
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header, Transaction as _, proofs};
use alloy_primitives::{
    B256,
    map::{B256Map, B256Set},
};
use alloy_rlp::Encodable as _;
use hearth_primitives::{Block, Height, StateError};

/// Most ommers of a block.
pub const MAX_OMMERS: usize = 2;
/// How many generations back an ommer's parent may be.
const OMMER_GENERATIONS: usize = 7;
/// Longest block in RLP from Osaka on, in bytes (EIP-7934: 10 MiB less 2 MiB of the beacon block).
pub const MAX_BLOCK_SIZE: usize = (10 << 20) - (2 << 20);

/// Ancestors of the block that is checked, for its ommers.
pub trait Ancestors {
    /// Header of the block with this hash and number; `None` where it is not known.
    ///
    /// # Errors
    /// The store's.
    fn header(&self, hash: &B256, number: Height) -> Result<Option<Header>, StateError>;

    /// Ommers of the block with this hash and number; empty where it is not known.
    ///
    /// # Errors
    /// The store's.
    fn ommers(&self, hash: &B256, number: Height) -> Result<Vec<Header>, StateError>;
}

/// Checks a block's body against its header.
///
/// # Errors
/// [`BlockError::Mismatch`] names the field.
pub fn validate_body(spec: &ChainSpec, block: &Block, ancestors: &dyn Ancestors) -> Result<(), BlockError> {
    validate_roots(spec, block)?;
    validate_ommers(spec, block, ancestors)
}

/// What of [`validate_body`] needs no ancestors: roots, withdrawals, blob gas and size.
///
/// # Errors
/// [`BlockError::Mismatch`] names the field.
pub fn validate_roots(spec: &ChainSpec, block: &Block) -> Result<(), BlockError> {
    let (header, body) = (&block.header, &block.body);
    let fork = spec.fork_of(header);
    expect_eq(Field::OmmersHash, proofs::calculate_ommers_root(&body.ommers), header.ommers_hash)?;
    expect_eq(
        Field::TransactionsRoot,
        proofs::calculate_transaction_root(&body.transactions),
        header.transactions_root,
    )?;
    match (&body.withdrawals, header.withdrawals_root) {
        (Some(list), Some(root)) => {
            expect_eq(Field::WithdrawalsRoot, proofs::calculate_withdrawals_root(list), root)?
        }
        (None, Some(_)) => {
            return Err(BlockError::mismatch(Field::Withdrawals, "a list from Shanghai on", "none"));
        }
        (Some(list), None) => {
            return Err(BlockError::mismatch(Field::Withdrawals, "none before Shanghai", list.len()));
        }
        (None, None) => {}
    }
    let blob_gas: u64 =
        body.transactions.iter().filter_map(|tx| tx.blob_gas_used()).fold(0, u64::saturating_add);
    match header.blob_gas_used {
        Some(used) => expect_eq(Field::BlobGasUsed, blob_gas, used)?,
        None if blob_gas > 0 => return Err(BlockError::mismatch(Field::BlobGasUsed, blob_gas, "none")),
        None => {}
    }
    if fork >= Fork::Osaka && block.length() > MAX_BLOCK_SIZE {
        return Err(BlockError::mismatch(
            Field::BlockSize,
            format!("at most {MAX_BLOCK_SIZE} bytes"),
            block.length(),
        ));
    }
    Ok(())
}

fn validate_ommers(spec: &ChainSpec, block: &Block, ancestors: &dyn Ancestors) -> Result<(), BlockError> {
    let (header, ommers) = (&block.header, &block.body.ommers);
    if ommers.is_empty() {
        return Ok(());
    }
    let most = if spec.is_post_merge(header) { 0 } else { MAX_OMMERS };
    if ommers.len() > most {
        return Err(BlockError::mismatch(Field::Ommer, format!("at most {most}"), ommers.len()));
    }
    let family = Family::collect(header, ancestors)?;
    let mut used = family.ommers;
    for ommer in ommers {
        let hash = ommer.hash_slow();
        if !used.insert(hash) {
            return Err(BlockError::mismatch(Field::Ommer, "one that no block included before", hash));
        }
        if family.headers.contains_key(&hash) {
            return Err(BlockError::mismatch(Field::Ommer, "no ancestor of the block", hash));
        }
        let parent =
            family.headers.get(&ommer.parent_hash).filter(|_| ommer.parent_hash != header.parent_hash);
        let Some(parent) = parent else {
            return Err(BlockError::mismatch(
                Field::Ommer,
                "a child of one of the last ancestors but the parent",
                hash,
            ));
        };
        // go-ethereum checks ommers by the rules of Ethash, under which no difficulty is zero.
        if spec.is_post_merge(ommer) {
            return Err(BlockError::mismatch(Field::Ommer, "a header of proof of work", hash));
        }
        validate_fields(spec, ommer, parent).map_err(|error| {
            BlockError::mismatch(Field::Ommer, "a valid header", format!("{hash}: {error}"))
        })?;
    }
    Ok(())
}

/// The last generations before a block.
struct Family {
    headers: B256Map<Header>,
    /// Hashes of their ommers.
    ommers: B256Set,
}

impl Family {
    fn collect(header: &Header, ancestors: &dyn Ancestors) -> Result<Self, BlockError> {
        let mut family = Self { headers: B256Map::default(), ommers: B256Set::default() };
        let (mut hash, mut number) = (header.parent_hash, header.number);
        for _ in 0..OMMER_GENERATIONS {
            let Some(below) = number.checked_sub(1) else { break };
            number = below;
            let Some(ancestor) = ancestors.header(&hash, number)? else { break };
            if ancestor.ommers_hash != EMPTY_OMMER_ROOT_HASH {
                family.ommers.extend(ancestors.ommers(&hash, number)?.iter().map(Header::hash_slow));
            }
            let parent = ancestor.parent_hash;
            family.headers.insert(hash, ancestor);
            hash = parent;
        }
        Ok(family)
    }
}

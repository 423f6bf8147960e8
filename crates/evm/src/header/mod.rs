//! Every check of a header against its parent but the proof-of-work seal.

mod body;
mod difficulty;
mod fees;

pub use body::{Ancestors, MAX_BLOCK_SIZE, validate_body, validate_roots};
pub use difficulty::next_difficulty;
pub use fees::{ELASTICITY, INITIAL_BASE_FEE, next_base_fee, next_excess_blob_gas};

use crate::{
    dao,
    error::{BlockError, Field, expect_eq},
    spec::{ChainSpec, Fork},
};
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_primitives::{B64, U256, hex};
use std::fmt::Display;

/// Longest extra data in bytes.
pub const MAX_EXTRA_DATA: usize = 32;
/// Lowest gas limit.
pub const MIN_GAS_LIMIT: u64 = 5_000;
/// Highest gas limit (EIP-1985).
pub const MAX_GAS_LIMIT: u64 = (1 << 63) - 1;
/// The gas limit moves by less than the parent's divided by this.
const GAS_LIMIT_DIVISOR: u64 = 1_024;

/// Checks every field of a header against its parent and the rules of the chain, except for the
/// proof-of-work seal and the fields that execution determines (roots, bloom, gas used).
/// [`validate_merge`] checks that the merge comes at the right total difficulty.
///
/// # Errors
/// [`BlockError::Mismatch`] names the field.
pub fn validate_header(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), BlockError> {
    expect_eq(Field::ParentHash, parent.hash_slow(), header.parent_hash)?;
    validate_fields(spec, header, parent)
}

/// [`validate_header`] without the parent's hash, for callers that looked the parent up by it.
pub(crate) fn validate_fields(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), BlockError> {
    expect_eq(Field::Number, parent.number.saturating_add(1), header.number)?;
    if header.extra_data.len() > MAX_EXTRA_DATA {
        let got = format!("{} bytes", header.extra_data.len());
        return Err(BlockError::mismatch(Field::ExtraData, "at most 32 bytes", got));
    }
    timestamp(spec, header, parent)?;
    if spec.is_post_merge(header) {
        proof_of_stake(header)?;
    } else {
        proof_of_work(spec, header, parent)?;
    }
    gas(spec, header, parent)?;
    fork_fields(spec, header, parent)
}

/// Checks that the merge comes when the terminal total difficulty is reached and not before
/// (EIP-3675). `parent_total` is the total difficulty up to and including the parent.
///
/// # Errors
/// [`BlockError::Mismatch`] of the difficulty.
pub fn validate_merge(spec: &ChainSpec, header: &Header, parent_total: U256) -> Result<(), BlockError> {
    let Some(terminal) = spec.terminal_total_difficulty() else { return Ok(()) };
    let reached = parent_total >= terminal;
    if reached && !header.difficulty.is_zero() {
        return Err(BlockError::mismatch(
            Field::Difficulty,
            "0, since the terminal total difficulty is reached",
            header.difficulty,
        ));
    }
    if !reached && header.difficulty.is_zero() {
        let expected =
            format!("above 0, since the total difficulty {parent_total} is below the terminal {terminal}");
        return Err(BlockError::mismatch(Field::Difficulty, expected, header.difficulty));
    }
    Ok(())
}

fn timestamp(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), BlockError> {
    let (is_later, expected) = match spec.is_bft_block(header.number) {
        true => (header.timestamp >= parent.timestamp, "at least"),
        false => (header.timestamp > parent.timestamp, "above"),
    };
    if is_later {
        return Ok(());
    }
    let expected = format!("{expected} {}", parent.timestamp);
    Err(BlockError::mismatch(Field::Timestamp, expected, header.timestamp))
}

fn proof_of_stake(header: &Header) -> Result<(), BlockError> {
    expect_eq(Field::Nonce, B64::ZERO, header.nonce)?;
    expect_eq(Field::OmmersHash, EMPTY_OMMER_ROOT_HASH, header.ommers_hash)
}

fn proof_of_work(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), BlockError> {
    if spec.is_post_merge(parent) {
        return Err(BlockError::mismatch(Field::Difficulty, "0, as the parent's", header.difficulty));
    }
    if spec.is_london(header.number) && spec.times.shanghai.is_some_and(|at| at <= header.timestamp) {
        return Err(BlockError::mismatch(Field::Difficulty, "0 from Shanghai on", header.difficulty));
    }
    expect_eq(Field::Difficulty, next_difficulty(spec, header.timestamp, parent), header.difficulty)?;
    let Some(dao) = spec.dao else { return Ok(()) };
    if (dao.block..dao.block.saturating_add(dao::EXTRA_RANGE)).contains(&header.number)
        && (header.extra_data.as_ref() == dao::EXTRA_DATA) != dao.support
    {
        let tag = hex::encode_prefixed(dao::EXTRA_DATA);
        let expected = if dao.support {
            format!("the DAO fork's {tag}")
        } else {
            format!("anything but the DAO fork's {tag}")
        };
        return Err(BlockError::mismatch(Field::ExtraData, expected, &header.extra_data));
    }
    Ok(())
}

fn gas(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), BlockError> {
    if header.gas_limit > MAX_GAS_LIMIT {
        return Err(BlockError::mismatch(
            Field::GasLimit,
            format!("at most {MAX_GAS_LIMIT}"),
            header.gas_limit,
        ));
    }
    if header.gas_used > header.gas_limit {
        let expected = format!("at most the gas limit {}", header.gas_limit);
        return Err(BlockError::mismatch(Field::GasUsed, expected, header.gas_used));
    }
    if spec.is_bft_block(header.number) {
        // CometBFT's consensus parameter, which its validators change together.
        if header.gas_limit < MIN_GAS_LIMIT {
            let expected = format!("at least {MIN_GAS_LIMIT}");
            return Err(BlockError::mismatch(Field::GasLimit, expected, header.gas_limit));
        }
        return same(Field::BaseFee, next_base_fee(spec, parent), header.base_fee_per_gas);
    }
    // London doubles the limit once, so that the target stays what the limit was.
    let first = spec.is_london(header.number) && !spec.is_london(parent.number);
    let base = if first { parent.gas_limit.saturating_mul(ELASTICITY) } else { parent.gas_limit };
    let bound = base / GAS_LIMIT_DIVISOR;
    if header.gas_limit.abs_diff(base) >= bound || header.gas_limit < MIN_GAS_LIMIT {
        let low = base.saturating_sub(bound.saturating_sub(1)).max(MIN_GAS_LIMIT);
        let high = base.saturating_add(bound.saturating_sub(1));
        return Err(BlockError::mismatch(Field::GasLimit, format!("{low} to {high}"), header.gas_limit));
    }
    same(Field::BaseFee, next_base_fee(spec, parent), header.base_fee_per_gas)
}

fn fork_fields(spec: &ChainSpec, header: &Header, parent: &Header) -> Result<(), BlockError> {
    let fork = spec.fork_of(header);
    present(Field::WithdrawalsRoot, fork >= Fork::Shanghai, header.withdrawals_root.as_ref())?;
    let cancun = fork >= Fork::Cancun;
    present(Field::BlobGasUsed, cancun, header.blob_gas_used.as_ref())?;
    present(Field::ExcessBlobGas, cancun, header.excess_blob_gas.as_ref())?;
    present(Field::ParentBeaconRoot, cancun, header.parent_beacon_block_root.as_ref())?;
    present(Field::RequestsHash, fork >= Fork::Prague, header.requests_hash.as_ref())?;
    if !cancun {
        return Ok(());
    }
    let Some(params) = spec.blob_params(header.timestamp) else { return Ok(()) };
    let used = header.blob_gas_used.unwrap_or(0);
    if used > params.max_blob_gas() || !used.is_multiple_of(crate::spec::GAS_PER_BLOB) {
        let expected = format!("a multiple of {} up to {}", crate::spec::GAS_PER_BLOB, params.max_blob_gas());
        return Err(BlockError::mismatch(Field::BlobGasUsed, expected, used));
    }
    same(Field::ExcessBlobGas, next_excess_blob_gas(spec, header.timestamp, parent), header.excess_blob_gas)
}

/// Compares two fields that may be absent.
fn same<T: PartialEq + Display>(field: Field, expected: Option<T>, got: Option<T>) -> Result<(), BlockError> {
    if expected == got {
        return Ok(());
    }
    let text = |value: Option<T>| value.map_or_else(|| "none".to_string(), |value| value.to_string());
    Err(BlockError::mismatch(field, text(expected), text(got)))
}

/// Checks that a field is there exactly when its fork says so.
fn present<T: Display>(field: Field, expected: bool, got: Option<&T>) -> Result<(), BlockError> {
    match (expected, got) {
        (true, None) => Err(BlockError::mismatch(field, "a value from this fork on", "none")),
        (false, Some(got)) => Err(BlockError::mismatch(field, "none before its fork", got)),
        _ => Ok(()),
    }
}

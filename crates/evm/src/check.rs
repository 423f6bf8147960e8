//! Checks of an execution's outcome against the header.

use crate::{
    error::{BlockError, Field, expect_eq},
    spec::{ChainSpec, Fork},
};
use alloy_consensus::{Header, TxReceipt as _, proofs};
use alloy_primitives::Bloom;
use hearth_primitives::{BlockOutput, Receipt};

/// Checks gas used, receipts root, logs bloom, blob gas used and requests hash against the header.
/// The caller checks the state root.
///
/// # Errors
/// [`BlockError::Mismatch`] names the field.
pub fn check_output(spec: &ChainSpec, header: &Header, output: &BlockOutput) -> Result<(), BlockError> {
    expect_eq(Field::GasUsed, output.gas_used, header.gas_used)?;
    let receipts = proofs::calculate_receipt_root(&output.receipts);
    expect_eq(Field::ReceiptsRoot, receipts, header.receipts_root)?;
    check_without_receipts_root(spec, header, output)
}

/// Checks receipts that were not made here: the receipts root and the logs bloom of their header.
///
/// # Errors
/// [`BlockError::Mismatch`] names the field.
pub fn check_receipts(header: &Header, receipts: &[Receipt]) -> Result<(), BlockError> {
    expect_eq(Field::ReceiptsRoot, proofs::calculate_receipt_root(receipts), header.receipts_root)?;
    let bloom = receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom());
    expect_eq(Field::LogsBloom, bloom, header.logs_bloom)
}

/// [`check_output`] without the receipts root. Before Byzantium that root covers state roots, which
/// a recorded block may lack.
///
/// # Errors
/// [`BlockError::Mismatch`] names the field.
pub fn check_without_receipts_root(
    spec: &ChainSpec,
    header: &Header,
    output: &BlockOutput,
) -> Result<(), BlockError> {
    expect_eq(Field::GasUsed, output.gas_used, header.gas_used)?;
    expect_eq(Field::LogsBloom, output.logs_bloom, header.logs_bloom)?;
    let fork = spec.fork_of(header);
    if fork >= Fork::Cancun {
        expect_eq(Field::BlobGasUsed, output.blob_gas_used, header.blob_gas_used.unwrap_or(0))?;
    }
    match (&output.requests, header.requests_hash) {
        (Some(requests), Some(hash)) => expect_eq(Field::RequestsHash, requests.requests_hash(), hash),
        (Some(requests), None) => {
            Err(BlockError::mismatch(Field::RequestsHash, requests.requests_hash(), "none"))
        }
        (None, Some(hash)) => Err(BlockError::mismatch(Field::RequestsHash, "none before Prague", hash)),
        (None, None) => Ok(()),
    }
}

//! Execution-layer requests (EIP-7685): deposits from logs, withdrawals and consolidations from
//! system contracts.

use crate::{error::BlockError, spec::ChainSpec, system::RequestContract};
use alloy_eips::eip7685::Requests;
use alloy_primitives::{B256, b256};
use hearth_primitives::Receipt;
use revm::context_interface::result::ExecutionResult;

/// First byte of deposit requests (EIP-6110).
const DEPOSIT_KIND: u8 = 0;
/// Topic of the deposit contract's event.
const DEPOSIT_TOPIC: B256 = b256!("0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
/// Length of the event's data in bytes.
const DEPOSIT_DATA_LEN: usize = 576;
/// Start and length of each field of the event, after the field's length word: key, credentials,
/// amount, signature, index.
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(192, 48), (288, 32), (352, 8), (416, 96), (544, 8)];
/// Where the event's head says that the fields are.
const DEPOSIT_OFFSETS: [u64; 5] = [160, 256, 320, 384, 512];

/// Deposits of a block, from the logs of its receipts (EIP-6110).
pub(crate) fn deposits(spec: &ChainSpec, receipts: &[Receipt]) -> Result<Requests, BlockError> {
    let mut bytes = vec![DEPOSIT_KIND];
    for (index, receipt) in receipts.iter().enumerate() {
        for log in receipt.logs() {
            if log.address == spec.deposit_contract() && log.topics().first() == Some(&DEPOSIT_TOPIC) {
                deposit(&log.data.data, &mut bytes)
                    .map_err(|reason| BlockError::DepositLog { index, reason })?;
            }
        }
    }
    let mut requests = Requests::default();
    if bytes.len() > 1 {
        requests.push_request(bytes.into());
    }
    Ok(requests)
}

fn deposit(data: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    if data.len() != DEPOSIT_DATA_LEN {
        return Err("its data is not 576 bytes long");
    }
    for (word, expected) in DEPOSIT_OFFSETS.iter().enumerate() {
        if !is_number(&data[word * 32..word * 32 + 32], *expected) {
            return Err("an offset in its head is wrong");
        }
    }
    for (start, len) in DEPOSIT_FIELDS {
        if !is_number(&data[start - 32..start], len as u64) {
            return Err("a field has a wrong length");
        }
    }
    for (start, len) in DEPOSIT_FIELDS {
        out.extend_from_slice(&data[start..start + len]);
    }
    Ok(())
}

fn is_number(word: &[u8], value: u64) -> bool {
    word[..24].iter().all(|byte| *byte == 0) && word[24..] == value.to_be_bytes()
}

/// Adds the requests of one kind, where there are any.
pub(crate) fn push(requests: &mut Requests, kind: u8, data: &[u8]) {
    if !data.is_empty() {
        let mut bytes = Vec::with_capacity(1 + data.len());
        bytes.push(kind);
        bytes.extend_from_slice(data);
        requests.push_request(bytes.into());
    }
}

/// Adds what a system contract gave back. No code or a failed call make the block invalid.
pub(crate) fn push_call(
    requests: &mut Requests,
    contract: &RequestContract,
    result: Option<ExecutionResult>,
) -> Result<(), BlockError> {
    let error = |reason: &str| {
        Err(BlockError::SystemContract {
            address: contract.address,
            eip: contract.eip,
            reason: reason.to_string(),
        })
    };
    match result {
        None => error("there is no code at its address"),
        Some(ExecutionResult::Success { output, .. }) => {
            push(requests, contract.kind, &output.into_data());
            Ok(())
        }
        Some(ExecutionResult::Revert { .. }) => error("its call reverted"),
        Some(ExecutionResult::Halt { reason, .. }) => error(&format!("its call failed: {reason:?}")),
    }
}

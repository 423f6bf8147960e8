//! The staking contract's part in a block: system calls around the transactions, as those of
//! EIP-7002 and EIP-7251.
//!
//! Before the transactions, `begin` takes time, proposer and evidence, and returns the matured
//! unbondings, which become the block's withdrawals (EIP-4895). After them, `end` returns the
//! validators that changed: requests of a type of this chain's own (EIP-7685), so that the header
//! commits to them, and CometBFT receives them. A chain without the contract has neither.

use crate::{
    env::BlockEnvironment,
    error::{BlockError, Field},
    requests,
};
use alloy_eips::{eip4895::Withdrawal, eip7685::Requests};
use alloy_primitives::{Address, Bytes, address};
use alloy_sol_types::SolCall as _;
use revm::context_interface::result::ExecutionResult;

/// Where the contract is.
pub const STAKING_ADDRESS: Address = address!("0x0000000000000000000000000000000000000800");

/// First byte of requests that are changes of validators.
pub const VALIDATOR_REQUEST: u8 = 0xf0;

/// Bytes of a changed validator: type of its key, key, power.
pub const VALIDATOR_UPDATE_BYTES: usize = 1 + 32 + 8;

/// Most withdrawals of a block (EIP-4895 allows as many).
pub const WITHDRAWALS_MAX: usize = 16;

/// Bytes of a withdrawal as the contract gives it: account, amount in gwei.
const WITHDRAWAL_BYTES: usize = 20 + 8;

const NAME: &str = "staking";

alloy_sol_types::sol! {
    function begin(uint64 time, address proposer, bytes misbehavior) external returns (bytes withdrawals);
    function end() external returns (bytes updates);
}

/// Input of the call before the transactions.
pub(crate) fn begin_input(env: &BlockEnvironment, misbehavior: &Bytes) -> Bytes {
    let call = beginCall { time: env.timestamp, proposer: env.beneficiary, misbehavior: misbehavior.clone() };
    call.abi_encode().into()
}

/// Input of the call after them.
pub(crate) fn end_input() -> Bytes {
    endCall {}.abi_encode().into()
}

fn failed(reason: String) -> BlockError {
    BlockError::SystemContract { address: STAKING_ADDRESS, eip: NAME, reason }
}

fn output(result: ExecutionResult) -> Result<Bytes, BlockError> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { output, .. } => Err(failed(format!("its call reverted with {output}"))),
        ExecutionResult::Halt { reason, .. } => Err(failed(format!("its call failed: {reason:?}"))),
    }
}

/// The withdrawals that the first call gives. Their indices ascend from block to block.
pub(crate) fn withdrawals(
    env: &BlockEnvironment,
    result: ExecutionResult,
) -> Result<Vec<Withdrawal>, BlockError> {
    let all = beginCall::abi_decode_returns(&output(result)?).map_err(|error| failed(error.to_string()))?;
    let (entries, rest) = all.as_chunks::<WITHDRAWAL_BYTES>();
    if !rest.is_empty() || entries.len() > WITHDRAWALS_MAX {
        return Err(failed(format!("{} bytes are no withdrawals", all.len())));
    }
    let first = env.number.saturating_mul(WITHDRAWALS_MAX as u64);
    let withdrawal = |(place, entry): (u64, &[u8; WITHDRAWAL_BYTES])| {
        let (account, amount) = entry.split_at(20);
        let mut gwei = [0; 8];
        gwei.copy_from_slice(amount);
        Withdrawal {
            index: first + place,
            validator_index: 0,
            address: Address::from_slice(account),
            amount: u64::from_be_bytes(gwei),
        }
    };
    Ok((0..).zip(entries).map(withdrawal).collect())
}

/// Adds the changed validators that the last call gives.
pub(crate) fn push_updates(list: &mut Requests, result: ExecutionResult) -> Result<(), BlockError> {
    let updates = endCall::abi_decode_returns(&output(result)?).map_err(|error| failed(error.to_string()))?;
    if updates.len() % VALIDATOR_UPDATE_BYTES != 0 {
        return Err(failed(format!("{} bytes are no validators", updates.len())));
    }
    requests::push(list, VALIDATOR_REQUEST, &updates);
    Ok(())
}

/// Checks the withdrawals of a block against those of the contract.
pub(crate) fn check_withdrawals(
    wanted: Option<&[Withdrawal]>,
    given: Option<&[Withdrawal]>,
) -> Result<(), BlockError> {
    match wanted {
        Some(wanted) if wanted != given.unwrap_or_default() => {
            let text = |all: &[Withdrawal]| format!("{} of the staking contract", all.len());
            Err(BlockError::mismatch(Field::Withdrawals, text(wanted), "others"))
        }
        _ => Ok(()),
    }
}

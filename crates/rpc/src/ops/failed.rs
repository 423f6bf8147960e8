//! Transactions that were mined and failed, reported as Hardhat's node does: sending one is
//! answered with an error.

use alloy_primitives::{B256, U256};
use hearth_evm::{TxOutcome, TxStatus, revert_reason};
use hearth_home::NodeError;
use revm::context_interface::result::HaltReason;

/// Selector of Solidity's `Error(string)`.
const ERROR_SELECTOR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// Selector of Solidity's `Panic(uint256)`.
const PANIC_SELECTOR: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
/// Bytes of a panic: selector and code.
const PANIC_BYTES: usize = 36;

const NO_REASON: &str = "Transaction reverted without a reason string";

/// The error for a transaction that failed; `None` where it succeeded.
pub(super) fn failure(hash: B256, outcome: &TxOutcome) -> Option<NodeError> {
    let message = match &outcome.status {
        TxStatus::Success => return None,
        TxStatus::Halt(HaltReason::OutOfGas(_)) => return Some(NodeError::TransactionOutOfGas { hash }),
        TxStatus::Revert => reverted(&outcome.output),
        TxStatus::Halt(reason) => halted(reason).to_owned(),
    };
    let output = match outcome.status {
        TxStatus::Revert => outcome.output.clone(),
        _ => Default::default(),
    };
    Some(NodeError::TransactionReverted { message: format!("Error: {message}"), hash, output })
}

fn halted(reason: &HaltReason) -> &'static str {
    match reason {
        HaltReason::OpcodeNotFound | HaltReason::InvalidFEOpcode | HaltReason::NotActivated => {
            "VM Exception while processing transaction: invalid opcode"
        }
        HaltReason::CreateContractSizeLimit => {
            "Transaction reverted: trying to deploy a contract whose code is too large"
        }
        _ => NO_REASON,
    }
}

fn reverted(output: &[u8]) -> String {
    if output.is_empty() {
        return NO_REASON.to_owned();
    }
    let why = decoded(output)
        .unwrap_or_else(|| format!("an unrecognized custom error (return data: {})", hex(output)));
    format!("VM Exception while processing transaction: reverted with {why}")
}

fn hex(output: &[u8]) -> String {
    alloy_primitives::hex::encode_prefixed(output)
}

fn decoded(output: &[u8]) -> Option<String> {
    match *output.first_chunk::<4>()? {
        ERROR_SELECTOR => revert_reason(output).map(|reason| format!("reason string '{reason}'")),
        PANIC_SELECTOR if output.len() == PANIC_BYTES => {
            let code = U256::from_be_slice(&output[4..]);
            let words = u64::try_from(code).ok().and_then(panic_words);
            Some(match words {
                Some(words) => format!("panic code {code:#x} ({words})"),
                None => format!("unknown panic code {code:#x}"),
            })
        }
        _ => None,
    }
}

/// What Hardhat says about a panic code of the compiler.
fn panic_words(code: u64) -> Option<&'static str> {
    Some(match code {
        0x01 => "Assertion error",
        0x11 => "Arithmetic operation overflowed outside of an unchecked block",
        0x12 => "Division or modulo division by zero",
        0x21 => "Tried to convert a value into an enum, but the value was too big or negative",
        0x22 => "Incorrectly encoded storage byte array",
        0x31 => ".pop() was called on an empty array",
        0x32 => "Array accessed at an out-of-bounds or negative index",
        0x41 => "Too much memory was allocated, or an array was created that is too large",
        0x51 => "Called a zero-initialized variable of internal function type",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Bytes, hex};

    fn message(status: TxStatus, output: &[u8]) -> String {
        let output = Bytes::copy_from_slice(output);
        let outcome = TxOutcome { status, gas_used: 0, gas_refunded: 0, output, created: None };
        failure(B256::ZERO, &outcome).expect("a failure").to_string()
    }

    #[test]
    fn failures_have_the_words_of_hardhat_2_28() {
        let reverted = |output: &[u8]| message(TxStatus::Revert, output);
        assert_eq!(reverted(&[]), "Error: Transaction reverted without a reason string");
        assert_eq!(
            reverted(&hex!("ea07e92f")),
            "Error: VM Exception while processing transaction: reverted with an unrecognized custom error \
             (return data: 0xea07e92f)"
        );
        let nope = [
            &ERROR_SELECTOR[..],
            &U256::from(32).to_be_bytes::<32>(),
            &U256::from(4).to_be_bytes::<32>(),
            b"nope",
            &[0; 28],
        ]
        .concat();
        assert_eq!(
            reverted(&nope),
            "Error: VM Exception while processing transaction: reverted with reason string 'nope'"
        );
        let panic =
            |code: u64| reverted(&[&PANIC_SELECTOR[..], &U256::from(code).to_be_bytes::<32>()].concat());
        assert_eq!(
            panic(0x11),
            "Error: VM Exception while processing transaction: reverted with panic code 0x11 (Arithmetic \
             operation overflowed outside of an unchecked block)"
        );
        assert_eq!(
            panic(0x77),
            "Error: VM Exception while processing transaction: reverted with unknown panic code 0x77"
        );
        let halted = |reason: HaltReason| message(TxStatus::Halt(reason), &[1]);
        assert_eq!(
            halted(HaltReason::InvalidFEOpcode),
            "Error: VM Exception while processing transaction: invalid opcode"
        );
        assert_eq!(
            halted(HaltReason::CreateContractSizeLimit),
            "Error: Transaction reverted: trying to deploy a contract whose code is too large"
        );
        assert_eq!(halted(HaltReason::StackUnderflow), "Error: Transaction reverted without a reason string");
    }
}

//! What go-ethereum says when execution halts (core/vm/errors.go), as far as the interpreter's
//! reason alone has it. An observer of the run knows more (`simulate/failure.rs`).

use revm::context_interface::result::{HaltReason, OutOfGasError};

/// go-ethereum's text of a halt, without opcodes and numbers.
pub(crate) fn halt_text(reason: &HaltReason) -> String {
    let text = match reason {
        HaltReason::OutOfGas(OutOfGasError::InvalidOperand) => "gas uint64 overflow",
        HaltReason::OutOfGas(OutOfGasError::ReentrancySentry) => {
            "out of gas: not enough gas for reentrancy sentry"
        }
        HaltReason::OutOfGas(_) => "out of gas",
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID",
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => "invalid opcode",
        HaltReason::InvalidJump => "invalid jump destination",
        HaltReason::StackUnderflow => "stack underflow",
        HaltReason::StackOverflow => "stack overflow",
        HaltReason::OutOfOffset => "return data out of bounds",
        HaltReason::CreateCollision => "contract address collision",
        HaltReason::PrecompileError => "invalid input length",
        HaltReason::PrecompileErrorWithContext(text) => text,
        HaltReason::NonceOverflow => "nonce uint64 overflow",
        HaltReason::CreateContractSizeLimit => "max code size exceeded",
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef",
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded",
        HaltReason::OverflowPayment | HaltReason::OutOfFunds => "insufficient balance for transfer",
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection"
        }
        HaltReason::CallTooDeep => "max call depth exceeded",
    };
    text.to_string()
}

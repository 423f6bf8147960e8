//! What go-ethereum says when execution halts (core/vm/errors.go).

use revm::{
    bytecode::opcode::OpCode,
    context_interface::result::{HaltReason, OutOfGasError},
};

/// Most items on the stack.
const STACK_LIMIT: usize = 1_024;

/// What is known of the instruction that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaltDetails {
    /// The instruction.
    pub opcode: u8,
    /// Items on the stack before it.
    pub stack_len: usize,
    /// It was a `RETURN` that succeeded: what failed is storing the returned code.
    pub returned: bool,
}

/// go-ethereum's text of a halt. Without details, texts that would name an opcode or a stack length
/// are those of the plain error.
pub fn halt_text(reason: &HaltReason, details: Option<HaltDetails>) -> String {
    let text = match reason {
        HaltReason::OutOfGas(OutOfGasError::InvalidOperand) => "gas uint64 overflow",
        HaltReason::OutOfGas(OutOfGasError::ReentrancySentry) => {
            "out of gas: not enough gas for reentrancy sentry"
        }
        HaltReason::OutOfGas(_) if details.is_some_and(|details| details.returned) => {
            "contract creation code storage out of gas"
        }
        HaltReason::OutOfGas(_) => "out of gas",
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID",
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => return invalid_opcode(details),
        HaltReason::InvalidJump => "invalid jump destination",
        HaltReason::StackUnderflow => return stack_underflow(details),
        HaltReason::StackOverflow => return stack_overflow(details),
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

fn invalid_opcode(details: Option<HaltDetails>) -> String {
    let Some(details) = details else { return "invalid opcode".to_string() };
    match OpCode::new(details.opcode) {
        Some(op) => format!("invalid opcode: {}", op.as_str()),
        None => format!("invalid opcode: opcode {:#x} not defined", details.opcode),
    }
}

fn stack_underflow(details: Option<HaltDetails>) -> String {
    let Some(details) = details else { return "stack underflow".to_string() };
    format!("stack underflow ({} <=> {})", details.stack_len, stack_effect(details.opcode).0)
}

fn stack_overflow(details: Option<HaltDetails>) -> String {
    let Some(details) = details else { return "stack overflow".to_string() };
    let (inputs, outputs) = stack_effect(details.opcode);
    format!("stack limit reached {} ({})", details.stack_len, STACK_LIMIT + inputs - outputs.min(STACK_LIMIT))
}

/// Items that an instruction needs on the stack, and how many are there in their place afterwards.
fn stack_effect(opcode: u8) -> (usize, usize) {
    match opcode {
        0x80..=0x8f => (usize::from(opcode) - 0x7f, usize::from(opcode) - 0x7e),
        0x90..=0x9f => (usize::from(opcode) - 0x8e, usize::from(opcode) - 0x8e),
        _ => OpCode::new(opcode).map_or((0, 0), |op| (usize::from(op.inputs()), usize::from(op.outputs()))),
    }
}

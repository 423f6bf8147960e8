//! Why a frame failed, in go-ethereum's words (core/vm/errors.go).

use alloy_primitives::Address;
use revm::interpreter::InstructionResult;

/// Why a frame failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// REVERT.
    #[error("execution reverted")]
    Reverted,
    /// Not enough gas for the instruction.
    #[error("out of gas")]
    OutOfGas,
    /// The gas of the instruction could not be computed, or the instruction is refused while it is.
    #[error("out of gas: {0}")]
    GasRefused(GasRefusal),
    /// Not enough gas to store the code of a new contract (EIP-2).
    #[error("contract creation code storage out of gas")]
    CodeStoreOutOfGas,
    /// More than 1024 frames deep.
    #[error("max call depth exceeded")]
    Depth,
    /// The caller cannot pay the value.
    #[error("insufficient balance for transfer")]
    InsufficientBalance,
    /// The address of a new contract is taken.
    #[error("contract address collision")]
    Collision,
    /// The code of a new contract is larger than EIP-170 allows.
    #[error("max code size exceeded")]
    MaxCodeSize,
    /// The code of a new contract begins with 0xef (EIP-3541).
    #[error("invalid code: must not begin with 0xef")]
    InvalidCode,
    /// The creator's nonce is at its end (EIP-2681).
    #[error("nonce uint64 overflow")]
    NonceOverflow,
    /// A jump to something else than a JUMPDEST.
    #[error("invalid jump destination")]
    InvalidJump,
    /// A change of state within STATICCALL (EIP-214).
    #[error("write protection")]
    WriteProtection,
    /// RETURNDATACOPY beyond the data (EIP-211).
    #[error("return data out of bounds")]
    ReturnDataOutOfBounds,
    /// An offset or a size does not fit 64 bits.
    #[error("gas uint64 overflow")]
    GasUintOverflow,
    /// Fewer items on the stack than the instruction takes.
    #[error("stack underflow ({len} <=> {required})")]
    StackUnderflow {
        /// Items on the stack.
        len: usize,
        /// Items that the instruction takes.
        required: usize,
    },
    /// No room on the stack for what the instruction leaves.
    #[error("stack limit reached {len} ({limit})")]
    StackOverflow {
        /// Items on the stack.
        len: usize,
        /// Items that may be there before the instruction.
        limit: usize,
    },
    /// No such instruction in this fork.
    #[error("invalid opcode: {}", crate::opcode::Name(*.0))]
    InvalidOpcode(u8),
    /// A precompiled contract refused its input.
    #[error("{0}")]
    Precompile(String),
}

/// Why the gas of an instruction could not be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GasRefusal {
    /// An offset or a size is too large.
    #[error("gas uint64 overflow")]
    Overflow,
    /// A change of state within STATICCALL.
    #[error("write protection")]
    WriteProtection,
    /// SSTORE with no more than the call stipend left (EIP-2200).
    #[error("not enough gas for reentrancy sentry")]
    ReentrancySentry,
    /// Not enough gas for the access itself.
    #[error("out of gas")]
    OutOfGas,
    /// Init code larger than EIP-3860 allows.
    #[error("max initcode size exceeded: size {0}")]
    InitCodeSize(u64),
}

impl Fault {
    /// Whether the frame ended with REVERT: its output is data for the caller.
    pub fn is_revert(&self) -> bool {
        matches!(self, Self::Reverted)
    }

    /// Whether an instruction failed before go-ethereum reports it as a step
    /// (core/vm/interpreter.go: Run).
    pub fn is_unpaid(&self) -> bool {
        matches!(
            self,
            Self::OutOfGas
                | Self::GasRefused(_)
                | Self::GasUintOverflow
                | Self::StackUnderflow { .. }
                | Self::StackOverflow { .. }
        )
    }

    /// The fault of a call that ended without a failing instruction.
    /// `refused` finds out why a precompiled contract refused its input.
    pub fn of_call(result: InstructionResult, refused: impl FnOnce() -> Self) -> Option<Self> {
        Some(match result {
            r if r.is_ok() => return None,
            InstructionResult::Revert => Self::Reverted,
            InstructionResult::CallTooDeep => Self::Depth,
            InstructionResult::OutOfFunds => Self::InsufficientBalance,
            InstructionResult::PrecompileError => refused(),
            _ => Self::OutOfGas,
        })
    }

    /// The fault of a creation that ended without a failing instruction. `ran` is true if its init
    /// code ran to its end.
    pub fn of_create(
        result: InstructionResult,
        address: Option<Address>,
        ran: bool,
        oversized: bool,
    ) -> Option<Self> {
        Some(match result {
            r if r.is_ok() => match address {
                None if !ran => Self::NonceOverflow,
                _ => return None,
            },
            InstructionResult::Revert => Self::Reverted,
            InstructionResult::CallTooDeep => Self::Depth,
            InstructionResult::OutOfFunds => Self::InsufficientBalance,
            InstructionResult::CreateCollision => Self::Collision,
            InstructionResult::CreateContractSizeLimit => Self::MaxCodeSize,
            InstructionResult::CreateContractStartingWithEF if oversized => Self::MaxCodeSize,
            InstructionResult::CreateContractStartingWithEF => Self::InvalidCode,
            _ if ran => Self::CodeStoreOutOfGas,
            _ => Self::OutOfGas,
        })
    }
}

//! Instructions that name accounts or slots, observed while a block is captured.
//!
//! If such an instruction succeeds, the interpreter has read what it names. If it fails, it may
//! have failed before that read. Tracers read it all the same, so it is read here. The constant gas
//! of the instruction is charged here instead of in the interpreter's loop, so that an instruction
//! that cannot even pay that is observed too.

use crate::machine::{EvmContext, Instructions};
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_primitives::StateError;
use revm::{
    bytecode::opcode as op,
    context_interface::context::ContextError,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult, Interpreter,
        instructions::{contract, host},
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, MemoryTr},
    },
};

/// Gas of hashing 32 bytes of init code (EIP-1014).
const HASH_WORD_GAS: u64 = 6;
/// Bytes of such a word.
const WORD_BYTES: u64 = 32;

type WatchedContext<'c, 'a> = InstructionContext<'c, EvmContext<'a>, EthInterpreter>;

/// Installs the observed instructions in a table, and returns the gas that they charge by
/// themselves. `sstore` is not replaced unless it is the interpreter's own.
pub(crate) fn install<'a>(instructions: &mut Instructions<'a>, own_sstore: bool) -> [u16; 256] {
    let gas = *instructions.gas_table();
    macro_rules! watch {
        ($($opcode:expr => $inner:expr),+ $(,)?) => {
            $({
                fn watched(context: WatchedContext<'_, '_>) -> InstructionExecResult {
                    watch::<{ $opcode }>(context, |context| $inner(context))
                }
                instructions.insert_instruction($opcode, Instruction::new(watched), 0);
            })+
        };
    }
    watch! {
        op::SLOAD => host::sload,
        op::BALANCE => host::balance,
        op::EXTCODESIZE => host::extcodesize,
        op::EXTCODEHASH => host::extcodehash,
        op::EXTCODECOPY => host::extcodecopy,
        op::SELFDESTRUCT => host::selfdestruct,
        op::CALL => contract::call::<{ op::CALL }, _, _>,
        op::CALLCODE => contract::call::<{ op::CALLCODE }, _, _>,
        op::DELEGATECALL => contract::call::<{ op::DELEGATECALL }, _, _>,
        op::STATICCALL => contract::call::<{ op::STATICCALL }, _, _>,
        op::CREATE => contract::create::<false, _, _>,
        op::CREATE2 => contract::create::<true, _, _>,
    }
    if own_sstore {
        watch! { op::SSTORE => crate::constantinople::sstore }
    } else {
        watch! { op::SSTORE => host::sstore }
    }
    gas
}

/// What an instruction names.
enum Named {
    Slot(U256),
    Account(Address),
    Created,
    Created2 { offset: U256, size: U256, salt: U256 },
}

impl Named {
    /// Reads the stack before the instruction; `None` where it is too short to name anything.
    #[inline(always)]
    fn by<const OP: u8>(interpreter: &Interpreter<EthInterpreter>) -> Option<Self> {
        let stack = interpreter.stack.data();
        let item = |depth: usize| stack.len().checked_sub(depth + 1).map(|index| stack[index]);
        let address = |depth| item(depth).map(|word: U256| Self::Account(Address::from_word(word.into())));
        match OP {
            op::SLOAD | op::SSTORE => item(0).map(Self::Slot),
            op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => address(1),
            op::CREATE => Some(Self::Created),
            op::CREATE2 => Some(Self::Created2 { offset: item(1)?, size: item(2)?, salt: item(3)? }),
            _ => address(0),
        }
    }
}

#[inline(always)]
fn watch<const OP: u8>(
    context: WatchedContext<'_, '_>,
    inner: impl FnOnce(WatchedContext<'_, '_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let named = Named::by::<OP>(interpreter);
    let gas_before = interpreter.gas.remaining();
    let gas = host.journaled_state.database.captured_gas(OP);
    let result = if interpreter.gas.record_cost_unsafe(gas) {
        Err(InstructionResult::OutOfGas)
    } else {
        inner(InstructionContext { interpreter: &mut *interpreter, host: &mut *host })
    };
    match result {
        Ok(()) | Err(InstructionResult::Suspend | InstructionResult::SelfDestruct) => result,
        Err(_) => failed(named, gas_before, interpreter, host, result),
    }
}

/// Reads what a failed instruction names. The failure stays the same, unless the state cannot be
/// read.
#[cold]
#[inline(never)]
fn failed(
    named: Option<Named>,
    gas: u64,
    interpreter: &Interpreter<EthInterpreter>,
    host: &mut EvmContext<'_>,
    result: InstructionExecResult,
) -> InstructionExecResult {
    match named.map_or(Ok(()), |named| read(named, gas, interpreter, host)) {
        Ok(()) => result,
        Err(error) => {
            host.error = Err(ContextError::Db(error.into()));
            Err(InstructionResult::FatalExternalError)
        }
    }
}

fn read(
    named: Named,
    gas: u64,
    interpreter: &Interpreter<EthInterpreter>,
    host: &mut EvmContext<'_>,
) -> Result<(), StateError> {
    let contract = interpreter.input.target_address();
    let journal = &mut host.journaled_state;
    let loaded = |address: &Address| journal.inner.state.get(address).map(|account| &account.info);
    let created = match named {
        Named::Slot(slot) => return journal.database.capture_slot(contract, slot),
        Named::Account(address) => {
            // An authorization of this transaction may have set another delegation than that of the
            // state.
            let code = loaded(&address).and_then(|info| info.code.as_ref());
            if let Some(target) = code.and_then(|code| code.eip7702_address()) {
                journal.database.account(target)?;
            }
            return journal.database.capture_account(address);
        }
        Named::Created => loaded(&contract).map(|info| contract.create(info.nonce)),
        Named::Created2 { offset, size, salt } => init_code(interpreter, offset, size, gas)
            .map(|code| contract.create2(B256::from(salt), keccak256(code))),
    };
    created.map_or(Ok(()), |address| journal.database.account(address).map(drop))
}

/// The init code that an instruction names in memory, with zeros beyond the end of the memory.
/// `None` if the gas would not have paid for its hash: no tracer reads it then.
fn init_code(
    interpreter: &Interpreter<EthInterpreter>,
    offset: U256,
    size: U256,
    gas: u64,
) -> Option<Vec<u8>> {
    let bytes = u64::try_from(size).ok()?;
    if bytes.div_ceil(WORD_BYTES).saturating_mul(HASH_WORD_GAS) > gas {
        return None;
    }
    let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
    let memory = interpreter.memory.slice(0..interpreter.memory.size());
    let from = offset.min(memory.len());
    let to = offset.checked_add(size)?.min(memory.len());
    let mut code = memory[from..to].to_vec();
    code.resize(size, 0);
    Some(code)
}

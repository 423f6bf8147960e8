//! Names and stack effects of opcodes, as go-ethereum has them (core/vm/opcodes.go: opCodeToString;
//! core/vm/jump_table.go).

use revm::bytecode::opcode::{self as op, OpCode};
use revm::primitives::hardfork::SpecId;
use std::fmt;

/// Items that the stack holds at most.
const STACK_LIMIT: usize = 1024;

/// An opcode's name in go-ethereum's errors (core/vm/opcodes.go: OpCode.String).
pub struct Name(pub u8);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "opcode {:#x} not defined", self.0),
        }
    }
}

/// The name of a defined opcode. Only names that revm lacks or spells differently are listed.
fn name(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        0x44 => "DIFFICULTY",
        0xd0 => "DATALOAD",
        0xd1 => "DATALOADN",
        0xd2 => "DATASIZE",
        0xd3 => "DATACOPY",
        0xe0 => "RJUMP",
        0xe1 => "RJUMPI",
        0xe2 => "RJUMPV",
        0xe3 => "CALLF",
        0xe4 => "RETF",
        0xe5 => "JUMPF",
        0xe6 => "DUPN",
        0xe7 => "SWAPN",
        0xe8 => "EXCHANGE",
        0xec => "EOFCREATE",
        0xee => "RETURNCONTRACT",
        0xf7 => "RETURNDATALOAD",
        0xf8 => "EXTCALL",
        0xf9 => "EXTDELEGATECALL",
        0xfb => "EXTSTATICCALL",
        // Introduced after the forks that this table knows.
        0x4b => return None,
        _ => OpCode::new(opcode)?.as_str(),
    })
}

/// Items that the instruction takes from the stack.
#[inline]
pub fn inputs(opcode: u8) -> usize {
    match opcode {
        0x80..=0x8f => usize::from(opcode) - 0x7f,
        0x90..=0x9f => usize::from(opcode) - 0x8e,
        _ => OpCode::new(opcode).map_or(0, |o| usize::from(o.inputs())),
    }
}

/// Items that the instruction leaves on the stack.
#[inline]
pub fn outputs(opcode: u8) -> usize {
    match opcode {
        0x80..=0x8f => usize::from(opcode) - 0x7e,
        0x90..=0x9f => usize::from(opcode) - 0x8e,
        _ => OpCode::new(opcode).map_or(0, |o| usize::from(o.outputs())),
    }
}

/// Items that may be on the stack before the instruction.
#[inline]
pub fn max_stack(opcode: u8) -> usize {
    STACK_LIMIT + inputs(opcode) - outputs(opcode)
}

/// Whether the fork has the instruction.
#[inline]
pub fn is_active(opcode: u8, spec: SpecId) -> bool {
    let since = match opcode {
        op::INVALID => return false,
        op::DELEGATECALL => SpecId::HOMESTEAD,
        op::RETURNDATASIZE | op::RETURNDATACOPY | op::STATICCALL | op::REVERT => SpecId::BYZANTIUM,
        op::SHL | op::SHR | op::SAR | op::EXTCODEHASH | op::CREATE2 => SpecId::PETERSBURG,
        op::CHAINID | op::SELFBALANCE => SpecId::ISTANBUL,
        op::BASEFEE => SpecId::LONDON,
        op::PUSH0 => SpecId::SHANGHAI,
        op::BLOBHASH | op::BLOBBASEFEE | op::TLOAD | op::TSTORE | op::MCOPY => SpecId::CANCUN,
        op::CLZ => SpecId::OSAKA,
        0x00..=0x0b | 0x10..=0x1a | 0x20 | 0x30..=0x3c | 0x40..=0x45 | 0x50..=0x5b | 0x60..=0xa4 => {
            SpecId::FRONTIER
        }
        op::CREATE | op::CALL | op::CALLCODE | op::RETURN | op::SELFDESTRUCT => SpecId::FRONTIER,
        _ => return false,
    };
    spec.is_enabled_in(since)
}

/// Gas that go-ethereum takes before it looks at memory, whatever the instruction's operands are
/// (core/vm/jump_table.go: operation.constantGas; core/vm/eips.go for what a fork changes).
pub fn constant_gas(opcode: u8, spec: SpecId) -> u64 {
    let by_fork = |frontier, tangerine, istanbul, berlin| match spec {
        s if s.is_enabled_in(SpecId::BERLIN) => berlin,
        s if s.is_enabled_in(SpecId::ISTANBUL) => istanbul,
        s if s.is_enabled_in(SpecId::TANGERINE) => tangerine,
        _ => frontier,
    };
    match opcode {
        op::ADDRESS | op::ORIGIN | op::CALLER | op::CALLVALUE | op::CALLDATASIZE | op::CODESIZE => 2,
        op::GASPRICE | op::COINBASE | op::TIMESTAMP | op::NUMBER | op::DIFFICULTY | op::GASLIMIT => 2,
        op::RETURNDATASIZE | op::CHAINID | op::BASEFEE | op::BLOBBASEFEE | op::POP => 2,
        op::PC | op::MSIZE | op::GAS | op::PUSH0 => 2,
        op::MUL | op::DIV | op::SDIV | op::MOD | op::SMOD | op::SIGNEXTEND | op::SELFBALANCE | op::CLZ => 5,
        op::ADDMOD | op::MULMOD | op::JUMP => 8,
        op::JUMPI => 10,
        op::JUMPDEST => 1,
        op::BLOCKHASH => 20,
        op::KECCAK256 => 30,
        op::EXTCODESIZE | op::EXTCODECOPY => by_fork(20, 700, 700, 100),
        op::BALANCE => by_fork(20, 400, 700, 100),
        op::EXTCODEHASH => by_fork(400, 400, 700, 100),
        op::SLOAD => by_fork(50, 200, 800, 0),
        op::CREATE | op::CREATE2 => 32_000,
        op::CALL | op::CALLCODE | op::DELEGATECALL | op::STATICCALL => by_fork(40, 700, 700, 100),
        op::SELFDESTRUCT => by_fork(0, 0, 0, 5000),
        op::TLOAD | op::TSTORE => 100,
        op::STOP | op::EXP | op::SSTORE | op::RETURN | op::REVERT | op::INVALID => 0,
        op::LOG0..=op::LOG4 => 0,
        other if OpCode::new(other).is_some() => 3,
        _ => 0,
    }
}

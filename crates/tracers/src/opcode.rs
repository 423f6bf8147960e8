//! Names and stack effects of opcodes, as go-ethereum has them.

use revm::bytecode::opcode::OpCode;
use std::fmt;

/// Items that the stack holds at most.
const STACK_LIMIT: usize = 1024;

/// An opcode's name in go-ethereum's errors.
pub(crate) struct Name(pub(crate) u8);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "opcode {:#x} not defined", self.0),
        }
    }
}

/// The name, where it is not undefined. Only names that revm lacks or spells in another way are listed.
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
pub(crate) fn inputs(opcode: u8) -> usize {
    match opcode {
        0x80..=0x8f => usize::from(opcode) - 0x7f,
        0x90..=0x9f => usize::from(opcode) - 0x8e,
        _ => OpCode::new(opcode).map_or(0, |o| usize::from(o.inputs())),
    }
}

/// Items that the instruction leaves on the stack.
fn outputs(opcode: u8) -> usize {
    match opcode {
        0x80..=0x8f => usize::from(opcode) - 0x7e,
        0x90..=0x9f => usize::from(opcode) - 0x8e,
        _ => OpCode::new(opcode).map_or(0, |o| usize::from(o.outputs())),
    }
}

/// Items that may be on the stack before the instruction.
pub(crate) fn max_stack(opcode: u8) -> usize {
    STACK_LIMIT + inputs(opcode) - outputs(opcode)
}

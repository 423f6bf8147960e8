//! Which part of memory an instruction writes.

use alloy_primitives::U256;
use revm::bytecode::opcode as op;

/// Bytes of memory in one event.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// Where an instruction will write: offset and length, as far as there is anything.
pub(crate) fn written_by(opcode: u8, stack: &[U256]) -> Option<(usize, usize)> {
    let item = |depth: usize| {
        let word = stack.len().checked_sub(depth + 1).map(|at| stack[at])?;
        usize::try_from(word).ok()
    };
    let (offset, length) = match opcode {
        op::MSTORE => (item(0)?, 32),
        op::MSTORE8 => (item(0)?, 1),
        op::CALLDATACOPY | op::CODECOPY | op::RETURNDATACOPY | op::MCOPY => (item(0)?, item(2)?),
        op::EXTCODECOPY => (item(1)?, item(3)?),
        op::CALL | op::CALLCODE => (item(5)?, item(6)?),
        op::DELEGATECALL | op::STATICCALL => (item(4)?, item(5)?),
        _ => return None,
    };
    (length > 0).then_some((offset, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_tell_what_is_written() {
        let stack: Vec<U256> = (0..8).map(U256::from).collect();
        let cases = [
            (op::MSTORE, Some((7, 32))),
            (op::MSTORE8, Some((7, 1))),
            (op::MCOPY, Some((7, 5))),
            (op::EXTCODECOPY, Some((6, 4))),
            (op::CALL, Some((2, 1))),
            (op::STATICCALL, Some((3, 2))),
            (op::MLOAD, None),
        ];
        for (opcode, range) in cases {
            assert_eq!(written_by(opcode, &stack), range, "{opcode:#x}");
        }
        assert_eq!(written_by(op::MSTORE, &[]), None);
        assert_eq!(written_by(op::MSTORE, &[U256::MAX]), None);
        assert_eq!(written_by(op::CALLDATACOPY, &[U256::ZERO; 3]), None, "of no length");
    }
}

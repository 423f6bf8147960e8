//! Stack items that an instruction cannot have changed, counted from the bottom.

use hearth_recorder::opcode::inputs;
use std::sync::LazyLock;

/// Most words that one step adds; no instruction changes more.
const MOST: usize = 255;

/// Words at the top that an instruction may have changed or taken.
static CHANGED: LazyLock<Box<[u8; 256]>> = LazyLock::new(|| {
    Box::new(std::array::from_fn(|opcode| match opcode as u8 {
        // DUP1 to DUP16, DUPN: nothing below the new word.
        0x80..=0x8f | 0xe6 => 0,
        // SWAPN, EXCHANGE (EIP-8024): as deep as their operand says.
        0xe7 | 0xe8 => MOST as u8,
        opcode => inputs(opcode).min(MOST) as u8,
    }))
});

/// The table of all opcodes.
pub(crate) fn changed() -> &'static [u8; 256] {
    &CHANGED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_instruction_changes_more_than_is_said() {
        let changed = changed();
        let cases = [(0x60, 0), (0x01, 2), (0x80, 0), (0x8f, 0), (0x90, 2), (0x9f, 17), (0x50, 1), (0xf1, 7)];
        for (opcode, words) in cases {
            assert_eq!(changed[opcode], words, "{opcode:#x}");
        }
    }
}

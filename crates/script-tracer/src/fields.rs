//! What of a transaction a script can reach.

use std::ops::{BitOr, BitOrAssign};

/// A set of what is recorded for a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(pub u32);

impl Fields {
    /// The script has `step`.
    pub const STEP: Self = Self(1);
    /// Opcodes.
    pub const OP: Self = Self(1 << 1);
    /// Program counters.
    pub const PC: Self = Self(1 << 2);
    /// Gas left.
    pub const GAS: Self = Self(1 << 3);
    /// What instructions cost.
    pub const COST: Self = Self(1 << 4);
    /// Depths.
    pub const DEPTH: Self = Self(1 << 5);
    /// The refund counter.
    pub const REFUND: Self = Self(1 << 6);
    /// The stack.
    pub const STACK: Self = Self(1 << 7);
    /// What is in memory.
    pub const MEMORY: Self = Self(1 << 8);
    /// The size of memory.
    pub const MEMLEN: Self = Self(1 << 9);
    /// Caller, address and value of the running contract.
    pub const CONTRACT: Self = Self(1 << 10);
    /// Its input.
    pub const INPUT: Self = Self(1 << 11);
    /// Frames that are entered and left.
    pub const FRAMES: Self = Self(1 << 12);
    /// What changes in the state.
    pub const JOURNAL: Self = Self(1 << 13);
    /// Everything.
    pub const ALL: Self = Self((1 << 14) - 1);

    /// Whether one of these is in the set.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing but these is in the set.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

impl BitOr for Fields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Fields {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

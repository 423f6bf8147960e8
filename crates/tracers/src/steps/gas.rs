//! Sums of gas by code and place, by opcode and by frame, each bounded in rows.

use super::limits::{MAX_CODE_ADDRESSES, MAX_FRAMES, MAX_PROFILE_CODES, MAX_PROFILE_ROWS};
use alloy_primitives::{Address, B256};
use hearth_recorder::recorder::NONE;
use std::collections::HashMap;

/// Number of steps, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepTotal {
    pub(super) count: u64,
    pub(super) gas: u64,
}

impl StepTotal {
    #[inline(always)]
    pub(super) fn add(&mut self, gas: u64) {
        self.count += 1;
        self.gas += gas;
    }
}

/// One code.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) hash: B256,
    /// It is that of a creation.
    pub(super) init: bool,
    /// Whose code it is, as far as there is room; of a creation's the account that it makes.
    pub(super) addresses: Vec<Address>,
}

/// The codes that ran.
#[derive(Debug, Default)]
pub(super) struct Codes {
    pub(super) list: Vec<Code>,
    places: HashMap<(B256, bool), u32>,
}

impl Codes {
    /// The place of a code; [`NONE`] where there is no more room.
    pub(super) fn place(&mut self, hash: B256, init: bool, address: Address) -> u32 {
        let place = match self.places.get(&(hash, init)) {
            Some(place) => *place,
            None if self.list.len() == MAX_PROFILE_CODES => return NONE,
            None => {
                let place = self.list.len() as u32;
                self.list.push(Code { hash, init, addresses: Vec::new() });
                self.places.insert((hash, init), place);
                place
            }
        };
        let addresses = &mut self.list[place as usize].addresses;
        if addresses.len() < MAX_CODE_ADDRESSES && !addresses.contains(&address) {
            addresses.push(address);
        }
        place
    }

    pub(super) fn size_bytes(&self) -> usize {
        let addresses: usize = MAX_CODE_ADDRESSES * size_of::<Address>();
        self.list.len() * (2 * size_of::<Code>() + addresses)
    }
}

/// Gas by code and place.
#[derive(Debug, Default)]
pub(super) struct ByPc {
    rows: HashMap<(u32, u32), (u8, StepTotal), alloy_primitives::map::DefaultHashBuilder>,
    pub(super) omitted: StepTotal,
}

impl ByPc {
    #[inline(always)]
    pub(super) fn add(&mut self, code: u32, pc: u32, opcode: u8, gas: u64) {
        let is_full = self.rows.len() == MAX_PROFILE_ROWS;
        match self.rows.entry((code, pc)) {
            std::collections::hash_map::Entry::Occupied(mut row) => row.get_mut().1.add(gas),
            std::collections::hash_map::Entry::Vacant(row) if !is_full && code != NONE => {
                row.insert((opcode, StepTotal { count: 1, gas }));
            }
            std::collections::hash_map::Entry::Vacant(_) => self.omitted.add(gas),
        }
    }

    /// The rows, by code and place.
    pub(super) fn sorted(&self) -> Vec<(u32, u32, u8, StepTotal)> {
        let mut rows: Vec<_> =
            self.rows.iter().map(|(&(code, pc), &(opcode, total))| (code, pc, opcode, total)).collect();
        rows.sort_unstable_by_key(|&(code, pc, ..)| (code, pc));
        rows
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.rows.len() * 2 * size_of::<((u32, u32), (u8, StepTotal))>()
    }
}

/// Gas of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameGas {
    /// Its own steps.
    pub(super) steps: u64,
    /// What it cost its parent.
    pub(super) used: u64,
    /// What the frames that it called cost it.
    pub(super) handed_on: u64,
}

impl FrameGas {
    /// Gas without that of the frames that it called.
    pub(super) fn own(&self) -> u64 {
        self.used.saturating_sub(self.handed_on)
    }
}

/// Gas by frame.
#[derive(Debug, Default)]
pub(super) struct ByFrame {
    pub(super) rows: Vec<FrameGas>,
    /// Steps of the frames without a row, and gas of these.
    pub(super) omitted: StepTotal,
    /// Number of frames without a row.
    pub(super) more: u64,
    /// Open frames: number of the frame, and what those below it cost.
    open: Vec<(u32, u64)>,
}

impl ByFrame {
    pub(super) fn enter(&mut self, number: u32) {
        if self.rows.len() < MAX_FRAMES {
            self.rows.push(FrameGas::default());
        } else {
            self.more += 1;
        }
        self.open.push((number, 0));
    }

    pub(super) fn leave(&mut self, used: u64) {
        let Some((number, handed_on)) = self.open.pop() else { return };
        if let Some((_, parent)) = self.open.last_mut() {
            *parent += used;
        }
        match self.rows.get_mut(number as usize) {
            Some(row) => (row.used, row.handed_on) = (used, handed_on),
            None => self.omitted.gas += used.saturating_sub(handed_on),
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, frame: u32) {
        match self.rows.get_mut(frame as usize) {
            Some(row) => row.steps += 1,
            None => self.omitted.count += 1,
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.rows.len() * size_of::<FrameGas>()
    }
}

//! Stacks of functions: which function of which code called which, with gas and steps of each.
//!
//! Compilers mark jumps that enter or leave a function (Solidity's source maps: `i` and `o`). A
//! function is named by the place that a jump into it goes to; the code of a frame outside of any
//! function by place 0.

use super::limits::{MAX_PROFILE_ROWS, MAX_STACK_DEPTH};
use hearth_recorder::recorder::NONE;
use std::collections::HashMap;

/// A function as it is called from the function at `parent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// Place of the caller in the tree; [`NONE`] for the first.
    pub(super) parent: u32,
    pub(super) code: u32,
    pub(super) pc: u32,
    /// Its own steps.
    pub(super) count: u64,
    /// What these cost.
    pub(super) gas: u64,
}

/// The functions of an open frame.
#[derive(Clone, Copy, Debug)]
struct FrameFunctions {
    /// Length of the path below the frame.
    base: usize,
    /// Functions that were entered beyond the greatest depth.
    beyond: u64,
    /// The last step jumped into a function.
    entering: bool,
}

/// The tree of functions, and where in it the execution is.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    pub(super) functions: Vec<Function>,
    places: HashMap<(u32, u32, u32), u32>,
    /// Places of the functions that run, the innermost last.
    path: Vec<u32>,
    levels: Vec<FrameFunctions>,
}

impl Stacks {
    /// Forgets where the last execution was, but not what it used.
    pub(super) fn restart(&mut self) {
        self.path.clear();
        self.levels.clear();
    }

    pub(super) fn enter_frame(&mut self) {
        self.levels.push(FrameFunctions { base: self.path.len(), beyond: 0, entering: false });
    }

    /// The code of the innermost frame begins.
    pub(super) fn enter_code(&mut self, code: u32) {
        self.push(code, 0);
    }

    pub(super) fn leave_frame(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.path.truncate(level.base);
        }
    }

    /// Before a step: where the one before it jumped into a function, that is entered.
    #[inline(always)]
    pub(super) fn before(&mut self, code: u32, pc: u32) {
        if let Some(level) = self.levels.last_mut()
            && std::mem::take(&mut level.entering)
        {
            self.push(code, pc);
        }
    }

    /// Adds a step to the function that runs.
    #[inline(always)]
    pub(super) fn add(&mut self, gas: u64) {
        if let Some(function) = self.path.last().and_then(|place| self.functions.get_mut(*place as usize)) {
            function.count += 1;
            function.gas += gas;
        }
    }

    /// A jump that enters a function, or leaves one, has run.
    pub(super) fn jumped(&mut self, enters: bool) {
        let Some(level) = self.levels.last_mut() else { return };
        if enters {
            level.entering = true;
        } else if level.beyond > 0 {
            level.beyond -= 1;
        } else if self.path.len() > level.base + 1 {
            self.path.pop();
        }
    }

    fn push(&mut self, code: u32, pc: u32) {
        if self.path.len() == MAX_STACK_DEPTH {
            if let Some(level) = self.levels.last_mut() {
                level.beyond += 1;
            }
            return;
        }
        let parent = self.path.last().copied().unwrap_or(NONE);
        let place = self.place(parent, code, pc);
        self.path.push(place);
    }

    /// The place of a function in the tree; that of its caller where there is no more room.
    fn place(&mut self, parent: u32, code: u32, pc: u32) -> u32 {
        if let Some(place) = self.places.get(&(parent, code, pc)) {
            return *place;
        }
        if self.functions.len() == MAX_PROFILE_ROWS {
            return parent;
        }
        let place = self.functions.len() as u32;
        self.functions.push(Function { parent, code, pc, count: 0, gas: 0 });
        self.places.insert((parent, code, pc), place);
        place
    }

    pub(super) fn size_bytes(&self) -> usize {
        // A function has an entry in the list and one in the map.
        self.functions.len() * (size_of::<Function>() + 2 * size_of::<((u32, u32, u32), u32)>())
    }
}

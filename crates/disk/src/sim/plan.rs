//! Which calls fail, and how.

use super::rng::Rng;
use std::{collections::VecDeque, io};

/// Kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// A file is made.
    Create,
    /// A file is opened, or a lock taken.
    Open,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file is cut off or extended.
    SetLen,
    /// A file is synced.
    Sync,
    /// A folder is synced.
    SyncDir,
    /// A name is moved.
    Rename,
    /// A file is unlinked.
    Remove,
    /// A folder is made.
    CreateDir,
    /// A folder is removed.
    RemoveDir,
    /// Names, kinds, sizes or free space are requested.
    Look,
}

impl Call {
    /// Whether the disk may be another one after it.
    pub const fn changes(self) -> bool {
        !matches!(self, Self::Open | Self::Read | Self::Look)
    }
}

/// What a failing call answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An I/O error, EIO.
    Io,
    /// No space, ENOSPC.
    Full,
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Self::Io => io::Error::from(rustix::io::Errno::IO),
            Self::Full => io::Error::from(rustix::io::Errno::NOSPC),
        }
    }
}

/// The calls that will fail.
#[derive(Debug)]
pub(super) struct Plan {
    /// Calls that changed something, so far.
    pub(super) changes: u64,
    /// The number of changes after which nothing answers any more.
    pub(super) dies_after: u64,
    /// Set by the call in which the disk dies.
    pub(super) dying: bool,
    /// Kind, how many of it go well first, and the fault.
    pub(super) faults: Vec<(Call, u64, Fault)>,
    /// Calls that answer as if they had been carried out.
    pub(super) ignored: Vec<Call>,
    /// Short reads and writes: one in so many calls; 0 for none.
    pub(super) short_one_in: u64,
    pub(super) rng: Rng,
    /// The newest calls, for a look at what led to a failure.
    pub(super) journal: VecDeque<String>,
    pub(super) journal_len: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            changes: 0,
            dies_after: u64::MAX,
            dying: false,
            faults: Vec::new(),
            ignored: Vec::new(),
            short_one_in: 0,
            rng: Rng::new(0),
            journal: VecDeque::new(),
            journal_len: 0,
        }
    }
}

/// What becomes of a call.
pub(super) enum Verdict {
    /// It is carried out.
    Goes,
    /// It answers as if it had been.
    Lies,
    /// It fails; a sync takes its dirty pages with it.
    Fails(io::Error),
}

impl Plan {
    /// Whether nothing answers any more.
    pub(super) fn dead(&self) -> bool {
        self.changes >= self.dies_after
    }

    /// Appends to the journal, where one is kept.
    pub(super) fn remark(&mut self, what: impl FnOnce() -> String) {
        if self.journal_len > 0 {
            if self.journal.len() == self.journal_len {
                self.journal.pop_front();
            }
            self.journal.push_back(what());
        }
    }

    /// Counts a call and says what becomes of it.
    pub(super) fn enter(&mut self, call: Call, what: impl FnOnce() -> String) -> io::Result<Verdict> {
        if self.dead() {
            // The call in which it died was an earlier one, and not a write, which would have taken
            // this.
            self.dying = false;
            return Err(io::Error::other("the disk is dead"));
        }
        let changes = self.changes;
        self.remark(|| format!("{changes} {call:?} {}", what()));
        self.changes += u64::from(call.changes());
        if self.dead() {
            self.dying = true;
            return Err(io::Error::other("the disk died in this call"));
        }
        if self.ignored.contains(&call) {
            return Ok(Verdict::Lies);
        }
        let Some(at) = self.faults.iter().position(|(of, left, _)| *of == call && *left == 0) else {
            self.faults.iter_mut().filter(|(of, ..)| *of == call).for_each(|(_, left, _)| *left -= 1);
            return Ok(Verdict::Goes);
        };
        let (.., fault) = self.faults.swap_remove(at);
        // Another fault that was due at this very call falls on the next one.
        let others = self.faults.iter_mut().filter(|(of, ..)| *of == call);
        others.for_each(|(_, left, _)| *left = left.saturating_sub(1));
        Ok(Verdict::Fails(fault.error()))
    }

    /// How many of `n` bytes a read or write moves.
    pub(super) fn short(&mut self, n: usize) -> usize {
        if self.short_one_in > 0 && n > 1 && self.rng.chance(1, self.short_one_in) {
            1 + self.rng.below(n as u64 - 1) as usize
        } else {
            n
        }
    }
}

//! Processes of the model: they run until they are killed, and cost nothing.

use crate::Layers;
use crate::child::Program;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

/// Numbers from here on belong to no process of the system.
const FIRST_ID: u32 = 1 << 30;

thread_local! {
    /// The children's ends of the channels, by process. Shuttle runs all threads of a model on one.
    static RUNNING: RefCell<HashMap<u32, OwnedFd>> = RefCell::default();
    static LAST_ID: Cell<u32> = const { Cell::new(FIRST_ID) };
}

#[derive(Debug)]
pub(crate) struct Process(u32);

impl Process {
    pub fn id(&self) -> u32 {
        self.0
    }

    pub fn kill(&self) {
        kill(self.0);
    }

    pub fn layers(&self) -> Layers {
        Layers::NONE
    }

    pub fn was_forbidden(&self) -> bool {
        false
    }

    pub fn is_over(&mut self) -> bool {
        !RUNNING.with_borrow(|running| running.contains_key(&self.0))
    }
}

pub(crate) fn spawn(program: &Program, channel: RawFd, _: Layers, _: u64) -> Result<Process> {
    if !program.path.starts_with("/model") {
        return Err(Error::from(ErrorKind::NotFound));
    }
    // SAFETY: the caller keeps the descriptor open during the call.
    let channel = unsafe { BorrowedFd::borrow_raw(channel) }.try_clone_to_owned()?;
    let id = LAST_ID.get() + 1;
    LAST_ID.set(id);
    RUNNING.with_borrow_mut(|running| running.insert(id, channel));
    Ok(Process(id))
}

pub(crate) fn kill(id: u32) {
    RUNNING.with_borrow_mut(|running| running.remove(&id));
}

/// Processes that run.
pub(crate) fn running() -> usize {
    RUNNING.with_borrow(HashMap::len)
}

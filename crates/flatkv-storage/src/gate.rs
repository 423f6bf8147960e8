//! Reads wait at the gate while the batch of a commit is on its way: the WAL has the commit and the
//! head has moved, and RocksDB does not have the rows yet.

use hearth_primitives::StateError;
use parking_lot::{Condvar, Mutex};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::{Duration, Instant},
};

/// Longest wait at the gate. A batch takes milliseconds.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Most that counts of the time between two looks: while the process is stopped, no batch is
/// written.
const LOOK_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
enum State {
    #[default]
    Open,
    /// A batch is on its way. `needed` once a caller of [`Gate::pass`] waits for it.
    Closed { needed: bool },
    /// A batch was not written: the head's rows are in the WAL alone.
    Failed(String),
}

/// See the module.
#[derive(Debug, Default)]
pub struct Gate {
    /// Whether the state is another one than [`State::Open`].
    shut: AtomicBool,
    state: Mutex<State>,
    /// The state is another one.
    changed: Condvar,
    /// The batch is needed.
    needed: Condvar,
}

impl Gate {
    /// Closes the gate until the guard says that the batch is written. A guard that is dropped
    /// before counts as a failure.
    pub fn close(self: &std::sync::Arc<Self>) -> Closed {
        let mut state = self.state.lock();
        *state = State::Closed { needed: false };
        self.shut.store(true, SeqCst);
        drop(state);
        Closed { gate: self.clone(), written: false }
    }

    /// Returns once no batch is on its way.
    ///
    /// # Errors
    /// [`StateError::Store`] where the batch failed: until the store is opened again, which replays
    /// the WAL; where the batch takes longer than any batch does.
    pub fn pass(&self) -> Result<(), StateError> {
        if self.is_written()? { Ok(()) } else { Err(late()) }
    }

    /// Waits for the batch that is on its way. False where that takes longer than any batch does:
    /// the batch did not fail, and may be written later.
    ///
    /// # Errors
    /// [`StateError::Store`] where the batch failed.
    pub fn is_written(&self) -> Result<bool, StateError> {
        self.wait(WAIT_MAX)
    }

    fn wait(&self, most: Duration) -> Result<bool, StateError> {
        if !self.shut.load(SeqCst) {
            return Ok(true);
        }
        let mut waited = Duration::ZERO;
        let mut state = self.state.lock();
        loop {
            match &mut *state {
                State::Open => return Ok(true),
                State::Failed(cause) => {
                    let what =
                        format!("the rows of the head were not written ({cause}); start the node again");
                    return Err(StateError::Store(what));
                }
                State::Closed { needed: true } => {}
                State::Closed { needed } => {
                    *needed = true;
                    self.needed.notify_one();
                }
            }
            if waited >= most {
                return Ok(false);
            }
            let began = Instant::now();
            self.changed.wait_for(&mut state, LOOK_AFTER.min(most.saturating_sub(waited)));
            waited += began.elapsed().min(LOOK_AFTER);
        }
    }

    /// Whether a read would not wait.
    pub fn is_open(&self) -> bool {
        !self.shut.load(SeqCst)
    }
}

/// The error of what cannot wait any longer for a batch that may still be written.
pub fn late() -> StateError {
    let seconds = WAIT_MAX.as_secs();
    StateError::Store(format!("the rows of the head are not written after {seconds} s: the disk is slow"))
}

/// A gate that is closed.
pub struct Closed {
    gate: std::sync::Arc<Gate>,
    written: bool,
}

impl Closed {
    /// Returns as soon as a caller of [`Gate::pass`] waits for the batch, and after `most` at the
    /// latest.
    pub fn wait_until_needed(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut state = self.gate.state.lock();
        while matches!(*state, State::Closed { needed: false })
            && !self.gate.needed.wait_until(&mut state, until).timed_out()
        {}
    }

    /// Lets reads pass again, or fail where the batch was not written.
    pub fn open<T>(mut self, written: &Result<T, StateError>) {
        self.written = true;
        match written {
            Ok(_) => self.set(State::Open),
            Err(error) => self.set(State::Failed(error.to_string())),
        }
    }

    fn set(&self, state: State) {
        let open = matches!(state, State::Open);
        // Under the lock: a later store could reopen the gate that the next commit has closed.
        let mut current = self.gate.state.lock();
        *current = state;
        if open {
            self.gate.shut.store(false, SeqCst);
        }
        drop(current);
        self.gate.changed.notify_all();
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if !self.written {
            self.set(State::Failed("its thread ended".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn reads_wait_for_the_batch_and_fail_where_it_failed() {
        let gate = Arc::new(Gate::default());
        gate.pass().unwrap();
        let closed = gate.close();
        assert!(!gate.is_open());
        let (gate_of_reader, (passed, has_passed)) = (gate.clone(), std::sync::mpsc::channel());
        let reader = std::thread::spawn(move || passed.send(gate_of_reader.pass()).unwrap());
        assert!(has_passed.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
        closed.open(&Ok(()));
        has_passed.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
        reader.join().unwrap();
        assert!(gate.is_open());

        gate.close().open::<()>(&Err(StateError::Store("no space".to_owned())));
        for _ in 0..2 {
            let error = gate.pass().unwrap_err().to_string();
            assert!(error.contains("no space); start the node again"), "{error}");
        }
    }

    #[test]
    fn a_batch_that_is_put_off_is_written_once_it_is_needed() {
        let gate = Arc::new(Gate::default());
        let closed = gate.close();
        let began = Instant::now();
        closed.wait_until_needed(Duration::from_millis(10));
        assert!(began.elapsed() >= Duration::from_millis(10), "nothing needs it");
        let writer = std::thread::spawn(move || {
            closed.wait_until_needed(Duration::from_secs(3_600));
            closed.open(&Ok(()));
        });
        gate.pass().unwrap();
        writer.join().unwrap();
        assert!(gate.is_open());
        // What the commit before needed says nothing of the next one.
        let closed = gate.close();
        assert!(matches!(*gate.state.lock(), State::Closed { needed: false }));
        closed.open(&Ok(()));
    }

    #[test]
    fn a_batch_that_takes_long_is_no_failure() {
        let gate = Arc::new(Gate::default());
        let closed = gate.close();
        let began = Instant::now();
        assert!(!gate.wait(Duration::from_millis(20)).unwrap());
        assert!(began.elapsed() >= Duration::from_millis(20));
        closed.open(&Ok(()));
        assert!(gate.wait(Duration::ZERO).unwrap());
        gate.pass().unwrap();
    }

    #[test]
    fn a_thread_that_ends_without_a_word_counts_as_a_failure() {
        let gate = Arc::new(Gate::default());
        drop(gate.close());
        assert!(gate.pass().unwrap_err().to_string().contains("its thread ended"));
    }
}

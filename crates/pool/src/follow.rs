//! How the pool follows the head: on a thread of its own, so that a move of the head does not take
//! longer the more transactions wait. Who uses the pool meanwhile waits for that thread.

use hearth_chain::BlockNumHash;
use parking_lot::{Condvar, Mutex};
use std::{
    mem::take,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread::ThreadId,
    time::{Duration, Instant},
};

/// Most blocks that left the chain whose transactions are looked at, in one go.
const RETURNED_BLOCKS_MAX: usize = 1_024;

/// How long the pool lets the answer that moved the head go first, unless it is used before.
const FOLLOW_AFTER: Duration = Duration::from_millis(5);

/// Longest wait of a caller for the pool to follow. After it the pool answers for the head before,
/// as go-ethereum's does for a while after each block.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How often the thread looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct FollowState {
    /// Blocks that left the chain: of each move the oldest one first, so that nonces follow each
    /// other.
    removed: Vec<BlockNumHash>,
    /// Moves of the head so far, and those that the pool has followed.
    moves: u64,
    followed: u64,
    /// Whether a caller waits.
    needed: bool,
    /// The thread that follows; absent before it runs and after its end.
    follower: Option<ThreadId>,
    closed: bool,
}

impl FollowState {
    fn is_behind(&self) -> bool {
        self.moves != self.followed
    }
}

/// Moves of the head that the pool has not followed yet.
#[derive(Debug, Default)]
pub(super) struct Follow {
    /// [`FollowState::is_behind`], for callers that need not wait.
    behind: AtomicBool,
    state: Mutex<FollowState>,
    /// The head moved, a caller waits, or the thread is to end.
    changed: Condvar,
    /// The pool has followed.
    settled: Condvar,
}

/// A part of the work of the thread: all moves up to `number`.
pub(super) struct Moves {
    number: u64,
    /// Blocks that left the chain, see [`FollowState::removed`].
    pub removed: Vec<BlockNumHash>,
}

impl Follow {
    /// Waits until the pool has followed the last move of the head, at most [`WAIT_MAX`].
    pub fn catch_up(&self) {
        if !self.behind.load(SeqCst) {
            return;
        }
        let until = Instant::now() + WAIT_MAX;
        let mut state = self.state.lock();
        let is_follower = state.follower == Some(std::thread::current().id());
        while state.is_behind() && !is_follower {
            if !state.needed {
                state.needed = true;
                self.changed.notify_all();
            }
            if self.settled.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// Hands a move of the head to the thread, with the blocks that it removed, the last one first.
    /// `false` where there is no thread.
    pub fn moved(&self, removed: &[BlockNumHash]) -> bool {
        let mut state = self.state.lock();
        if state.follower.is_none() {
            return false;
        }
        state.moves += 1;
        let room = RETURNED_BLOCKS_MAX.saturating_sub(state.removed.len());
        state.removed.extend(removed.iter().rev().take(room));
        self.behind.store(true, SeqCst);
        self.changed.notify_all();
        true
    }

    /// Declares this thread the one that follows.
    pub fn begin(&self) -> Follower<'_> {
        self.state.lock().follower = Some(std::thread::current().id());
        Follower(self)
    }

    /// Ends the thread; no later move is handed to it.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}

/// The thread that follows, while it runs.
pub(super) struct Follower<'a>(&'a Follow);

impl Follower<'_> {
    /// The next moves to follow; `None` once the thread is to end.
    pub fn next(&self) -> Option<Moves> {
        let Follow { state, changed, .. } = self.0;
        let mut state = state.lock();
        while !state.is_behind() && !state.closed {
            changed.wait_for(&mut state, LOOK_EVERY);
        }
        let until = Instant::now() + FOLLOW_AFTER;
        while !state.needed && !state.closed && !changed.wait_until(&mut state, until).timed_out() {}
        let removed = take(&mut state.removed);
        (!state.closed).then_some(Moves { number: state.moves, removed })
    }

    /// Notes that these moves are followed.
    pub fn done(&self, moves: &Moves) {
        let mut state = self.0.state.lock();
        state.followed = moves.number;
        if !state.is_behind() {
            state.needed = false;
            self.0.behind.store(false, SeqCst);
            self.0.settled.notify_all();
        }
    }
}

impl Drop for Follower<'_> {
    /// Also after a panic: no caller waits for a thread that is gone.
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        (state.follower, state.followed) = (None, state.moves);
        self.0.behind.store(false, SeqCst);
        self.0.settled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use std::sync::{Arc, mpsc};

    /// A thread that follows and says which moves it got; it continues when it may.
    fn follower(
        follow: &Arc<Follow>,
    ) -> (mpsc::Receiver<Vec<BlockNumHash>>, mpsc::Sender<()>, std::thread::JoinHandle<()>) {
        let ((got, gets), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel::<()>());
        let (begun, has_begun) = mpsc::channel();
        let follow = follow.clone();
        let thread = std::thread::spawn(move || {
            let follower = follow.begin();
            begun.send(()).unwrap();
            while let Some(moves) = follower.next() {
                // Its own use of the pool does not wait for itself.
                follow.catch_up();
                got.send(moves.removed.clone()).unwrap();
                may_go_on.recv().unwrap();
                follower.done(&moves);
            }
        });
        has_begun.recv().unwrap();
        (gets, go_on, thread)
    }

    fn place(height: u64) -> BlockNumHash {
        (height, B256::with_last_byte(height as u8))
    }

    #[test]
    fn callers_wait_for_every_move_before_theirs() {
        let follow = Arc::new(Follow::default());
        assert!(!follow.moved(&[]), "no thread follows");
        follow.catch_up();
        let (moves, go_on, thread) = follower(&follow);
        follow.catch_up();
        assert!(follow.moved(&[place(3), place(2)]));
        assert_eq!(moves.recv().unwrap(), [place(2), place(3)]);
        // Moves that come meanwhile are followed together, in their order.
        assert!(follow.moved(&[place(5)]) && follow.moved(&[]) && follow.moved(&[place(4)]));
        let (settled, is_settled) = mpsc::channel();
        let of_caller = follow.clone();
        let caller = std::thread::spawn(move || {
            of_caller.catch_up();
            settled.send(()).unwrap();
        });
        go_on.send(()).unwrap();
        assert_eq!(moves.recv().unwrap(), [place(5), place(4)]);
        assert!(is_settled.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
        go_on.send(()).unwrap();
        is_settled.recv_timeout(WAIT_MAX).unwrap();
        follow.close();
        caller.join().unwrap();
        thread.join().unwrap();
        assert!(!follow.moved(&[]), "the thread has ended");
    }

    #[test]
    fn blocks_beyond_the_limit_are_not_kept() {
        let follow = Arc::new(Follow::default());
        let (moves, go_on, thread) = follower(&follow);
        let removed: Vec<_> = (0..RETURNED_BLOCKS_MAX as u64 + 5).rev().map(place).collect();
        assert!(follow.moved(&removed));
        let got = moves.recv().unwrap();
        assert_eq!((got.len(), got[0]), (RETURNED_BLOCKS_MAX, place(0)));
        go_on.send(()).unwrap();
        follow.close();
        thread.join().unwrap();
    }

    #[test]
    fn no_caller_waits_for_a_thread_that_panicked() {
        let follow = Arc::new(Follow::default());
        let (moves, go_on, thread) = follower(&follow);
        assert!(follow.moved(&[]));
        moves.recv().unwrap();
        drop(go_on);
        assert!(thread.join().is_err());
        follow.catch_up();
        assert!(!follow.moved(&[]));
    }
}

//! The thread that starts and reaps children, watches their memory, and refuses requests that
//! waited too long.
//!
//! Children die with the thread that started them (PR_SET_PDEATHSIG follows the thread), so it
//! lives as long as the pool.

use crate::child::Child;
use crate::error::CLOSE_PATIENCE;
use crate::pool::{Shared, State};
use crate::spawn::kill;
use crate::sync::MutexGuard;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory of the process beside that of the script, in bytes.
const PROCESS_BYTES: u64 = 192 << 20;

/// Runs until the pool is closed.
pub(crate) fn keep(shared: &Arc<Shared>) {
    let _end = End(shared);
    while !round(shared) {}
}

/// Closes the pool where its thread ends, also by a panic: nothing else would answer requests then.
struct End<'a>(&'a Arc<Shared>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.begin_close().send();
    }
}

/// Does one thing that is due, or waits for the next. Whether the pool is closed and its children
/// are gone.
///
/// The lock is held from the first look at the state to the wait. Where it must be released in
/// between, the round ends, and the next one looks at everything again: `closed` may have been set
/// meanwhile.
fn round(shared: &Arc<Shared>) -> bool {
    let mut state = shared.state.lock();
    reap(shared, &mut state);
    if state.closed {
        if end_children(&mut state) {
            return true;
        }
    } else {
        let notices = shared.refuse_over(&mut state);
        if !notices.is_empty() {
            drop(state);
            notices.send();
            return false;
        }
        if state.wants_child(shared.options.workers) && may_start(shared, &mut state) {
            start(shared, state);
            return false;
        }
        kill_over_memory(shared, &state);
    }
    match shared.poll_timeout(&state) {
        Some(time) => drop(shared.wake.wait_for(&mut state, time)),
        None => shared.wake.wait(&mut state),
    }
    false
}

/// Kills all children; whether none is left. Leases see their children end and come back by
/// themselves, and are waited for only so long.
fn end_children(state: &mut State) -> bool {
    for child in std::mem::take(&mut state.idle) {
        child.process.kill();
        state.dead.push(child);
    }
    state.watched.values().for_each(|watched| kill(watched.process));
    let give_up_at = *state.close_by.get_or_insert_with(|| Instant::now() + CLOSE_PATIENCE);
    let none = state.busy.is_empty() && state.dead.is_empty();
    none || Instant::now() >= give_up_at
}

/// Time in which the pool may start as many children as it has, and no more: a client that has them
/// killed one after the other does not keep the processors busy with new ones.
const STARTS_PERIOD: Duration = Duration::from_millis(200);

/// Whether a child may be started now; counts it.
fn may_start(shared: &Shared, state: &mut State) -> bool {
    let now = Instant::now();
    state.starts.retain(|start| now.duration_since(*start) < STARTS_PERIOD);
    let may = state.starts.len() < shared.options.workers;
    if may {
        state.starts.push(now);
    }
    may
}

/// Starts one child while the lock is free.
fn start(shared: &Arc<Shared>, mut state: MutexGuard<'_, State>) {
    state.starting += 1;
    state.warm_up_at = None;
    state.next_id += 1;
    let id = state.next_id;
    drop(state);
    let options = &shared.options;
    let started = Child::start(options, id);
    let mut state = shared.state.lock();
    state.starting -= 1;
    let notices = match started {
        Ok(child) => {
            state.idle.push(child);
            shared.dispatch(&mut state)
        }
        Err(error) => {
            // Until the next request.
            state.used = false;
            shared.refuse_all(&mut state, &format!("{}: {error}", options.program.path.display()))
        }
    };
    shared.metrics.children.set_unsigned(state.live() as u64);
    drop(state);
    notices.send();
}

/// Takes the ends of killed children, so that none is left as a zombie.
pub(crate) fn reap(shared: &Shared, state: &mut State) {
    let mut stays = |child: &mut Child| {
        let over = child.process.is_over();
        if over && child.process.was_forbidden() {
            shared.report_forbidden();
        }
        !over
    };
    state.dead.retain_mut(&mut stays);
    // One that ended while no request had it.
    state.idle.retain_mut(&mut stays);
}

/// Kills those that take more memory than they may.
fn kill_over_memory(shared: &Shared, state: &State) {
    let limit = shared.options.memory_bytes.saturating_add(PROCESS_BYTES);
    for watched in state.watched.values() {
        if resident_bytes(watched.process).is_some_and(|bytes| bytes > limit) {
            watched.flags.set_over_memory();
            kill(watched.process);
        }
    }
}

/// Memory of a process that is in RAM, in bytes.
fn resident_bytes(process: u32) -> Option<u64> {
    let mut text = [0; 128];
    let read = File::open(format!("/proc/{process}/statm")).ok()?.read(&mut text).ok()?;
    let pages: u64 = std::str::from_utf8(&text[..read]).ok()?.split(' ').nth(1)?.parse().ok()?;
    // SAFETY: no argument but a constant.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

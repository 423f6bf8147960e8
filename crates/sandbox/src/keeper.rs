//! The thread that starts and buries children, watches their memory, and refuses what waits too long.
//!
//! Children die with the thread that started them (PR_SET_PDEATHSIG follows the thread), so it lives as long as the pool.

use crate::child::Child;
use crate::pool::{Shared, State};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory of the process beside that of the script, in bytes.
const PROCESS_BYTES: u64 = 192 << 20;

/// Runs until the pool is closed.
pub(crate) fn keep(shared: &Arc<Shared>) {
    let mut state = shared.state.lock();
    loop {
        bury(&mut state);
        if state.closed {
            for child in std::mem::take(&mut state.idle) {
                child.process.kill();
                state.dead.push(child);
            }
            if state.busy.is_empty() && state.dead.is_empty() {
                return;
            }
            // Whoever has a lease sees its child end.
            state.watched.values().for_each(|watched| kill(watched.process));
        } else {
            let told = shared.refuse_over(&mut state);
            parking_lot::MutexGuard::unlocked(&mut state, || told.tell());
            if state.used && state.live() < shared.options.workers && may_start(shared, &mut state) {
                start(shared, &mut state);
                continue;
            }
            watch(shared, &state);
        }
        match shared.nap(&state) {
            Some(time) => drop(shared.wake.wait_for(&mut state, time)),
            None => shared.wake.wait(&mut state),
        }
    }
}

/// Time in which the pool may start as many children as it has, and no more: whoever has them killed one after the other does
/// not keep the processors busy with new ones.
const STARTS_PERIOD: Duration = Duration::from_millis(200);

/// Whether a child may be started now; counts it.
fn may_start(shared: &Shared, state: &mut State) -> bool {
    let now = Instant::now();
    state.starts.retain(|start| now.duration_since(*start) < STARTS_PERIOD);
    let may = !state.closed && state.starts.len() < shared.options.workers;
    if may {
        state.starts.push(now);
    }
    may
}

/// Starts one child while the lock is free.
fn start(shared: &Arc<Shared>, state: &mut parking_lot::MutexGuard<'_, State>) {
    state.starting += 1;
    state.next_id += 1;
    let id = state.next_id;
    let options = &shared.options;
    let started =
        parking_lot::MutexGuard::unlocked(state, || Child::start(&options.program, id, options.output_bytes));
    state.starting -= 1;
    let told = match started {
        Ok(child) => {
            state.start_failure = None;
            state.idle.push(child);
            shared.dispatch(state)
        }
        Err(error) => {
            // Until somebody asks again.
            state.used = false;
            state.start_failure = Some(error.to_string());
            shared.refuse_all(state, &format!("{}: {error}", options.program.path.display()))
        }
    };
    shared.metrics.children.set_unsigned(state.live() as u64);
    parking_lot::MutexGuard::unlocked(state, || told.tell());
}

/// Takes the ends of killed children, so that none is left as a zombie.
fn bury(state: &mut State) {
    state.dead.retain_mut(|child| !child.process.is_over());
    // One that ended while nobody used it.
    state.idle.retain_mut(|child| !child.process.is_over());
}

/// Kills those that take more memory than they may.
fn watch(shared: &Shared, state: &State) {
    let limit = shared.options.memory_bytes.saturating_add(PROCESS_BYTES);
    for watched in state.watched.values() {
        if resident_bytes(watched.process).is_some_and(|bytes| bytes > limit) {
            watched.fate.set_over_memory();
            kill(watched.process);
        }
    }
}

fn kill(process: u32) {
    // SAFETY: a number of a child that is not buried yet, so it is nobody else's.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGKILL) };
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

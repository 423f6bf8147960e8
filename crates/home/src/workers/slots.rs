//! The slots of a pool: the number of running jobs of each kind and of each client, and the jobs
//! that are parked.

use super::{KINDS, Kind, Limits};
use std::{collections::HashMap, num::NonZeroU32, sync::Arc};

/// Slots that one client may have of all kinds together even if its share is smaller: a trace and a
/// call of one user run in parallel on any machine.
const SLOTS_OF_CLIENT_MIN: usize = 2;

/// Parts of a whole in which shares are counted.
pub(super) const WHOLE: u32 = 1_000_000;

/// The slot that a running job occupies: its client, kind and priority.
#[derive(Clone, Debug)]
pub(super) struct JobSlot {
    pub client: Arc<str>,
    pub kind: usize,
    /// On a thread of low priority.
    pub low: bool,
}

/// What one client has.
#[derive(Default)]
struct Held {
    running: [usize; KINDS],
    parked: usize,
}

/// The slots of a pool.
pub(super) struct Slots {
    threads: usize,
    permits: [usize; KINDS],
    /// Jobs that run in slots, by kind, those of low priority apart.
    running: [usize; KINDS],
    low: usize,
    low_running: usize,
    /// Jobs that wait without a slot, usual ones and those of low priority, and most of each.
    parked: [usize; 2],
    parked_max: usize,
    held: HashMap<Arc<str>, Held>,
    /// Most of one client, by kind, of all kinds together, and parked.
    most: [usize; KINDS],
    most_running: usize,
    most_parked: usize,
}

impl Slots {
    pub fn new(threads: usize, limits: &Limits) -> Self {
        let permits = limits.permits();
        // Rounded up, but at least one slot stays free for other clients.
        let share = |of: usize| match limits.client_share.map(NonZeroU32::get) {
            None | Some(WHOLE..) => usize::MAX,
            Some(share) => {
                let part = (of as u64 * u64::from(share)).div_ceil(u64::from(WHOLE));
                usize::try_from(part).unwrap_or(of).min(of.saturating_sub(1)).max(1)
            }
        };
        let mut slots = permits.map(|permits| permits.min(threads));
        slots[Kind::Trace as usize] += limits.low_traces;
        Self {
            threads,
            permits,
            running: [0; KINDS],
            low: limits.low_traces,
            low_running: 0,
            parked: [0; 2],
            parked_max: limits.parked,
            held: HashMap::new(),
            most: slots.map(share),
            most_running: share(threads + limits.low_traces).max(SLOTS_OF_CLIENT_MIN),
            most_parked: share(limits.parked),
        }
    }

    /// Whether a usual thread may begin a job of this kind.
    pub fn has_room(&self, kind: usize) -> bool {
        self.has_thread() && self.running[kind] < self.permits[kind]
    }

    fn has_thread(&self) -> bool {
        self.running.iter().sum::<usize>() < self.threads
    }

    /// Whether a thread of low priority may begin a trace: it does where no usual one can.
    pub fn has_low_room(&self) -> bool {
        self.low_running < self.low && !self.has_room(Kind::Trace as usize)
    }

    /// Whether a client may have one more job of this kind. Work without a client has no share.
    pub fn may_run(&self, client: &Arc<str>, kind: usize) -> bool {
        let Some(held) = self.held.get(client) else { return true };
        held.running[kind] < self.most[kind] && held.running.iter().sum::<usize>() < self.most_running
    }

    /// Gives a job its slot.
    pub fn begin(&mut self, place: &JobSlot) {
        *self.count(place) += 1;
        if !place.client.is_empty() {
            self.held.entry(place.client.clone()).or_default().running[place.kind] += 1;
        }
    }

    /// Takes the slot back.
    pub fn end(&mut self, place: &JobSlot) {
        *self.count(place) -= 1;
        if let Some(held) = self.held.get_mut(&place.client) {
            held.running[place.kind] -= 1;
            if held.parked == 0 && held.running.iter().all(|running| *running == 0) {
                self.held.remove(&place.client);
            }
        }
    }

    /// Takes the slot of a job that waits; false where as many jobs wait without one as may.
    pub fn park(&mut self, place: &JobSlot) -> bool {
        let client = self.held.get_mut(&place.client);
        if self.parked[usize::from(place.low)] >= self.parked_max
            || client.as_ref().is_some_and(|held| held.parked >= self.most_parked)
        {
            return false;
        }
        if let Some(held) = client {
            held.parked += 1;
        }
        self.parked[usize::from(place.low)] += 1;
        self.end(place);
        true
    }

    /// Gives a parked job its slot back, even if another job has the slot meanwhile: a job that has
    /// begun never waits for one that has not. The number of running jobs can thus exceed the slots
    /// by the number of parked jobs, and none begins until it has fallen again.
    pub fn unpark(&mut self, place: &JobSlot) {
        self.begin(place);
        if let Some(held) = self.held.get_mut(&place.client) {
            held.parked -= 1;
        }
        self.parked[usize::from(place.low)] -= 1;
    }

    /// Jobs that wait without a slot.
    pub fn parked(&self) -> usize {
        self.parked.iter().sum()
    }

    fn count(&mut self, place: &JobSlot) -> &mut usize {
        if place.low { &mut self.low_running } else { &mut self.running[place.kind] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroUsize;

    #[test]
    fn a_share_is_rounded_up_and_never_the_last_slot() {
        let most = |threads: usize, traces: usize, low_traces: usize, client_share: u32| {
            let (traces, client_share) = (NonZeroUsize::new(traces), NonZeroU32::new(client_share));
            let limits = Limits { traces, low_traces, client_share, parked: 8, ..Limits::default() };
            let slots = Slots::new(threads, &limits);
            (slots.most, slots.most_running, slots.most_parked)
        };
        assert_eq!(most(3, 1, 1, WHOLE / 2), ([1, 2, 2], 2, 4));
        assert_eq!(most(8, 7, 0, WHOLE / 2), ([4, 4, 4], 4, 4));
        assert_eq!(most(4, 3, 0, WHOLE / 10), ([1, 1, 1], 2, 1));
        assert_eq!(most(4, 3, 0, WHOLE - 1), ([2, 3, 3], 3, 7));
        let all = usize::MAX;
        assert_eq!(most(4, 3, 0, WHOLE), ([all; KINDS], all, all));
        assert_eq!(most(4, 3, 0, 0), ([all; KINDS], all, all));
    }
}

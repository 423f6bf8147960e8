//! Leases of iterators: which segments they hold back, and until when.

use hearth_disk::Clock;
use hearth_metrics::Gauge;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Segments held back, by shard: the lowest and the highest index.
pub(crate) type Held = Vec<Option<(u32, u32)>>;

/// The leases of a table.
#[derive(Debug)]
pub(crate) struct Leases {
    pub length: Duration,
    clock: Arc<dyn Clock>,
    open: Gauge,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    leases: HashMap<u64, (Duration, Held)>,
}

impl Leases {
    pub fn new(length: Duration, clock: Arc<dyn Clock>, open: Gauge) -> Self {
        Self { length, clock, open, inner: Mutex::default() }
    }

    /// Begins a lease: its number and the moment it ends.
    pub fn begin(&self, held: Held) -> (u64, Duration) {
        let until = self.clock.monotonic() + self.length;
        let mut inner = self.inner.lock();
        inner.next += 1;
        let number = inner.next;
        inner.leases.insert(number, (until, held));
        self.open.add(1);
        (number, until)
    }

    pub fn end(&self, number: u64) {
        if self.inner.lock().leases.remove(&number).is_some() {
            self.open.add(-1);
        }
    }

    /// Notes which segments of a shard a lease still needs.
    pub fn narrow(&self, number: u64, shard: usize, held: Option<(u32, u32)>) {
        if let Some((_, all)) = self.inner.lock().leases.get_mut(&number) {
            all[shard] = held;
        }
    }

    /// Whether a lease that has not ended holds a segment.
    pub fn hold(&self, shard: u8, segment: u32) -> bool {
        let now = self.clock.monotonic();
        self.inner.lock().leases.values().any(|(until, held)| {
            now < *until
                && held[usize::from(shard)].is_some_and(|(first, last)| (first..=last).contains(&segment))
        })
    }

    pub fn has_ended(&self, until: Duration) -> bool {
        self.clock.monotonic() >= until
    }
}

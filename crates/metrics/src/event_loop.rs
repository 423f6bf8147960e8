//! Instruments of the main thread's event loop.

use crate::{Instrument, Label, Registry, instrument::rows};
use std::time::Duration;

/// Bounds of stalls, in seconds; shorter ones than a second are none.
const STALLS: &[f64] = &[1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The label of a stall before which nothing was begun.
const NOTHING: &str = "none";

rows! {
    STALL = Instrument::seconds("node_event_loop_stall_seconds", STALLS, &[Label::open("began")],
        "Stalls of the main thread's event loop of more than one second, by the work that it had started last: the \
         method of a request, reading_request, none");
}

/// Handles of the event loop. Those of two nodes in one registry are the same.
#[derive(Clone, Debug)]
pub struct EventLoopMetrics(Registry);

impl EventLoopMetrics {
    /// The handles of a registry.
    pub fn new(registry: &Registry) -> Self {
        let _ = registry.histogram(&STALL, &[NOTHING]);
        Self(registry.clone())
    }

    /// The event loop stood still. Each name has its series: there must be few of them.
    pub fn stalled(&self, began: &str, stood: Duration) {
        self.0.histogram(&STALL, &[began]).record_duration(stood);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_counted_by_what_had_begun() {
        let registry = Registry::new();
        let metrics = EventLoopMetrics::new(&registry);
        metrics.stalled("eth_call", Duration::from_millis(1250));
        metrics.stalled("eth_call", Duration::from_secs(4));
        let of = |began| registry.histogram(&STALL, &[began]);
        assert_eq!((of("eth_call").count(), of("eth_call").sum()), (2, 5.25));
        assert_eq!(of("eth_call").counts()[..4], [1, 0, 0, 1]);
        assert_eq!(of(NOTHING).count(), 0);
    }
}

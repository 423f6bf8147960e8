//! The watchdog of a process, over the nodes that it has open.

use crate::shared_nodes::{close_all, each_open};
pub use hearth_watchdog::CELLS as WATCHDOG_CELLS;
use hearth_watchdog::{Cells, Guarded, Options, WatchdogError};
use std::time::Duration;

/// The nodes of this process.
struct OpenNodes;

impl Guarded for OpenNodes {
    fn close(&self) -> Result<(), String> {
        close_all().map_err(|error| error.to_string())
    }

    fn stalled(&self, began: &str, stood: Duration) {
        each_open(|node| node.stalled(began, stood));
    }
}

/// Starts the watchdog of this process: see [`Options`] for the members of `json`. The main thread
/// writes to the returned cells.
///
/// # Errors
/// The options are invalid, or the watchdog cannot start.
pub fn start_watchdog(json: &str) -> Result<&'static Cells, WatchdogError> {
    hearth_watchdog::start(Options::from_json(json)?, OpenNodes)
}

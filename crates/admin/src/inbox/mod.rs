//! Requests to the node of a home from other processes on the same machine: `hearth bake`,
//! `hearth import` and `hearth db snapshot` cannot open a home that a node has open.
//!
//! A request is a file in the home's folder `data/requests`, so the permissions of that folder
//! determine who may make one, and no network client can. `NAME.json` is the request. The node
//! answers in `NAME.progress`, which it replaces as a whole until that contains an outcome; then it
//! removes the request. A process that removes its request earlier cancels the work, and the node
//! removes the answer once the work has ended. The file `node` names the process that reads the
//! folder.

mod client;
mod protocol;
mod server;
mod work;

pub(crate) use client::Client;
pub use protocol::InboxCommand;
pub use server::Inbox;

use crate::jobs::{JobControl, JobError};
use hearth_chain::ChainError;
use hearth_flatkv::FlatKvError;
use hearth_home::{NodeError, chain_error};
use std::{path::Path, time::Duration};

/// Longest time that a node is given to take a snapshot which a reader of its home needs.
const SNAPSHOT_WAIT_MAX: Duration = Duration::from_secs(120);

/// Reads a home that may be open in another process. If its node has no snapshot to read, requests
/// one from the node and reads again.
///
/// # Errors
/// Those of `read`; those of the node.
pub(crate) fn with_snapshot<T>(
    home: &Path,
    control: &JobControl,
    mut read: impl FnMut() -> Result<T, ChainError>,
) -> Result<T, JobError> {
    match read() {
        Err(error @ ChainError::Store(FlatKvError::NoSnapshot { .. })) => {
            take_snapshot(home, error.to_string(), control)?;
            Ok(read()?)
        }
        read => Ok(read?),
    }
}
/// Opens a home for reading. If a node has the home open and there is no snapshot of it, requests
/// one from that node first.
///
/// # Errors
/// Those of `open`; [`NodeError::NoSnapshot`] if no snapshot could be made.
pub fn open_with_snapshot<T>(mut open: impl FnMut() -> Result<T, NodeError>) -> Result<T, NodeError> {
    match open() {
        Err(NodeError::NoSnapshot { home, reason }) => {
            take_snapshot(&home, reason, &JobControl::default()).map_err(|error| match error {
                JobError::Chain(error) => chain_error(&home, error),
                other => NodeError::NoSnapshot { home: home.clone(), reason: other.to_string() },
            })?;
            open()
        }
        opened => opened,
    }
}

/// Waits for a snapshot of the node that has the home; `why` says why one is needed.
fn take_snapshot(home: &Path, why: String, control: &JobControl) -> Result<(), JobError> {
    let requested = Client::new(home).with_limit(SNAPSHOT_WAIT_MAX).request(&InboxCommand::Snapshot, control);
    requested.map(drop).map_err(|failed| match failed {
        JobError::Cancelled => JobError::Cancelled,
        failed => JobError::NoSnapshot { why, failed: failed.to_string() },
    })
}

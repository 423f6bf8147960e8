//! What an operator should read in the node's log.

use hearth_primitives::Height;
use std::{fmt, time::Duration};

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The queue was full.
    Dropped {
        /// The lowest of the heights since the last notice.
        height: Height,
        /// Heights dropped since the start.
        total: u64,
    },
    /// A block could not be baked, the first time.
    Failed {
        /// Its height.
        height: Height,
        /// Why not.
        reason: String,
        /// When it is tried again.
        again_after: Option<Duration>,
    },
    /// A block could not be baked, and is not tried again before the next start.
    GivenUp {
        /// Its height.
        height: Height,
        /// Why not.
        reason: String,
    },
    /// Baking stands still.
    DiskFull {
        /// What the store said.
        reason: String,
        /// When it is tried again.
        again_after: Duration,
    },
    /// Baking goes on after the disk was full.
    Resumed,
    /// Progress could not be written; after the next start more is looked at again.
    Progress {
        /// What the system said.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped { height, total } => write!(
                f,
                "bake: the queue is full, block {height} is baked later ({total} dropped since the start)"
            ),
            Self::Failed { height, reason, again_after: Some(after) } => {
                write!(f, "bake: block {height}: {reason}; tried again in {} s", after.as_secs())
            }
            Self::Failed { height, reason, again_after: None } => write!(f, "bake: block {height}: {reason}"),
            Self::GivenUp { height, reason } => {
                write!(f, "bake: block {height}: {reason}; not tried again before the next start")
            }
            Self::DiskFull { reason, again_after } => write!(
                f,
                "bake: stopped, the disk is full: {reason}; tried again in {} s",
                again_after.as_secs()
            ),
            Self::Resumed => f.write_str("bake: goes on, the disk has room again"),
            Self::Progress { reason } => write!(f, "bake: progress is not kept: {reason}"),
        }
    }
}

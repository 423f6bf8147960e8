//! Starting a child that can do no more than it must.

use crate::Ended;
use crate::channel::Channel;
use crate::spawn::{Process, spawn};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A program to start, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute path.
    pub path: PathBuf,
    /// Arguments.
    pub args: Vec<String>,
}

/// A child that runs.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its number in the pool.
    pub id: u64,
    pub channel: Channel,
    pub process: Process,
    pub fate: Arc<Fate>,
}

/// What the keeper has done to a child.
#[derive(Debug, Default)]
pub(crate) struct Fate(AtomicU8);

impl Fate {
    const OVER_MEMORY: u8 = 1;

    pub fn set_over_memory(&self) {
        self.0.store(Self::OVER_MEMORY, Ordering::Release);
    }

    pub fn is_over_memory(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::OVER_MEMORY
    }
}

impl Child {
    /// Starts a child. The thread that calls this must outlive it: its end is the child's.
    pub fn start(program: &Program, id: u64, output_bytes: u64) -> std::io::Result<Self> {
        let (near, far) = UnixStream::pair()?;
        let channel = Channel::new(near, output_bytes)?;
        let process = spawn(program, far.as_raw_fd())?;
        drop(far);
        Ok(Self { id, channel, process, fate: Arc::default() })
    }

    /// Why the child is gone, where the channel says only that it is.
    pub fn reason(&self, ended: Ended, memory_bytes: u64) -> Ended {
        match ended {
            Ended::Exited if self.fate.is_over_memory() => Ended::Memory { limit_bytes: memory_bytes },
            other => other,
        }
    }
}

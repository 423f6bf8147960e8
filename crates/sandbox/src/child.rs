//! Starts confined child processes.

use crate::channel::{CONFINED, Channel, Message};
use crate::spawn::{Process, spawn};
use crate::{Ended, Layers, Options};
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

/// A running child process.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its number in the pool.
    pub id: u64,
    pub channel: Channel,
    pub process: Process,
    pub flags: Arc<ChildFlags>,
    /// Confinement layers of the process; `None` until the process has reported them.
    pub layers: Option<Layers>,
}

/// Flags that the keeper sets for a child process.
#[derive(Debug, Default)]
pub(crate) struct ChildFlags(AtomicU8);

impl ChildFlags {
    const OVER_MEMORY: u8 = 1;

    pub fn set_over_memory(&self) {
        self.0.store(Self::OVER_MEMORY, Ordering::Release);
    }

    pub fn is_over_memory(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::OVER_MEMORY
    }
}

/// Limit of private writable memory of a process (RLIMIT_DATA), in bytes. It is above the limit
/// that the keeper enforces, so that the keeper kills first and can report the reason.
fn data_bytes(memory_bytes: u64) -> u64 {
    // V8 reserves memory for the code of each isolate as writable: Node 24 has 2 GiB of it with one
    // isolate, and half a GiB more for each.
    const FOR_PROGRAM: u64 = 6 << 30;
    memory_bytes.saturating_mul(2).saturating_add(FOR_PROGRAM)
}

impl Child {
    /// Takes the message in which the child reports what confines it; returns any other one.
    pub fn hear(&mut self, message: Message) -> Result<Message, Layers> {
        match (self.layers, message.kind, <[u8; 4]>::try_from(message.payload.as_slice())) {
            (None, CONFINED, Ok(bits)) => {
                let reported = Layers::of_bits(u32::from_le_bytes(bits));
                // It knows nothing of namespaces; the one that started it does.
                let own = reported.without(Layers::NAMESPACES).without(Layers::THREADS);
                let layers = own.and(self.process.layers());
                self.layers = Some(layers);
                Err(layers)
            }
            _ => Ok(message),
        }
    }

    /// Starts a child. The thread that calls this must outlive it: its end is the child's.
    pub fn start(options: &Options, id: u64) -> std::io::Result<Self> {
        let (program, output_bytes) = (&options.program, options.output_bytes);
        let (near, far) = UnixStream::pair()?;
        let channel = Channel::new(near, output_bytes)?;
        let process = spawn(program, far.as_raw_fd(), options.layers, data_bytes(options.memory_bytes))?;
        drop(far);
        Ok(Self { id, channel, process, flags: Arc::default(), layers: None })
    }

    /// Why the child is gone, where the channel says only that it is.
    pub fn reason(&self, ended: Ended, memory_bytes: u64) -> Ended {
        match ended {
            Ended::Exited if self.flags.is_over_memory() => Ended::Memory { limit_bytes: memory_bytes },
            other => other,
        }
    }
}

//! What can go wrong with baking and with the trace cache.

use hearth_littable::LittError;
use std::{io::ErrorKind, path::PathBuf};

/// An error of the trace cache or of the bake worker.
#[derive(Debug, thiserror::Error)]
pub enum BakeError {
    /// A file of the cache or of the worker.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The segment store below the cache.
    #[error("trace cache: {0}")]
    Store(#[from] LittError),
    /// A row that does not read as what it should be. It is dropped, counted and served live.
    #[error("a baked row is damaged: {reason}")]
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
    /// The answer of a block is larger than what is kept; the block is traced live.
    #[error("the baked answer takes more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The compressor failed.
    #[error("an answer could not be compressed: {reason}")]
    Deflate {
        /// What it said.
        reason: String,
    },
    /// A thread of the worker could not be started.
    #[error("a bake thread could not be started: {0}")]
    Thread(std::io::Error),
}

impl BakeError {
    /// Whether the disk has no room left: baking stops until there is some, and the node continues.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == ErrorKind::StorageFull,
            Self::Store(LittError::Io { source, .. }) => source.kind() == ErrorKind::StorageFull,
            Self::Store(_)
            | Self::Damaged { .. }
            | Self::TooLarge { .. }
            | Self::Deflate { .. }
            | Self::Thread(_) => false,
        }
    }
}

//! A chunk of a stream.

use hearth_bake::AnswerBytes;
use std::ops::Deref;

/// Bytes that wait for the reader.
pub(super) enum Chunk {
    /// Of the stream alone: their memory is used again.
    Owned(Vec<u8>),
    /// Shared with a cache.
    Shared(AnswerBytes),
}

impl Chunk {
    /// The bytes as memory of their own.
    pub(super) fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Shared(bytes) => bytes.to_vec(),
        }
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

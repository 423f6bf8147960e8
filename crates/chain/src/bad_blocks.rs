//! The last blocks that a home rejected, kept in a small file for later diagnosis.

use crate::home::write_whole;
use crate::{Chain, ChainError};
use alloy_primitives::B256;
use alloy_rlp::{Decodable as _, Encodable as _};
use hearth_evm::BlockError;
use hearth_primitives::Block;

/// Refused blocks that are kept, as many as by go-ethereum (core/rawdb/accessors_chain.go:
/// badBlockToKeep).
pub const MAX_BAD_BLOCKS: usize = 10;

/// Longest refused block that is kept, in bytes of RLP.
pub const MAX_BAD_BLOCK_BYTES: usize = 16 << 20;

impl Chain {
    /// The last blocks that were refused, newest first, at most [`MAX_BAD_BLOCKS`].
    ///
    /// # Errors
    /// [`ChainError::Io`]; [`ChainError::BadHome`] where the file does not decode.
    pub fn bad_blocks(&self) -> Result<Vec<Block>, ChainError> {
        let path = self.paths.bad_blocks();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ChainError::io(&path)(error)),
        };
        let mut rest = &bytes[..];
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            let block = Block::decode(&mut rest);
            blocks.push(block.map_err(|e| ChainError::BadHome { path: path.clone(), why: e.to_string() })?);
        }
        Ok(blocks)
    }

    /// Keeps a block that was refused, unless its state could not be read.
    pub(crate) fn keep_if_refused<T>(&self, block: &Block, hash: B256, result: &Result<T, ChainError>) {
        if let Err(ChainError::Refused { source, .. }) = result
            && !matches!(source, BlockError::State(_))
        {
            // Why it was refused counts more than that it could not be kept.
            let _ = self.keep_bad_block(block, hash);
        }
    }

    /// Keeps a refused block in place of the oldest one.
    fn keep_bad_block(&self, block: &Block, hash: B256) -> Result<(), ChainError> {
        if block.length() > MAX_BAD_BLOCK_BYTES {
            return Ok(());
        }
        // A file that does not decode is replaced.
        let others = self.bad_blocks().unwrap_or_default();
        let others = others.iter().filter(|other| other.header.hash_slow() != hash).take(MAX_BAD_BLOCKS - 1);
        let mut bytes = Vec::new();
        block.encode(&mut bytes);
        others.for_each(|other| other.encode(&mut bytes));
        write_whole(&self.paths.bad_blocks(), &bytes)
    }
}

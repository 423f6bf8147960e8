//! Hashes of ancestors out of headers that are linked to the parent.

use crate::{Material, WantedHeader};
use alloy_primitives::B256;
use hearth_primitives::{BlockHashes, Header, Height, StateError};
use parking_lot::Mutex;

/// Hashes of the ancestors of a block: those of blocks that are held, and below the first of them
/// those that received headers give, each linked to the one above it.
pub struct VerifiedHashes<'a> {
    /// The block's number.
    number: Height,
    parent_hash: B256,
    /// The blocks that are held, from `first` on.
    held: &'a dyn BlockHashes,
    first: &'a Header,
    material: &'a Material,
    /// Lowest height whose hash was requested and is not known.
    lowest: Mutex<Option<Height>>,
}

impl<'a> VerifiedHashes<'a> {
    /// The hashes for the child of a held block, where `first` is the header of the first one held.
    pub fn new(
        header: &Header,
        held: &'a dyn BlockHashes,
        first: &'a Header,
        material: &'a Material,
    ) -> Self {
        let (number, parent_hash) = (header.number, header.parent_hash);
        Self { number, parent_hash, held, first, material, lowest: Mutex::default() }
    }

    /// Goes down from the first held block to the header above `number`. The hash of `number`, or
    /// the first header that is not known.
    fn below(&self, number: Height) -> Result<B256, WantedHeader> {
        let mut header = self.first;
        while header.number > number + 1 {
            let (above, hash) = (header.number, header.parent_hash);
            header = match self.material.header(&hash) {
                Some(header) if header.number + 1 == above => header,
                _ => return Err(WantedHeader { number: above - 1, hash: Some(hash) }),
            };
        }
        Ok(header.parent_hash)
    }

    /// The headers that are missing for the hashes that were requested.
    pub fn wanted(&self) -> Vec<WantedHeader> {
        let Some(lowest) = *self.lowest.lock() else { return Vec::new() };
        let Err(first) = self.below(lowest) else { return Vec::new() };
        let rest = (lowest + 1..first.number).rev().map(|number| WantedHeader { number, hash: None });
        std::iter::once(first).chain(rest).collect()
    }
}

impl BlockHashes for VerifiedHashes<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        if number + 1 == self.number {
            return Ok(self.parent_hash);
        }
        if number >= self.first.number {
            return self.held.block_hash(number);
        }
        match self.below(number) {
            Ok(hash) => Ok(hash),
            Err(_) => {
                let mut lowest = self.lowest.lock();
                *lowest = Some(lowest.map_or(number, |known| known.min(number)));
                Ok(B256::ZERO)
            }
        }
    }
}

//! Inflates pieces of a body.

use super::layout::{Piece, STORED_HEAD_BYTES, damaged};
use crate::BakeError;
use flate2::{Decompress, FlushDecompress};
use std::cell::RefCell;

thread_local! {
    /// The thread's inflater, which is large and takes long to make.
    static INFLATER: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

/// The raw bytes of a piece, checked.
///
/// # Errors
/// [`BakeError::Damaged`].
pub(crate) fn inflate(piece: &Piece, stored: &[u8]) -> Result<Vec<u8>, BakeError> {
    let Some(crc) = piece.crc else {
        return Ok(stored
            .get(STORED_HEAD_BYTES..)
            .ok_or_else(|| damaged("a stored block is too short"))?
            .to_vec());
    };
    let mut inflater = INFLATER.with_borrow_mut(Option::take).unwrap_or_else(|| Decompress::new(false));
    inflater.reset(false);
    let mut raw = Vec::with_capacity(piece.raw as usize);
    inflater
        .decompress_vec(stored, &mut raw, FlushDecompress::Sync)
        .map_err(|error| damaged(format!("it does not inflate: {error}")))?;
    INFLATER.set(Some(inflater));
    if raw.len() as u64 != piece.raw || crc32fast::hash(&raw) != crc {
        return Err(damaged("a piece has another checksum"));
    }
    Ok(raw)
}

/// Inflates a large piece in steps; its checksum is checked at the end.
pub(crate) struct Steps {
    inflater: Decompress,
    crc: crc32fast::Hasher,
    piece: Piece,
}

impl Steps {
    pub fn new(piece: Piece) -> Self {
        Self { inflater: Decompress::new(false), crc: crc32fast::Hasher::new(), piece }
    }

    /// Raw bytes that are still to come.
    pub fn left(&self) -> u64 {
        self.piece.raw - self.inflater.total_out()
    }

    /// Takes some stored bytes and appends raw ones, as many as `out` has room for; how many stored
    /// ones it took.
    ///
    /// # Errors
    /// [`BakeError::Damaged`].
    pub fn step(&mut self, stored: &[u8], out: &mut Vec<u8>) -> Result<usize, BakeError> {
        let (taken, from) = (self.inflater.total_in(), out.len());
        self.inflater
            .decompress_vec(stored, out, FlushDecompress::None)
            .map_err(|error| damaged(format!("it does not inflate: {error}")))?;
        self.crc.update(&out[from..]);
        let over = self.inflater.total_out().cmp(&self.piece.raw);
        if over.is_gt() || over.is_eq() && Some(self.crc.clone().finalize()) != self.piece.crc {
            return Err(damaged("a piece has another checksum"));
        }
        Ok((self.inflater.total_in() - taken) as usize)
    }
}

//! Inflates pieces of a body.

use super::layout::{Piece, STORED_HEAD_BYTES, damaged};
use crate::BakeError;
use flate2::{Decompress, FlushDecompress};
use std::cell::RefCell;
use std::ops::Range;

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

/// Where the raw bytes of a piece of stored blocks (RFC 1951, section 3.2.4) lie among its stored
/// ones. `None` where another block is among them. The store has checked the checksum of what it
/// read, and nothing was decoded since, so that the checksum of the piece is not computed again.
///
/// # Errors
/// [`BakeError::Damaged`].
pub(crate) fn stored_blocks(piece: &Piece, stored: &[u8]) -> Result<Option<Vec<Range<usize>>>, BakeError> {
    let (mut blocks, mut at, mut raw) = (Vec::new(), 0, 0);
    while at < stored.len() {
        let head = stored[at..].first_chunk::<STORED_HEAD_BYTES>();
        let [kind, low, high, not_low, not_high] =
            *head.ok_or_else(|| damaged("a stored block is too short"))?;
        if kind != 0 {
            return Ok(None);
        }
        if [low, high] != [!not_low, !not_high] {
            return Err(damaged("a stored block has another length"));
        }
        at += STORED_HEAD_BYTES;
        let block = at..at + usize::from(u16::from_le_bytes([low, high]));
        at = block.end;
        if at > stored.len() {
            return Err(damaged("a stored block is too short"));
        }
        raw += block.len() as u64;
        if !block.is_empty() {
            blocks.push(block);
        }
    }
    if raw == piece.raw { Ok(Some(blocks)) } else { Err(damaged("a piece has another length")) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compress, Compression, FlushCompress};

    /// A piece at a level of compression, with what is stored of it.
    fn piece(raw: &[u8], level: u32) -> (Piece, Vec<u8>) {
        let mut stored = Vec::with_capacity(2 * raw.len() + 64);
        let mut deflate = Compress::new(Compression::new(level), false);
        deflate.compress_vec(raw, &mut stored, FlushCompress::Full).unwrap();
        let crc = Some(crc32fast::hash(raw));
        (Piece { raw: raw.len() as u64, stored: stored.len() as u64, crc }, stored)
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(bytes).collect()
    }

    #[test]
    fn stored_blocks_are_where_their_bytes_are() {
        for bytes in [1, 100, 65_535, 65_536, 300_000] {
            let raw = noise(bytes);
            let (piece, stored) = piece(&raw, 0);
            assert!(piece.is_uncompressed(), "{bytes}");
            let blocks = stored_blocks(&piece, &stored).unwrap().unwrap();
            let got: Vec<u8> = blocks.into_iter().flat_map(|block| stored[block].to_vec()).collect();
            assert!(got == raw && inflate(&piece, &stored).unwrap() == raw, "{bytes}");
        }
    }

    #[test]
    fn other_blocks_and_wrong_lengths_are_noticed() {
        let raw = vec![7; 1000];
        let (compressed, bytes) = piece(&raw, 6);
        assert!(!compressed.is_uncompressed());
        assert_eq!(stored_blocks(&compressed, &bytes).unwrap(), None);
        let (piece, stored) = piece(&raw, 0);
        let longer = Piece { raw: 1001, ..piece };
        assert!(stored_blocks(&longer, &stored).is_err());
        for cut in [3, 500, stored.len() - 2] {
            assert!(stored_blocks(&piece, &stored[..cut]).is_err(), "{cut}");
        }
        let mut flipped = stored.clone();
        flipped[1] ^= 1;
        assert!(stored_blocks(&piece, &flipped).is_err());
    }
}

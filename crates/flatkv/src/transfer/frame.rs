//! Frames of a stream: kind u8, raw length u32, stored length u32, CRC-32 u32 of these and the
//! stored bytes, the bytes, compressed with zstd. Numbers are little-endian. The stream begins with
//! `HEARTHST` and its version, u32.

use super::{MAX_ATTACHMENT_BYTES, bad};
use crate::FlatKvError;
use alloy_primitives::B256;
use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

const MAGIC: &[u8; 8] = b"HEARTHST";
/// Version that is read and written.
const VERSION: u32 = 1;
/// Level of zstd.
const LEVEL: i32 = 3;
const HEADER_BYTES: usize = 13;
/// Largest frame before compression, in bytes: an attachment with its name, or a chunk with one row
/// more than fits.
const MAX_RAW_BYTES: usize = MAX_ATTACHMENT_BYTES + (1 << 20);

/// What is in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Head = 1,
    Attachment = 2,
    Rows = 3,
    Trailer = 4,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Head, Self::Attachment, Self::Rows, Self::Trailer].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Writes frames.
pub(super) struct FrameWriter<'a> {
    out: &'a mut dyn Write,
    digest: blake3::Hasher,
    /// Bytes written.
    pub(super) bytes: u64,
}

impl<'a> FrameWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Result<Self, FlatKvError> {
        let mut writer = Self { out, digest: blake3::Hasher::new(), bytes: 0 };
        writer.put(MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FlatKvError> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(FlatKvError::io(stream_name()))
    }

    pub(super) fn frame(&mut self, kind: Kind, raw: &[u8]) -> Result<(), FlatKvError> {
        let stored = zstd::bulk::compress(raw, LEVEL).map_err(FlatKvError::io(stream_name()))?;
        self.digest.update(&[kind as u8]).update(&(raw.len() as u32).to_le_bytes()).update(raw);
        let head = header(kind as u8, raw.len(), &stored);
        self.put(&head)?;
        self.put(&stored)
    }

    /// Digest of all frames so far.
    pub(super) fn digest(&self) -> B256 {
        B256::from(*self.digest.finalize().as_bytes())
    }

    pub(super) fn finish(self) -> Result<u64, FlatKvError> {
        self.out.flush().map_err(FlatKvError::io(stream_name()))?;
        Ok(self.bytes)
    }
}

fn header(kind: u8, raw: usize, stored: &[u8]) -> [u8; HEADER_BYTES] {
    let mut head = [0; HEADER_BYTES];
    head[0] = kind;
    head[1..5].copy_from_slice(&(raw as u32).to_le_bytes());
    head[5..9].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&head[..9]);
    crc.update(stored);
    head[9..].copy_from_slice(&crc.finalize().to_le_bytes());
    head
}

/// What an error of the stream's file names; the caller knows the file.
pub(super) fn stream_name() -> PathBuf {
    PathBuf::from("stream")
}

/// Reads frames and checks each.
pub(super) struct FrameReader<'a> {
    input: &'a mut dyn Read,
    digest: blake3::Hasher,
    /// Offset of the next frame.
    pub(super) offset: u64,
}

impl<'a> FrameReader<'a> {
    pub(super) fn new(input: &'a mut dyn Read) -> Result<Self, FlatKvError> {
        let mut reader = Self { input, digest: blake3::Hasher::new(), offset: 0 };
        let mut start = [0; 12];
        reader.fill(&mut start)?;
        if start[..8] != *MAGIC {
            return Err(bad(0, "this is no stream of a state"));
        }
        let found = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
        if found != VERSION {
            return Err(bad(8, format!("version {found}; this version reads {VERSION}")));
        }
        reader.offset = start.len() as u64;
        Ok(reader)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), FlatKvError> {
        match self.input.read_exact(bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(bad(self.offset, "the stream ends in the middle"))
            }
            read => read.map_err(FlatKvError::io(stream_name())),
        }
    }

    /// The next frame, and the digest of those before it.
    pub(super) fn frame(&mut self) -> Result<(Kind, Vec<u8>, B256), FlatKvError> {
        let offset = self.offset;
        let mut head = [0; HEADER_BYTES];
        self.fill(&mut head)?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (raw, stored) = (number(1) as usize, number(5) as usize);
        let kind = Kind::from_byte(head[0]).ok_or_else(|| bad(offset, "a frame of an unknown kind"))?;
        if raw > MAX_RAW_BYTES || stored > zstd::zstd_safe::compress_bound(raw) {
            return Err(bad(offset, "a frame that is too large"));
        }
        let mut bytes = vec![0; stored];
        self.fill(&mut bytes)?;
        if head != header(head[0], raw, &bytes) {
            return Err(bad(offset, "a frame's checksum is wrong"));
        }
        let raw_bytes = zstd::bulk::decompress(&bytes, raw).ok().filter(|bytes| bytes.len() == raw);
        let raw_bytes = raw_bytes.ok_or_else(|| bad(offset, "a frame does not decompress"))?;
        let before = B256::from(*self.digest.finalize().as_bytes());
        self.digest.update(&[kind as u8]).update(&(raw as u32).to_le_bytes()).update(&raw_bytes);
        self.offset = offset + (HEADER_BYTES + stored) as u64;
        Ok((kind, raw_bytes, before))
    }

    /// Nothing may follow the trailer.
    pub(super) fn end(&mut self) -> Result<(), FlatKvError> {
        let mut byte = [0];
        match self.input.read(&mut byte).map_err(FlatKvError::io(stream_name()))? {
            0 => Ok(()),
            _ => Err(bad(self.offset, "something follows the trailer")),
        }
    }
}

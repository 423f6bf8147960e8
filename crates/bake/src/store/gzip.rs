//! A gzip member (RFC 1952) around stored deflate: an envelope in stored blocks, and the checksum
//! of all of it.

use super::builder::put_stored_block;
use super::layout::STORED_BLOCK_MAX_BYTES;
use crc32fast::Hasher;

/// Header of a member: deflate, no time, no name, unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// What is around the stored bytes of an answer, so that both together are one gzip member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub before: Vec<u8>,
    pub behind: Vec<u8>,
}

impl Envelope {
    /// The envelope for `head`, the answer with this length and CRC-32, and `tail`.
    pub fn new(head: &[u8], (length, crc): (u64, u32), tail: &[u8]) -> Self {
        let mut before = Vec::with_capacity(HEAD.len() + head.len() + 16);
        before.extend_from_slice(&HEAD);
        for block in head.chunks(STORED_BLOCK_MAX_BYTES) {
            put_stored_block(&mut before, block, false);
        }
        let mut behind = Vec::with_capacity(tail.len() + 16);
        let mut blocks = tail.chunks(STORED_BLOCK_MAX_BYTES).peekable();
        if blocks.peek().is_none() {
            put_stored_block(&mut behind, &[], true);
        }
        while let Some(block) = blocks.next() {
            put_stored_block(&mut behind, block, blocks.peek().is_none());
        }
        let mut whole = Hasher::new();
        whole.update(head);
        whole.combine(&Hasher::new_with_initial_len(crc, length));
        whole.update(tail);
        behind.extend_from_slice(&whole.finalize().to_le_bytes());
        let all = head.len() as u64 + length + tail.len() as u64;
        // The length counts modulo 2^32.
        behind.extend_from_slice(&(all as u32).to_le_bytes());
        Self { before, behind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn unpacked(envelope: &Envelope, body: &[u8]) -> Vec<u8> {
        let all = [&envelope.before[..], body, &envelope.behind].concat();
        let mut out = Vec::new();
        GzDecoder::new(&all[..]).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn head_body_and_tail_are_one_member() {
        let body_raw = b"[1,2,3]";
        let mut body = Vec::new();
        put_stored_block(&mut body, body_raw, false);
        let raw_size_and_crc = (body_raw.len() as u64, crc32fast::hash(body_raw));
        for (head, tail) in
            [(&b"{\"result\":"[..], &b"}"[..]), (b"", b""), (&[b'x'; 200_000], &[b'y'; 70_000])]
        {
            let envelope = Envelope::new(head, raw_size_and_crc, tail);
            assert_eq!(unpacked(&envelope, &body), [head, body_raw, tail].concat());
        }
    }
}

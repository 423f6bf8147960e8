//! A small JSON byte writer: hex without allocation, bounded chunks into a sink.

use crate::sink::{Sink, SinkClosed};
use alloy_primitives::U256;
use std::time::{Duration, Instant};

/// Bytes that are held back behind a mark, so that they can be taken back.
pub const HELD_BACK_BYTES: usize = 1 << 20;

/// Bytes collected before they are handed to the sink.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of input that become hex at a time.
const HEX_BLOCK_BYTES: usize = 4096;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Both hex digits of every byte.
pub const HEX_PAIRS: [[u8; 2]; 256] = {
    let mut table = [[0u8; 2]; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = [DIGITS[i >> 4], DIGITS[i & 15]];
        i += 1;
    }
    table
};

/// Writes JSON tokens into chunks of at most 64 KiB. Once the sink has closed, writing has no
/// effect; [`JsonWriter::finish`] reports it, and loops check [`JsonWriter::is_closed`].
///
/// Output after a [`JsonWriter::mark`] is held back up to [`HELD_BACK_BYTES`] and can be discarded
/// until then.
///
/// A writer without a sink keeps everything, up to a limit of its own.
pub struct JsonWriter<'a> {
    /// `None` where everything is kept.
    sink: Option<&'a mut dyn Sink>,
    buffer: Vec<u8>,
    /// Bytes that the buffer may hold before a chunk is sent or the limit is reached.
    room: usize,
    /// More than `room` came, and there is no sink.
    overflowed: bool,
    /// Where the mark is in the buffer.
    mark: Option<usize>,
    written: u64,
    waited: Duration,
    closed: bool,
}

impl<'a> JsonWriter<'a> {
    /// A writer into `sink`.
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink: Some(sink), ..Self::keeping(CHUNK_BYTES) }
    }

    /// A writer that keeps up to `limit_bytes`, to be read by [`Self::kept`].
    pub fn keeping(limit_bytes: usize) -> Self {
        Self {
            sink: None,
            buffer: Vec::with_capacity(CHUNK_BYTES.min(limit_bytes)),
            room: limit_bytes,
            overflowed: false,
            mark: None,
            written: 0,
            waited: Duration::ZERO,
            closed: false,
        }
    }

    /// The output of a writer without a sink; incomplete if it [overflowed](Self::overflowed).
    pub fn kept(&self) -> &[u8] {
        &self.buffer
    }

    /// Whether the output exceeded the limit of a writer without a sink. Only a part of it is kept
    /// then.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Forgets what a writer without a sink kept.
    pub fn restart(&mut self) {
        self.forget();
        self.overflowed = false;
    }

    /// Drops what was kept; it still counts as written.
    fn forget(&mut self) {
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
    }

    /// Whether the sink has refused bytes.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Bytes written so far.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Time that the sink took so far.
    #[inline]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// From here on bytes can be taken back, instead of from an earlier mark.
    pub fn mark(&mut self) {
        self.mark = Some(self.buffer.len());
    }

    /// Discards the output since the mark. `false` if it was too much to be held back: the mark is
    /// gone then.
    pub fn rewind(&mut self) -> bool {
        match self.mark.take() {
            Some(mark) => {
                self.buffer.truncate(mark);
                true
            }
            None => false,
        }
    }

    /// Hands the rest to the sink and returns the number of bytes written.
    pub fn finish(mut self) -> Result<u64, SinkClosed> {
        self.flush();
        if self.closed { Err(SinkClosed) } else { Ok(self.written) }
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > self.room {
            return self.raw_in_pieces(bytes);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer with room for `bytes` more, for writers that append to it themselves.
    #[inline(always)]
    pub fn tail(&mut self, bytes: usize) -> &mut Vec<u8> {
        if self.buffer.len() + bytes > self.room {
            self.make_room(bytes);
        }
        self.buffer.reserve(bytes);
        &mut self.buffer
    }

    fn raw_in_pieces(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(CHUNK_BYTES) {
            self.make_room(piece.len());
            if self.closed {
                return;
            }
            self.buffer.extend_from_slice(piece);
        }
    }

    /// Sends complete chunks if `bytes` more would make the buffer larger than a chunk. A writer
    /// without a sink cannot send: it drops its content, so that the buffer stays within its limit.
    fn make_room(&mut self, bytes: usize) {
        if self.buffer.len() + bytes <= self.room {
            return;
        }
        if self.sink.is_none() {
            self.overflowed = true;
            self.forget();
            return;
        }
        match self.mark {
            // What stands before the mark can leave. Once more is held back than may be, the mark
            // is given up: an error then stands beside the part that was sent.
            Some(mark) if self.buffer.len() + bytes - mark <= HELD_BACK_BYTES => {
                if mark > 0 {
                    self.send(mark);
                    self.buffer.drain(..mark);
                    self.mark = Some(0);
                }
            }
            _ => self.flush(),
        }
    }

    /// Writes bytes as a quoted `0x` string, two digits a byte.
    pub fn hex_bytes(&mut self, bytes: &[u8]) {
        self.raw(b"\"0x");
        for block in bytes.chunks(HEX_BLOCK_BYTES) {
            self.make_room(block.len() * 2);
            if self.closed {
                return;
            }
            let start = self.buffer.len();
            self.buffer.resize(start + block.len() * 2, 0);
            for (pair, byte) in self.buffer[start..].chunks_exact_mut(2).zip(block) {
                pair.copy_from_slice(&HEX_PAIRS[*byte as usize]);
            }
        }
        self.raw(b"\"");
    }

    /// Writes a quoted hex quantity without leading zeros.
    #[inline]
    pub fn hex_u64(&mut self, value: u64) {
        let mut text = [0u8; 20];
        let digits = ((64 - value.leading_zeros()).div_ceil(4)).max(1) as usize;
        text[..3].copy_from_slice(b"\"0x");
        for i in 0..digits {
            text[3 + i] = DIGITS[(value >> (4 * (digits - 1 - i))) as usize & 15];
        }
        text[3 + digits] = b'"';
        self.raw(&text[..digits + 4]);
    }

    /// Writes a quoted hex quantity without leading zeros.
    pub fn hex_u256(&mut self, value: &U256) {
        if let Ok(small) = u64::try_from(*value) {
            return self.hex_u64(small);
        }
        let mut digits = [0u8; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(value.to_be_bytes::<32>()) {
            pair.copy_from_slice(&HEX_PAIRS[byte as usize]);
        }
        self.raw(b"\"0x");
        self.raw(&digits[64 - value.bit_len().div_ceil(4)..]);
        self.raw(b"\"");
    }

    /// Writes a string with the escapes that Go's encoder uses, HTML-sensitive characters included.
    pub fn string(&mut self, text: &str) {
        self.raw(b"\"");
        for c in text.chars() {
            match c {
                '"' => self.raw(b"\\\""),
                '\\' => self.raw(b"\\\\"),
                '\n' => self.raw(b"\\n"),
                '\r' => self.raw(b"\\r"),
                '\t' => self.raw(b"\\t"),
                '\u{8}' => self.raw(b"\\b"),
                '\u{c}' => self.raw(b"\\f"),
                // Go: encoding/json/encode.go, appendString with escapeHTML.
                c if (c as u32) < 0x20 || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                    self.escape(c as u32)
                }
                c => self.raw(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        self.raw(b"\"");
    }

    fn escape(&mut self, code: u32) {
        let mut text = *b"\\u0000";
        for (i, digit) in text[2..].iter_mut().enumerate() {
            *digit = DIGITS[(code >> (12 - 4 * i)) as usize & 15];
        }
        self.raw(&text);
    }

    fn flush(&mut self) {
        self.send(self.buffer.len());
        self.buffer.clear();
        self.mark = None;
    }

    /// Hands the first bytes of the buffer to the sink.
    fn send(&mut self, bytes: usize) {
        let Some(sink) = &mut self.sink else { return };
        // A reader that is slow must not count as an execution that is slow.
        let started = Instant::now();
        for chunk in self.buffer[..bytes].chunks(CHUNK_BYTES) {
            if self.closed {
                break;
            }
            self.closed = sink.write(chunk).is_err();
            self.written += chunk.len() as u64;
        }
        self.waited += started.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut JsonWriter<'_>)) -> String {
        let mut out = Vec::new();
        let mut json = JsonWriter::new(&mut out);
        write(&mut json);
        json.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quantities_have_no_leading_zeros() {
        for (value, text) in [
            (0, "0x0"),
            (1, "0x1"),
            (15, "0xf"),
            (16, "0x10"),
            (255, "0xff"),
            (u64::MAX, "0xffffffffffffffff"),
        ] {
            assert_eq!(written(|j| j.hex_u64(value)), format!("\"{text}\""));
            assert_eq!(written(|j| j.hex_u256(&U256::from(value))), format!("\"{text}\""));
        }
        for bit in 0..256 {
            let value = U256::from(1) << bit;
            assert_eq!(written(|j| j.hex_u256(&value)), format!("\"{value:#x}\""), "bit {bit}");
        }
        assert_eq!(written(|j| j.hex_u256(&U256::MAX)), format!("\"0x{}\"", "f".repeat(64)));
    }

    #[test]
    fn bytes_keep_every_digit() {
        assert_eq!(written(|j| j.hex_bytes(&[])), "\"0x\"");
        assert_eq!(written(|j| j.hex_bytes(&[0, 1, 0xab])), "\"0x0001ab\"");
        let long: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
        assert_eq!(
            written(|j| j.hex_bytes(&long)),
            format!("\"0x{}\"", alloy_primitives::hex::encode(&long))
        );
    }

    #[test]
    fn strings_are_escaped_as_go_does() {
        assert_eq!(written(|j| j.string("a\"\\\n\u{1}<\u{2028}é")), "\"a\\\"\\\\\\n\\u0001\\u003c\\u2028é\"");
    }

    #[test]
    fn chunks_are_bounded_and_in_order() {
        struct Chunks(Vec<Vec<u8>>);
        impl Sink for Chunks {
            fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
                self.0.push(chunk.to_vec());
                Ok(())
            }
        }
        let mut sink = Chunks(Vec::new());
        let mut json = JsonWriter::new(&mut sink);
        let data = vec![7u8; 3 * CHUNK_BYTES + 5];
        json.raw(b"x");
        json.raw(&data);
        json.hex_bytes(&data);
        assert_eq!(json.finish(), Ok(1 + data.len() as u64 * 3 + 4));
        assert!(sink.0.iter().all(|c| c.len() <= CHUNK_BYTES));
        assert_eq!(sink.0.concat().len(), 1 + data.len() * 3 + 4);
    }

    #[test]
    fn what_follows_a_mark_can_be_taken_back_until_it_is_too_much() {
        let mut out = Vec::new();
        let mut json = JsonWriter::new(&mut out);
        let chunk = vec![b'b'; CHUNK_BYTES];
        json.raw(&vec![b'a'; 100_000]);
        json.mark();
        for _ in 0..HELD_BACK_BYTES / CHUNK_BYTES {
            json.raw(&chunk);
        }
        assert!(json.rewind());
        assert!(!json.rewind(), "a mark serves once");
        json.mark();
        for _ in 0..=HELD_BACK_BYTES / CHUNK_BYTES {
            json.raw(&chunk);
        }
        assert!(!json.rewind());
        json.raw(b"c");
        json.finish().unwrap();
        assert_eq!(out.len(), 100_000 + HELD_BACK_BYTES + CHUNK_BYTES + 1);
        assert!(out[..100_000].iter().all(|b| *b == b'a') && out.ends_with(b"bc"));
    }

    #[test]
    fn a_writer_without_a_sink_keeps_up_to_its_limit() {
        let mut json = JsonWriter::keeping(2 * CHUNK_BYTES);
        json.raw(&vec![b'a'; 2 * CHUNK_BYTES - 4]);
        json.hex_bytes(&[]);
        assert_eq!((json.kept().len(), json.overflowed()), (2 * CHUNK_BYTES, false));
        json.raw(b"b");
        assert!(json.overflowed() && json.kept().len() <= 1);
        assert_eq!(json.written(), 2 * CHUNK_BYTES as u64 + 1);
        json.restart();
        json.raw(b"c");
        assert_eq!((json.kept(), json.overflowed()), (&b"c"[..], false));
        json.hex_bytes(&vec![1; 4 * CHUNK_BYTES]);
        assert!(json.overflowed() && json.kept().len() <= 2 * CHUNK_BYTES);
    }

    #[test]
    fn a_closed_sink_ends_the_work() {
        struct Closed(usize);
        impl Sink for Closed {
            fn write(&mut self, _: &[u8]) -> Result<(), SinkClosed> {
                self.0 += 1;
                Err(SinkClosed)
            }
        }
        let mut sink = Closed(0);
        let mut json = JsonWriter::new(&mut sink);
        json.hex_bytes(&vec![1; 10 * CHUNK_BYTES]);
        assert!(json.is_closed());
        assert_eq!(json.finish(), Err(SinkClosed));
        assert_eq!(sink.0, 1);
    }
}

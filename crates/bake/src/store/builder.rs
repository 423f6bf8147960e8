//! Makes the stored form of a block's answer while its elements come.

use super::layout::{
    Directory, ERROR_KEY, Element, HEADER_BYTES, Header, OWN_PIECE_BYTES, PIECE_BYTES, Piece, RESULT_KEY,
    STORED_HEAD_BYTES,
};
use crate::BakeError;
use alloy_primitives::B256;
use flate2::{Compress, Compression, FlushCompress};
use hearth_primitives::Height;
use hearth_tracers::{ElementSink, JsonWriter, Sink, SinkClosed};

/// Most bytes of a stored answer; blocks with larger ones are traced live.
pub const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Default level of deflate. Higher ones cost a multiple of the time for a hundredth of the bytes.
pub const DEFAULT_LEVEL: u32 = 6;

/// Highest level of deflate.
pub const MAX_LEVEL: u32 = 9;

/// Runs shorter than this go into stored blocks: a deflated one ends with a full flush of five
/// bytes, and begins with a table of codes.
const MIN_DEFLATED_BYTES: usize = 256;

/// Room that deflate is given at a time, in bytes.
const OUTPUT_STEP_BYTES: usize = 32 << 10;

/// A block's answer in its stored form.
#[derive(Clone, Debug)]
pub struct BakedAnswer {
    pub(crate) value: Vec<u8>,
    header: Header,
}

impl BakedAnswer {
    /// Elements, one a transaction.
    pub fn transactions(&self) -> usize {
        self.header.elements as usize
    }

    /// Bytes of the answer as it is sent plain.
    pub fn raw_bytes(&self) -> u64 {
        self.header.raw
    }

    /// Bytes that it takes on disk, without its key.
    pub fn stored_bytes(&self) -> usize {
        self.value.len()
    }

    /// Height of the block.
    pub fn number(&self) -> Height {
        self.header.number
    }
}

/// Takes the elements of a block's answer and makes the stored form. Only errors that every run
/// would meet may be elements: [`hearth_tracers::trace_elements`] gives no others.
pub struct AnswerBuilder {
    number: Height,
    /// The header's place, then the body.
    value: Vec<u8>,
    pieces: Vec<Piece>,
    elements: Vec<Element>,
    /// Raw bytes that are in no piece yet.
    pending: Vec<u8>,
    /// Where the element's result began among those.
    result_at: usize,
    /// Bytes of the element's result so far.
    result_bytes: u64,
    /// The key before the element's result, or error, was written.
    keyed: bool,
    /// The element is an error.
    failed: bool,
    /// The piece under way, where the result has one of its own.
    own: Option<OpenPiece>,
    deflate: Compress,
    crc: crc32fast::Hasher,
    raw: u64,
    failure: Option<BakeError>,
}

/// The piece that is currently written and compressed.
struct OpenPiece {
    stored_at: usize,
    crc: crc32fast::Hasher,
    raw: u64,
}

impl AnswerBuilder {
    /// A builder of the answer of a block at this height, compressed at a level of deflate from 0
    /// to [`MAX_LEVEL`]. At 0 it is stored as it is, so that reading it costs no inflation.
    pub fn new(number: Height, level: u32) -> Self {
        let mut builder = Self {
            number,
            value: vec![0; HEADER_BYTES],
            pieces: Vec::new(),
            elements: Vec::new(),
            pending: Vec::with_capacity(PIECE_BYTES + OWN_PIECE_BYTES),
            result_at: 0,
            result_bytes: 0,
            keyed: false,
            failed: false,
            own: None,
            deflate: Compress::new(Compression::new(level.min(MAX_LEVEL)), false),
            crc: crc32fast::Hasher::new(),
            raw: 0,
            failure: None,
        };
        builder.add_verbatim(b"[");
        builder
    }

    /// Why there will be no answer, where that is known already.
    pub fn failure(&self) -> Option<&BakeError> {
        self.failure.as_ref()
    }

    /// The stored form of everything that came.
    ///
    /// # Errors
    /// [`BakeError::TooLarge`], [`BakeError::Deflate`].
    pub fn finish(mut self) -> Result<BakedAnswer, BakeError> {
        self.add_verbatim(b"]");
        self.close_pending();
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let directory = Directory::encode(&self.pieces, &self.elements);
        let body_end = self.value.len();
        self.value.extend_from_slice(&directory);
        check_size(self.value.len())?;
        let header = Header {
            elements: self.elements.len() as u32,
            pieces: self.pieces.len() as u32,
            crc: self.crc.finalize(),
            raw: self.raw,
            number: self.number,
            body_end: body_end as u32,
            end: self.value.len() as u32,
            directory_crc: crc32fast::hash(&directory),
        };
        self.value[..HEADER_BYTES].copy_from_slice(&header.encode());
        Ok(BakedAnswer { value: self.value, header })
    }

    /// Adds the JSON between two results.
    fn add_verbatim(&mut self, bytes: &[u8]) {
        self.count(bytes);
        self.pending.extend_from_slice(bytes);
    }

    fn count(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.raw += bytes.len() as u64;
    }

    /// Adds bytes of a result.
    fn result(&mut self, bytes: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        if !self.keyed {
            self.key(RESULT_KEY);
        }
        self.count(bytes);
        self.result_bytes += bytes.len() as u64;
        if let Some(mut piece) = self.own.take() {
            self.deflate_into(&mut piece, bytes);
            self.own = Some(piece);
            return;
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() - self.result_at >= OWN_PIECE_BYTES {
            // The result gets a piece of its own; what came before it ends here.
            let result = self.pending.split_off(self.result_at);
            self.close_pending();
            let mut piece = self.open_piece();
            self.deflate_into(&mut piece, &result);
            self.own = Some(piece);
        }
    }

    fn key(&mut self, key: &[u8]) {
        self.add_verbatim(key);
        self.keyed = true;
        self.result_at = self.pending.len();
        self.result_bytes = 0;
    }

    /// Makes a piece, or stored blocks, of the bytes that wait.
    fn close_pending(&mut self) {
        let mut raw = std::mem::take(&mut self.pending);
        self.result_at = 0;
        if raw.len() >= MIN_DEFLATED_BYTES {
            let mut piece = self.open_piece();
            self.deflate_into(&mut piece, &raw);
            self.close_piece(piece);
        } else if !raw.is_empty() {
            put_stored_block(&mut self.value, &raw, false);
            let (raw, stored) = (raw.len() as u64, (raw.len() + STORED_HEAD_BYTES) as u64);
            self.pieces.push(Piece { raw, stored, crc: None });
        }
        // Its memory is used again.
        raw.clear();
        self.pending = raw;
    }

    fn open_piece(&self) -> OpenPiece {
        OpenPiece { stored_at: self.value.len(), crc: crc32fast::Hasher::new(), raw: 0 }
    }

    fn deflate_into(&mut self, piece: &mut OpenPiece, raw: &[u8]) {
        piece.crc.update(raw);
        piece.raw += raw.len() as u64;
        self.compress(raw, FlushCompress::None);
    }

    fn close_piece(&mut self, piece: OpenPiece) {
        // Data after a full flush refers to nothing before it, and begins on a byte border.
        self.compress(&[], FlushCompress::Full);
        let stored = (self.value.len() - piece.stored_at) as u64;
        self.pieces.push(Piece { raw: piece.raw, stored, crc: Some(piece.crc.finalize()) });
    }

    fn compress(&mut self, mut raw: &[u8], flush: FlushCompress) {
        if self.failure.is_some() {
            return;
        }
        loop {
            self.value.reserve(OUTPUT_STEP_BYTES);
            let (read, room) = (self.deflate.total_in(), self.value.capacity() - self.value.len());
            let before = self.value.len();
            if let Err(error) = self.deflate.compress_vec(raw, &mut self.value, flush) {
                self.failure = Some(BakeError::Deflate { reason: error.to_string() });
                return;
            }
            raw = &raw[(self.deflate.total_in() - read) as usize..];
            // Where it did not fill the buffer, no more follows.
            if raw.is_empty() && self.value.len() - before < room {
                break;
            }
        }
        self.failure = check_size(self.value.len()).err();
    }
}

impl Sink for AnswerBuilder {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        self.result(chunk);
        if self.failure.is_some() { Err(SinkClosed) } else { Ok(()) }
    }
}

impl ElementSink for AnswerBuilder {
    fn begin(&mut self, tx: &B256) {
        let comma = if self.elements.is_empty() { "" } else { "," };
        self.add_verbatim(format!("{comma}{{\"txHash\":\"{tx:#x}\"").as_bytes());
        (self.keyed, self.failed) = (false, false);
    }

    fn fail(&mut self, error: &str) {
        self.key(ERROR_KEY);
        self.failed = true;
        let mut text = Vec::new();
        let mut json = JsonWriter::new(&mut text);
        json.string(error);
        // Into memory: it cannot fail.
        let _ = json.finish();
        self.result(&text);
    }

    fn end(&mut self) {
        self.elements.push(Element { bytes: self.result_bytes, failed: self.failed });
        match self.own.take() {
            Some(piece) => self.close_piece(piece),
            None if self.pending.len() >= PIECE_BYTES => self.close_pending(),
            None => {}
        }
        self.add_verbatim(b"}");
    }
}

fn check_size(bytes: usize) -> Result<(), BakeError> {
    let limit = MAX_ANSWER_BYTES;
    if bytes > limit { Err(BakeError::TooLarge { limit }) } else { Ok(()) }
}

/// Appends a stored block of deflate, which must not be longer than 65,535 bytes.
pub(crate) fn put_stored_block(out: &mut Vec<u8>, bytes: &[u8], last: bool) {
    let length = bytes.len() as u16;
    out.push(u8::from(last));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(bytes);
}

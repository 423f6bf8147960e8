//! Arguments and the result of a look-up in the trace cache. No object crosses for a short answer:
//! to make one takes longer than the rest of such a look-up. A long one is an object that shares
//! the memory of the cache, from which the system takes its bytes.

use hearth_node::{Ready, SharedAnswer, TraceOf, send_now};
use napi::bindgen_prelude::{BufferSlice, Either};
use napi_derive::napi;
use parking_lot::Mutex;

/// What names a trace.
#[napi]
pub enum NativeTraceOf {
    /// The hash of a transaction.
    Transaction,
    /// The height of a block, or a tag.
    BlockByNumber,
    /// The hash of a block.
    BlockByHash,
}

impl From<NativeTraceOf> for TraceOf {
    fn from(of: NativeTraceOf) -> Self {
        match of {
            NativeTraceOf::Transaction => Self::Transaction,
            NativeTraceOf::BlockByNumber => Self::BlockByNumber,
            NativeTraceOf::BlockByHash => Self::BlockByHash,
        }
    }
}

/// The result struct of a look-up: words of 32 bits, each at the position of its name, at the front
/// of the caller's buffer.
#[napi]
pub enum NativeReadyWord {
    /// Bytes of the answer, with head and tail.
    Bytes,
    /// 1 where they are one gzip member, else 0.
    Gzip,
    /// 1 where its block is further below the head than the lookback, else 0.
    Historical,
}

/// Bytes of the result struct; the answer is behind it.
#[napi]
pub const READY_STRUCT_BYTES: u32 = 3 * WORD_BYTES;

const WORD_BYTES: u32 = size_of::<u32>() as u32;

/// Writes an answer behind its result struct, or returns it as an object where it is too long for
/// the buffer. False where there is none, or the buffer has no room for the struct.
pub fn write_ready(into: &mut [u8], answer: Option<SharedAnswer>) -> Either<bool, NativeSharedAnswer> {
    let split = into.split_at_mut_checked(READY_STRUCT_BYTES as usize);
    let (Some((result, room)), Some(answer)) = (split, answer) else { return Either::A(false) };
    if !write_struct(result, &answer.ready) {
        return Either::A(false);
    }
    if answer.ready.bytes > room.len() {
        return Either::B(NativeSharedAnswer { answer: Mutex::new(Some(answer)) });
    }
    answer.copy(0, room);
    Either::A(true)
}

/// Writes the result struct; false where the answer is too long for one.
fn write_struct(result: &mut [u8], ready: &Ready) -> bool {
    let Ready { bytes, packed, historical } = *ready;
    let Ok(bytes) = u32::try_from(bytes) else { return false };
    let fields = [
        (NativeReadyWord::Bytes, bytes),
        (NativeReadyWord::Gzip, u32::from(packed)),
        (NativeReadyWord::Historical, u32::from(historical)),
    ];
    for (word, value) in fields {
        let at = word as usize * WORD_BYTES as usize;
        result[at..at + WORD_BYTES as usize].copy_from_slice(&value.to_ne_bytes());
    }
    true
}

/// An answer that shares its bytes with the trace cache until it is released.
#[napi]
pub struct NativeSharedAnswer {
    answer: Mutex<Option<SharedAnswer>>,
}

#[napi]
impl NativeSharedAnswer {
    /// Sends `first` and the answer to a socket, as much as the system takes at once; the number of
    /// bytes, 0 where it takes none or the socket fails. Nothing may wait in the socket already. An
    /// answer that was sent as a whole is released.
    #[napi(catch_unwind)]
    pub fn send(&self, socket: i32, first: BufferSlice<'_>) -> u32 {
        let mut place = self.answer.lock();
        let Some(answer) = place.as_ref() else { return 0 };
        let slices = std::iter::once(&first[..]).chain(answer.slices());
        let sent = send_now(socket, slices).unwrap_or_default();
        if sent == first.len() + answer.ready.bytes {
            *place = None;
        }
        // No more than a mebibyte is ready at once.
        sent as u32
    }

    /// Copies the answer from this byte on, as much as the buffer holds; the number of bytes.
    #[napi(catch_unwind)]
    pub fn copy(&self, from: u32, mut into: BufferSlice<'_>) -> u32 {
        self.answer.lock().as_ref().map_or(0, |answer| answer.copy(from as usize, &mut into) as u32)
    }

    /// Releases the memory of the cache.
    #[napi(catch_unwind)]
    pub fn release(&self) {
        drop(self.answer.lock().take());
    }
}

//! Arguments and the result of a look-up in the trace cache. No object crosses: to make one takes
//! longer than the rest of such a look-up.

use hearth_node::{Ready, TraceOf};
use napi_derive::napi;

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

/// Looks an answer up: `find` writes it behind the result struct. False where nothing
/// was found, or the buffer has no room for the struct.
pub fn write_ready(into: &mut [u8], find: impl FnOnce(&mut [u8]) -> Option<Ready>) -> bool {
    let Some((result, room)) = into.split_at_mut_checked(READY_STRUCT_BYTES as usize) else { return false };
    let Some(Ready { bytes, packed, historical }) = find(room) else { return false };
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

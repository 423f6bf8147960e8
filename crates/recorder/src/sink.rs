//! Where rendered bytes go.

/// The receiver is gone or does not want more: stop working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the receiver of the trace is gone")]
pub struct SinkClosed;

/// Receives the bytes of an answer, chunk by chunk, in order. A slow sink blocks its writer, which
/// is the back-pressure.
pub trait Sink {
    /// Takes the next bytes; `Err` stops the work.
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed>;
}

impl Sink for Vec<u8> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        self.extend_from_slice(chunk);
        Ok(())
    }
}

//! Several configurations of one file from one execution.
//!
//! The output has one configuration after the other, while the execution makes all of them at once:
//! the first is written directly, the others wait in unnamed temporary files.

use super::{Line, input::Input, scripts::Scripts};
use hearth_home::{ByteSender, NodeError};
use hearth_tracers::{Cancel, Sink, SinkClosed, TracePlan};
use hearth_traces::{
    replayed::{trace_block_under_several, trace_transaction_under_several},
    trace_error,
};
use std::{
    cell::Cell,
    fs::File,
    io::{BufWriter, Read as _, Seek as _, Write as _},
};

/// Bytes that go from a file to the stream at a time.
const COPY_BYTES: usize = 64 * 1024;

/// Bytes that the waiting lines of one file may take on the disk, all of them together.
pub(super) const WAITING_LINES_BYTES: u64 = 64 << 30;

/// A line that waits for its turn.
struct Waiting<'a> {
    file: BufWriter<File>,
    /// Bytes that all waiting lines may still take.
    left: &'a Cell<u64>,
    /// Why it takes no more.
    failure: Option<NodeError>,
}

impl<'a> Waiting<'a> {
    fn new(left: &'a Cell<u64>) -> Result<Self, NodeError> {
        let file = BufWriter::new(tempfile::tempfile().map_err(io)?);
        Ok(Self { file, left, failure: None })
    }

    /// Writes the line that waited.
    fn write_to(self, sender: &mut ByteSender, outcome: Result<(), NodeError>) -> Result<(), NodeError> {
        let mut line = Line::new(sender);
        let mut file = self.file.into_inner().map_err(|error| io(error.into_error()))?;
        file.rewind().map_err(io)?;
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            match file.read(&mut buffer).map_err(io)? {
                0 => return line.end(outcome),
                read => line.sink().write(&buffer[..read]).map_err(|_| NodeError::Cancelled)?,
            }
        }
    }
}

impl Sink for Waiting<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        let bytes = chunk.len() as u64;
        let outcome = match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                self.file.write_all(chunk).map_err(io)
            }
            None => Err(NodeError::LimitExceeded {
                message: format!(
                    "the lines that wait for their turn take more than {WAITING_LINES_BYTES} bytes: \
                     use fewer configurations at once"
                ),
            }),
        };
        outcome.map_err(|error| {
            self.failure.get_or_insert(error);
            SinkClosed
        })
    }
}

/// Executes once and writes the lines of all configurations, in their order.
///
/// # Errors
/// What made the lines fail; where it is no failure of the trace itself, lines may be missing.
pub(super) fn lines(
    input: &Input,
    index: Option<usize>,
    plans: &[TracePlan],
    scripts: &Scripts,
    cancel: &Cancel,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let left = Cell::new(WAITING_LINES_BYTES);
    let mut waiting = plans.iter().skip(1).map(|_| Waiting::new(&left)).collect::<Result<Vec<_>, _>>()?;
    let mut first = Line::new(sender);
    let outcome = {
        let mut sinks: Vec<&mut dyn Sink> = vec![first.sink()];
        sinks.extend(waiting.iter_mut().map(|line| line as &mut dyn Sink));
        input.replay().and_then(|mut replay| {
            let limits = scripts.limits(cancel)?;
            match index {
                Some(index) => trace_transaction_under_several(&mut replay, index, plans, &limits, sinks),
                None => trace_block_under_several(&mut replay, plans, &limits, sinks),
            }
            .map_err(trace_error)
        })
    };
    // A line that could not wait ended all of them, and what waited is of no use.
    let failure = waiting.iter_mut().find_map(|line| line.failure.take());
    let outcome = failure.clone().map_or(outcome, Err);
    let mut end = first.end(outcome.clone());
    for line in waiting {
        if cancel.is_cancelled() {
            break;
        }
        let written = match &failure {
            Some(_) => Line::new(sender).end(outcome.clone()),
            None => line.write_to(sender, outcome.clone()),
        };
        end = end.and(written);
    }
    end
}

fn io(error: std::io::Error) -> NodeError {
    NodeError::Input { file: std::env::temp_dir(), reason: error.to_string() }
}

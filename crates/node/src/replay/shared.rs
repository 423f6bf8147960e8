//! Several configurations of one file from one execution.
//!
//! The lines come one configuration after the other, the transactions one after the other: what is rendered before its
//! line has its turn waits in a file without a name.

use super::{end_line, failure, input::Input, limits};
use crate::{ByteSender, NodeError, trace::trace_error};
use hearth_tracers::{Cancel, Replay as _, Several, Sink, SinkClosed, TraceError, TracePlan};
use std::{
    fs::File,
    io::{BufWriter, Read as _, Seek as _, Write as _},
};

/// Bytes that go from a file to the stream at a time.
const COPY_BYTES: usize = 64 * 1024;

/// The lines that one execution gave, each a file or what failed.
pub(super) struct Shared {
    /// By the position of the configuration; `None` where it needs an execution of its own.
    lines: Vec<Option<Result<File, NodeError>>>,
}

struct Spool(BufWriter<File>);

impl Sink for Spool {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        self.0.write_all(chunk).map_err(|_| SinkClosed)
    }
}

impl Shared {
    /// Executes once for all configurations that can share an execution; not at all where fewer than two can.
    ///
    /// # Errors
    /// A temporary file cannot be made or written; the trace was cancelled.
    pub fn new(
        input: &Input,
        index: Option<usize>,
        plans: &[TracePlan],
        cancel: &Cancel,
    ) -> Result<Self, NodeError> {
        let sharing: Vec<usize> = (0..plans.len()).filter(|at| Several::takes(&plans[*at])).collect();
        let mut lines: Vec<_> = plans.iter().map(|_| None).collect();
        if sharing.len() < 2 {
            return Ok(Self { lines });
        }
        let files =
            sharing.iter().map(|_| tempfile::tempfile().map_err(io)).collect::<Result<Vec<_>, _>>()?;
        let mut spools: Vec<Spool> = files.into_iter().map(|file| Spool(BufWriter::new(file))).collect();
        let outcome = match index {
            Some(index) => one(input, index, plans, cancel, &mut spools),
            None => block(input, plans, cancel, &mut spools),
        };
        for (at, spool) in sharing.into_iter().zip(spools) {
            let mut file = spool.0.into_inner().map_err(|error| io(error.into_error()))?;
            file.rewind().map_err(io)?;
            lines[at] = Some(outcome.clone().map(|()| file));
        }
        Ok(Self { lines })
    }

    /// Writes the line of a configuration; `None` where it was not made here.
    pub fn write(&mut self, position: usize, sender: &mut ByteSender) -> Option<Result<(), NodeError>> {
        let made = self.lines.get_mut(position)?.take()?;
        Some(match made {
            Ok(file) => copy(file, sender).and_then(|()| end_line(sender)),
            Err(error) => failure(&error, sender).and_then(|()| end_line(sender)).and(Err(error)),
        })
    }
}

fn one(
    input: &Input,
    index: usize,
    plans: &[TracePlan],
    cancel: &Cancel,
    spools: &mut [Spool],
) -> Result<(), NodeError> {
    let mut several = Several::new(plans);
    several.record(&mut input.replay()?, index, &limits(cancel)).map_err(trace_error)?;
    for (position, spool) in spools.iter_mut().enumerate() {
        several.render(position, spool).map_err(closed)?;
    }
    Ok(())
}

/// As `debug_traceBlockByNumber`: a transaction that fails has an error in its place, and the rest follows.
fn block(input: &Input, plans: &[TracePlan], cancel: &Cancel, spools: &mut [Spool]) -> Result<(), NodeError> {
    let mut several = Several::new(plans);
    let mut replay = input.replay()?;
    let limits = limits(cancel);
    let mut broken: Option<TraceError> = None;
    for index in 0..replay.count() {
        let outcome = match &broken {
            Some(error) => Err(error.clone()),
            None => several.record(&mut replay, index, &limits),
        };
        let head = format!("{}{{\"txHash\":\"{}\",", if index == 0 { "[" } else { "," }, replay.hash(index));
        for (position, spool) in spools.iter_mut().enumerate() {
            spool.write(head.as_bytes()).map_err(closed)?;
            match &outcome {
                Ok(()) => {
                    spool.write(b"\"result\":").map_err(closed)?;
                    several.render(position, spool).map_err(closed)?;
                }
                Err(error) => {
                    let text = serde_json::json!(error.to_string());
                    spool.write(format!("\"error\":{text}").as_bytes()).map_err(closed)?;
                }
            }
            spool.write(b"}").map_err(closed)?;
        }
        match outcome {
            Err(TraceError::Cancelled) => return Err(trace_error(TraceError::Cancelled)),
            Err(error) if !error.is_local() => broken = Some(error),
            _ => {}
        }
    }
    let end: &[u8] = if replay.count() == 0 { b"[]" } else { b"]" };
    spools.iter_mut().try_for_each(|spool| spool.write(end)).map_err(closed)
}

fn copy(mut file: File, sender: &mut ByteSender) -> Result<(), NodeError> {
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let read = file.read(&mut buffer).map_err(io)?;
        if read == 0 {
            return Ok(());
        }
        sender.write(&buffer[..read]).map_err(|_| NodeError::Cancelled)?;
    }
}

fn io(error: std::io::Error) -> NodeError {
    NodeError::Input { file: std::env::temp_dir(), reason: error.to_string() }
}

fn closed(_: SinkClosed) -> NodeError {
    NodeError::Input { file: std::env::temp_dir(), reason: "a temporary file cannot be written".to_owned() }
}

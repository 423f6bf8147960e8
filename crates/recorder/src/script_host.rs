//! The interface to the component that runs scripts, as a tracer uses it.

use crate::error::TraceError;
use crate::limits::Cancel;
use crate::script_plan::ScriptPlan;
use std::time::{Duration, Instant};

/// What a script may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Its result, in bytes.
    pub output_bytes: u64,
}

/// Gives sessions to the scripts of one request.
pub trait ScriptHost: Send + Sync + std::fmt::Debug {
    /// A session for a script. It may take until then.
    ///
    /// # Errors
    /// Why there is none.
    fn open(
        &self,
        script: &ScriptPlan,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<Box<dyn ScriptSession>, TraceError>;

    /// Opens a session only if one is free at once.
    fn try_open(&self, script: &ScriptPlan) -> Option<Box<dyn ScriptSession>>;

    /// What a script may take.
    fn limits(&self) -> ScriptLimits;

    /// When the request arrived, from which the time of its first transaction counts. Returned once
    /// only.
    fn arrived(&self) -> Option<Instant> {
        None
    }
}

/// Why a session has ended, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptGone(pub String);

/// How a session ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptVerdict {
    /// Nothing is under way: it may be used for another script.
    Clean,
    /// The time was up.
    Late,
    /// The client left before the answer.
    Unwanted,
    /// It said why itself.
    Gone,
}

/// A channel that never blocks but in [`ScriptSession::wait`].
pub trait ScriptSession: Send {
    /// Writes as much as can be taken at once; the number of bytes.
    ///
    /// # Errors
    /// Why the session has ended.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ScriptGone>;

    /// The next message, its kind and its payload, where one has come whole.
    ///
    /// # Errors
    /// Why the session has ended.
    fn read(&mut self) -> Result<Option<(u8, Vec<u8>)>, ScriptGone>;

    /// Waits until a message may have arrived, or with `to_write` bytes can be written, or the time
    /// is up.
    fn wait(&self, to_write: bool, at_most: Duration);

    /// Ends it.
    fn end(self: Box<Self>, verdict: ScriptVerdict);
}

//! A leased child.

use crate::channel::Message;
use crate::child::Child;
use crate::pool::Shared;
use crate::queue::Holder;
use crate::{Ended, Layers};
use std::sync::Arc;
use std::time::Duration;

/// How a lease ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The script came to its end, or failed by itself; the child waits for the next one.
    Clean,
    /// Nothing was sent to the child; it waits for the next one.
    Unused,
    /// The time was up: the child is killed.
    Late,
    /// The caller has given up: the child is killed.
    Unwanted,
    /// The child ended, or must.
    Ended(Ended),
}

/// A leased child. Dropped without [`Lease::end`] the child is killed.
#[derive(Debug)]
pub struct Lease {
    child: Option<Child>,
    pub(crate) holder: Holder,
    shared: Arc<Shared>,
}

impl Lease {
    pub(crate) fn new(child: Child, holder: Holder, shared: Arc<Shared>) -> Self {
        Self { child: Some(child), holder, shared }
    }

    /// Writes as much as the channel takes at once; the number of bytes.
    ///
    /// # Errors
    /// Why the child is gone.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Ended> {
        if self.must_report_first() && !self.has_reported()? {
            return Ok(0);
        }
        self.on_child(|child| child.channel.write(bytes))
    }

    /// The next message, where one has come whole.
    ///
    /// # Errors
    /// Why the child is gone, or what it sent that it may not.
    pub fn read(&mut self) -> Result<Option<Message>, Ended> {
        loop {
            let Some(message) = self.on_child(|child| child.channel.read())? else { return Ok(None) };
            let Some(child) = self.child.as_mut() else { return Ok(None) };
            match child.hear(message) {
                Ok(message) => return Ok(Some(message)),
                Err(layers) => self.shared.confined(layers)?,
            }
        }
    }

    /// Waits until a message may have come, or some bytes may be written where `to_write`, or the
    /// time is up.
    pub fn wait(&self, to_write: bool, at_most: Duration) {
        if let Some(child) = &self.child {
            child.channel.wait(to_write && !self.must_report_first(), at_most);
        }
    }

    /// Whether the child gets nothing before it has reported what confines it.
    fn must_report_first(&self) -> bool {
        let is_known = self.child.as_ref().is_none_or(|child| child.layers.is_some());
        !is_known && self.shared.options.require != Layers::NONE
    }

    /// Whether it has reported now. A child whose first message is another one reports nothing, so
    /// nothing holds.
    fn has_reported(&mut self) -> Result<bool, Ended> {
        let Some(message) = self.on_child(|child| child.channel.read())? else { return Ok(false) };
        let layers =
            self.child.as_mut().map_or(Layers::NONE, |child| child.hear(message).err().unwrap_or_default());
        self.shared.confined(layers)?;
        Ok(true)
    }

    /// Gives the child back, or has it killed.
    pub fn end(mut self, verdict: Verdict) {
        if let Some(child) = self.child.take() {
            self.shared.return_lease(child, &self.holder, verdict);
        }
    }

    fn on_child<T>(&mut self, act: impl FnOnce(&mut Child) -> Result<T, Ended>) -> Result<T, Ended> {
        let memory_bytes = self.shared.options.memory_bytes;
        let child = self.child.as_mut().ok_or(Ended::Exited)?;
        act(child).map_err(|ended| child.reason(ended, memory_bytes))
    }

    /// Number of the process.
    pub fn process_id(&self) -> u32 {
        self.child.as_ref().map_or(0, |child| child.process.id())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            self.shared.return_lease(child, &self.holder, Verdict::Unwanted);
        }
    }
}

//! States that blocks are executed on.

use crate::{Home, NodeError};
use hearth_chain::OverlayState;
use hearth_primitives::{Header, StateReader};

impl Home {
    /// The state that the block with this header is executed on, for executing all of it again.
    pub fn replay_state(&self, header: &Header) -> Result<Box<dyn StateReader + '_>, NodeError> {
        let chain = self.chain();
        // The view is taken first: a block that is canonical afterwards was so all the time, or the
        // view reports otherwise.
        if let Ok(view) = chain.reader().before(header.number)
            && chain.reader().canonical_hash(header.number)? == Some(header.hash_slow())
        {
            // A view that was not unwound until now is of the chain that the edits are of.
            let edits = chain.edits_after(header.number.saturating_sub(1))?;
            return Ok(match edits {
                Some(edits) => Box::new(OverlayState::new(Box::new(view), edits)),
                None => Box::new(view),
            });
        }
        Ok(Box::new(self.parent_state(header)?))
    }

    /// The state that the block with this header is executed on.
    pub fn parent_state(&self, header: &Header) -> Result<hearth_chain::StateAt, NodeError> {
        let (height, hash) = (header.number.saturating_sub(1), header.parent_hash);
        let canonical =
            |number, hash| Ok::<_, NodeError>(self.chain().reader().canonical_hash(number)? == Some(hash));
        // A canonical block's parent is canonical; the parent of another may be.
        if canonical(height, hash)? || canonical(header.number, header.hash_slow())? {
            return Ok(self.chain().state_at(height)?);
        }
        Err(NodeError::StateNotCanonical { height, hash })
    }
}

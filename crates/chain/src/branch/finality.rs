//! The blocks that the consensus client names as safe and finalized (execution-apis,
//! src/engine/paris.md: ForkchoiceStateV1).

use crate::home::{HomePaths, write_lasting};
use crate::{Chain, ChainError};
use alloy_primitives::B256;
use hearth_flatkv::Fsync;
use hearth_primitives::Height;
use serde::{Deserialize, Serialize};

/// A canonical block by height and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: B256,
}

/// The two tags that a consensus client sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalityTag {
    /// `safe`.
    Safe,
    /// `finalized`.
    Finalized,
}

impl FinalityTag {
    /// The tag as requests name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Finalized => "finalized",
        }
    }
}

/// What the last fork choice said; `None` where none has said it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finality {
    /// The newest safe block.
    pub safe: Option<Mark>,
    /// The newest finalized block.
    pub finalized: Option<Mark>,
}

impl Finality {
    /// The stored finality of the home. A file that does not parse is ignored: the next fork choice
    /// writes it again.
    pub(crate) fn read(paths: &HomePaths) -> Self {
        let text = std::fs::read_to_string(paths.finality()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

impl Chain {
    /// The finality according to the last fork choice; empty if no consensus client ever drove this
    /// home.
    pub fn finality(&self) -> Finality {
        *self.finality.read()
    }

    /// The block of a tag, where a fork choice said it and the block is canonical still.
    ///
    /// # Errors
    /// The ledger's.
    pub fn marked(&self, tag: FinalityTag) -> Result<Option<Mark>, ChainError> {
        let finality = self.finality();
        let mark = match tag {
            FinalityTag::Safe => finality.safe,
            FinalityTag::Finalized => finality.finalized,
        };
        let Some(mark) = mark else { return Ok(None) };
        Ok(self.is_canonical(mark.height, &mark.hash)?.then_some(mark))
    }

    /// Stores the finality of a fork choice; a tag that is `None` keeps its block. The file is
    /// complete after a kill. After a power cut it may be an earlier one, which the next fork
    /// choice replaces, so it is not synced.
    ///
    /// # Errors
    /// [`ChainError::Io`].
    pub fn set_finality(&self, said: Finality) -> Result<(), ChainError> {
        let mut finality = self.finality.write();
        let new =
            Finality { safe: said.safe.or(finality.safe), finalized: said.finalized.or(finality.finalized) };
        if new == *finality {
            return Ok(());
        }
        let text = serde_json::to_string(&new).expect("plain data always serialises");
        write_lasting(&self.paths.finality(), text.as_bytes(), Fsync::Never)?;
        *finality = new;
        Ok(())
    }
}

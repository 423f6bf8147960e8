//! What commits to a state while blocks change it: the state trie, or the vectors of the lattice
//! hash.

use crate::{
    CommitmentKind, FlatKv, PastTrie, TrieSession,
    past_trie::{TAKEN_BACK_MAX, taken_back},
};
use alloy_primitives::B256;
use hearth_flatkv_storage::{
    commitment::Lattice,
    db::Family,
    error::corrupt,
    rows::{BlockRows, meta, read_head},
};
use hearth_primitives::{Changeset, Height, RootTracker, StateError};
use hearth_trie::TrieUpdate;
use std::sync::Arc;

/// The commitment to a state and to changes on top of it: [`RootTracker::root`] is what the header
/// of a block has as its state root.
pub enum StateRoots<'a> {
    /// The trie of the head, whose changes can be committed.
    Head(Box<TrieSession>),
    /// The trie of an earlier block.
    Past(Box<PastTrie<'a>>),
    /// The vectors of a lattice hash.
    Lattice(Box<LatticeRoots>),
}

impl StateRoots<'_> {
    /// The changed nodes of the trie, for the commit; `None` for the trie of an earlier block, and
    /// for the lattice hash, which the commit computes from the changes.
    ///
    /// # Errors
    /// [`StateError::MissingNode`].
    pub fn into_update(self) -> Result<Option<TrieUpdate>, StateError> {
        match self {
            Self::Head(trie) => trie.into_update().map(Some),
            Self::Past(_) | Self::Lattice(_) => Ok(None),
        }
    }
}

impl RootTracker for StateRoots<'_> {
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        match self {
            Self::Head(trie) => trie.apply(changes),
            Self::Past(trie) => trie.apply(changes),
            Self::Lattice(lattice) => lattice.apply(changes),
        }
    }

    fn root(&mut self) -> Result<B256, StateError> {
        match self {
            Self::Head(trie) => trie.root(),
            Self::Past(trie) => trie.root(),
            Self::Lattice(lattice) => lattice.root(),
        }
    }
}

/// The vectors of a lattice hash after a block, and changes on top of it. The default is that of an
/// empty state.
#[derive(Clone, Debug, Default)]
pub struct LatticeRoots(Lattice);

impl RootTracker for LatticeRoots {
    /// The old values of the changes must be those of the state so far.
    fn apply(&mut self, changes: &Changeset) -> Result<(), StateError> {
        self.0.update(BlockRows { changes, legacy: &[] });
        Ok(())
    }

    fn root(&mut self) -> Result<B256, StateError> {
        Ok(self.0.checksum())
    }
}

impl FlatKv {
    /// The commitment to the head's state.
    ///
    /// # Errors
    /// [`StateError::NoTrie`] where the data directory commits to nothing.
    pub fn roots(self: &Arc<Self>) -> Result<StateRoots<'static>, StateError> {
        match self.core.kind {
            CommitmentKind::LtHash => {
                let (_, lattice) = self.core.pinned_lattice(None)?;
                Ok(StateRoots::Lattice(Box::new(LatticeRoots(lattice))))
            }
            CommitmentKind::Mpt | CommitmentKind::None => Ok(StateRoots::Head(Box::new(self.trie()?))),
        }
    }

    /// The commitment to the state after the block at a height: every block above it is taken back,
    /// so that the cost grows with the accounts and slots that those changed.
    ///
    /// # Errors
    /// As [`Self::trie_at`].
    pub fn roots_at(self: &Arc<Self>, height: Height) -> Result<StateRoots<'_>, StateError> {
        if self.core.kind != CommitmentKind::LtHash {
            return Ok(StateRoots::Past(Box::new(self.trie_at(height)?)));
        }
        self.at(height)?;
        let (changes, mut lattice) = self.core.pinned_lattice(Some(height))?;
        // Pruned, or unwound, since it was looked at.
        let gone = || self.at(height).map_or_else(|gone| gone, |_| corrupt("changes"));
        lattice.update(BlockRows { changes: &changes.ok_or_else(gone)?, legacy: &[] });
        Ok(StateRoots::Lattice(Box::new(LatticeRoots(lattice))))
    }

    /// Whether the data directory commits to its state.
    pub fn has_roots(&self) -> bool {
        self.core.kind != CommitmentKind::None
    }
}

impl crate::shared::Core {
    /// The vectors of the head, and what takes its state back to a height, both as of one moment.
    fn pinned_lattice(&self, to: Option<Height>) -> Result<(Option<Changeset>, Lattice), StateError> {
        let pinned = self.db.pin()?;
        let head = read_head(&pinned.get(Family::Metadata, meta::HEAD)?.ok_or_else(|| corrupt("head"))?)?;
        let read = |key: &[u8]| Ok(pinned.get(Family::Metadata, key)?.map(|row| row.to_vec()));
        let lattice = Lattice::read_with(read)?.ok_or_else(|| corrupt("lattice"))?;
        let changes = match to {
            Some(to) => taken_back(&pinned, to, head.height, TAKEN_BACK_MAX)?,
            None => None,
        };
        Ok((changes, lattice))
    }
}

//! Edits of the state between two blocks, as development tools make them.
//!
//! Edits after block N are an overlay on the state after N until block N+1 is committed: every
//! reader of that state gets it through [`StateAt`]. The block includes the edits: its change of
//! the store is theirs and its own, its state root covers both, and a row of the canonical index
//! keeps them, so that the state on which the block was executed can be restored. Store and header
//! agree at every height, and unwinding the block unwinds its edits too.

mod journal;
mod overlay;
mod state;

pub use overlay::{AccountEdit, Edits};
pub use state::{OverlayState, StateAt};

use crate::{Chain, ChainError};
use alloy_primitives::{Address, B256, U256};
use hearth_flatkv::{AccountProof, IndexWrite, StateRoots};
use hearth_primitives::{Height, RootTracker as _, StateError, StateReader as _};
use journal::EditFile;
use parking_lot::{RwLock, RwLockWriteGuard};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

/// Most accounts and slots that are edited between two blocks.
pub const EDITS_MAX: usize = 4 << 20;

/// Blocks that are taken back in one batch.
const UNWOUND_AT_ONCE: u64 = 4_096;

/// First byte of the rows of the canonical index that keep edits; the height of the block that
/// includes them follows.
const ROW: u8 = b'e';

/// What was edited in this home.
#[derive(Debug, Default)]
pub(crate) struct EditedState {
    /// Whether there ever were edits: if not, reads skip the look-up.
    any: AtomicBool,
    pending: RwLock<Pending>,
    /// Grows with every edit.
    version: AtomicU64,
}

/// Edits of the state after the head.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    edits: Arc<Edits>,
    file: EditFile,
}

/// Write lock on the pending edits while they are committed with a block.
pub(crate) type EditsGuard<'a> = RwLockWriteGuard<'a, Pending>;

fn row_key(height: Height) -> Vec<u8> {
    [&[ROW][..], &height.to_be_bytes()].concat()
}

impl Chain {
    /// Finds the edits that the home has.
    pub(crate) fn open_edits(&self) -> Result<(), ChainError> {
        let (file, edits) = EditFile::open(&self.paths.edits(), &self.head().hash)?;
        let kept = self.kv.index_range(&[ROW], &[ROW + 1], 1)?;
        self.edited.any.store(!edits.is_empty() || !kept.is_empty(), SeqCst);
        *self.edited.pending.write() = Pending { edits: Arc::new(edits), file };
        Ok(())
    }

    /// The state after the canonical block at a height, with what was edited before the next one.
    ///
    /// # Errors
    /// The store's, among them a height that it does not keep.
    pub fn state_at(&self, height: Height) -> Result<StateAt, StateError> {
        if !self.edited.any.load(SeqCst) {
            return Ok(StateAt::new(self.kv.at(height)?, None));
        }
        let pending = self.edited.pending.read();
        let view = self.kv.at(height)?;
        let edits = self.edits_under(&pending, height)?;
        Ok(StateAt::new(view, edits))
    }

    /// Same as [`Self::state_at`], without waiting; `None` also while an edit is being made.
    pub fn state_at_once(&self, height: Height) -> Option<StateAt> {
        if !self.edited.any.load(SeqCst) {
            return Some(StateAt::new(self.kv.at(height).ok()?, None));
        }
        let pending = self.edited.pending.try_read()?;
        let view = self.kv.at(height).ok()?;
        let edits = self.edits_under(&pending, height).ok()?;
        Some(StateAt::new(view, edits))
    }

    /// What was edited after the canonical block at a height, before the next one.
    ///
    /// # Errors
    /// The store's.
    pub fn edits_after(&self, height: Height) -> Result<Option<Arc<Edits>>, StateError> {
        if !self.edited.any.load(SeqCst) {
            return Ok(None);
        }
        self.edits_under(&self.edited.pending.read(), height)
    }

    fn edits_under(&self, pending: &Pending, height: Height) -> Result<Option<Arc<Edits>>, StateError> {
        if self.head().height == height {
            return Ok((!pending.edits.is_empty()).then(|| pending.edits.clone()));
        }
        let Some(row) = self.kv.index_get(&row_key(height + 1))? else { return Ok(None) };
        let edits = Edits::from_bytes(&row);
        let edits =
            edits.map_err(|error| StateError::failed(format!("edits after block {height}"), error))?;
        Ok(Some(Arc::new(edits)))
    }

    /// The commitment to the state after the block at a height with what was edited after it.
    ///
    /// # Errors
    /// As [`hearth_flatkv::FlatKv::roots_at`].
    pub fn roots_after(&self, height: Height) -> Result<StateRoots<'_>, StateError> {
        let edits = self.edits_after(height)?;
        let mut roots = self.kv.roots_at(height)?;
        if let Some(edits) = edits {
            roots.apply(&edits.changes())?;
        }
        Ok(roots)
    }

    /// As [`Self::roots_after`], for the block at this height with this hash; `None` where it is
    /// not, or no longer, canonical.
    ///
    /// # Errors
    /// As [`Self::roots_after`]; the ledger's.
    pub fn roots_on(&self, height: Height, hash: &B256) -> Result<Option<StateRoots<'_>>, ChainError> {
        let roots = self.roots_after(height)?;
        // Looked at behind the roots: another block may have taken its place before they were read.
        Ok((self.ledger.canonical_hash(height)? == Some(*hash)).then_some(roots))
    }

    /// The proof of an account and of some of its slots in the state after the block at a height,
    /// and whether the state was edited after the block: then the proof's root is not that of the
    /// block's header.
    ///
    /// # Errors
    /// Those of [`hearth_flatkv::FlatKv::prove`].
    pub fn prove_after(
        &self,
        height: Height,
        address: &Address,
        slots: &[U256],
    ) -> Result<(AccountProof, bool), StateError> {
        let Some(edits) = self.edits_after(height)? else {
            return Ok((self.kv.prove(height, address, slots)?, false));
        };
        let mut trie = self.kv.trie_at(height)?;
        trie.apply(&edits.changes())?;
        trie.root()?;
        Ok((trie.prove(address, slots)?, true))
    }

    /// Edits the state after the head: all of these accounts, or none.
    ///
    /// # Errors
    /// [`ChainError::TooManyEdits`]; the store's.
    pub fn edit(&self, edits: &[(Address, AccountEdit)]) -> Result<(), ChainError> {
        let _nothing_is_committed_meanwhile = self.working.lock();
        let head = self.head();
        let below = self.kv.at(head.height)?;
        let below = below.for_execution().unwrap_or_else(|| Box::new(below.clone()));
        // Reads from a remote node come before the lock that readers wait for; the values are
        // cached from then on.
        for (address, edit) in edits {
            below.account(address)?;
            edit.slots.iter().try_for_each(|(slot, _)| below.storage(address, slot).map(drop))?;
        }
        let pending = &mut *self.edited.pending.write();
        let slots: usize = edits.iter().map(|(_, edit)| 1 + edit.slots.len()).sum();
        if pending.edits.len() + slots > EDITS_MAX {
            return Err(ChainError::TooManyEdits { limit: EDITS_MAX });
        }
        let (mut done, mut all) = (Edits::default(), pending.edits.clone());
        let many = edits.len() > 1;
        if !many {
            // There is no other reference, so nothing is copied.
            pending.edits = Arc::default();
        }
        let into = Arc::make_mut(&mut all);
        for (address, edit) in edits {
            match into.apply(*address, edit, &*below) {
                Ok(one) => done.adopt(one),
                Err(error) => {
                    if !many {
                        pending.edits = all;
                    }
                    return Err(error.into());
                }
            }
        }
        let kept = pending.file.append(&self.paths.edits(), &head.hash, &done);
        pending.edits = all;
        self.edited.any.store(true, SeqCst);
        self.edited.version.fetch_add(1, SeqCst);
        kept
    }

    /// What was edited after the head.
    pub fn pending_edits(&self) -> Arc<Edits> {
        self.edited.pending.read().edits.clone()
    }

    /// A number that differs whenever the edits after the head do.
    pub fn edits_version(&self) -> u64 {
        self.edited.version.load(SeqCst)
    }

    /// Rewinds the head to the canonical block at a height, whose state gets these edits. The
    /// blocks above it stay in the ledger.
    ///
    /// # Errors
    /// [`hearth_flatkv::FlatKvError::UnwindTarget`] if history does not reach back to it; nothing
    /// has changed then.
    pub fn rewind(&self, to: Height, edits: Arc<Edits>) -> Result<(), ChainError> {
        let working = &mut *self.working.lock();
        self.note_head(working);
        {
            let pending = &mut *self.edited.pending.write();
            // In steps, because a step is one batch in memory. A crash between two leaves a partial
            // rewind.
            let reached = self.kv.oldest().is_some_and(|oldest| oldest <= to);
            while reached && self.head().height > to.saturating_add(UNWOUND_AT_ONCE) {
                self.kv.unwind(self.head().height - UNWOUND_AT_ONCE)?;
                pending.edits = Arc::default();
            }
            self.kv.unwind(to)?;
            pending.file.replace(&self.paths.edits(), &self.head().hash, &edits)?;
            pending.edits = edits;
            self.edited.version.fetch_add(1, SeqCst);
        }
        self.watchers.unwound(to);
        self.announce(working);
        Ok(())
    }

    /// Includes the edits in the block that is committed next: they are applied to the store, with
    /// the row that keeps them. `None` if there are none.
    pub(crate) fn take_edits(
        &self,
        height: Height,
    ) -> Result<Option<(TakenEdits<'_>, IndexWrite)>, ChainError> {
        if !self.edited.any.load(SeqCst) {
            return Ok(None);
        }
        let pending = self.edited.pending.write();
        if pending.edits.is_empty() {
            return Ok(None);
        }
        self.kv.apply(&pending.edits.changes(), &[])?;
        let row = IndexWrite { key: row_key(height), value: Some(pending.edits.to_bytes(false)) };
        Ok(Some((TakenEdits { chain: self, pending: Some(pending) }, row)))
    }

    /// Forgets the edits after the head: a block is going to be executed that was not made on them.
    pub(crate) fn drop_edits(&self) {
        if self.edited.any.load(SeqCst) {
            TakenEdits { chain: self, pending: Some(self.edited.pending.write()) }.committed();
        }
    }
}

/// The pending edits while they are committed with the next block. If this guard is dropped before
/// the commit, the edits stay pending, and their changes of the store are discarded.
pub(crate) struct TakenEdits<'a> {
    chain: &'a Chain,
    pending: Option<EditsGuard<'a>>,
}

impl TakenEdits<'_> {
    /// The block is committed: its state has the edits.
    pub(crate) fn committed(mut self) {
        let Some(mut pending) = self.pending.take() else { return };
        pending.edits = Arc::default();
        // A file that stays names a block that is not the head, which opening the home sees.
        let _ = pending.file.replace(&self.chain.paths.edits(), &B256::ZERO, &Edits::default());
    }
}

impl Drop for TakenEdits<'_> {
    fn drop(&mut self) {
        if self.pending.is_some() {
            self.chain.kv.discard();
        }
    }
}

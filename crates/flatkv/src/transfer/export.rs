//! Writing a stream.

use super::{
    Attachment, Exported, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, StreamCounts, StreamHead, Trailer,
    TransferProgress, WatchTransfer, bad,
    frame::{FrameWriter, Kind},
    rows_at::{RowAt, RowsAt},
};
use crate::{FlatKv, FlatKvError, Head, unwind::block_changes};
use alloy_primitives::B256;
use hearth_flatkv_storage::{
    codec::{put_bytes, put_uvarint},
    db::{Db, Family},
    error::corrupt,
    rows::{ACCOUNT, LEGACY, STORAGE, read_account},
};
use hearth_primitives::{Height, StateError};
use std::{collections::HashSet, io::Write};

/// Bytes of rows from which on a chunk is written.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of a legacy history key before the row's own key: kind and length.
const LEGACY_KEY_FROM: usize = 5;
/// Hashes of code that are remembered as written, so that most code is looked at once.
const SEEN_CODES: usize = 1 << 20;

impl FlatKv {
    /// Writes the state of a retained height as a stream. Commits wait meanwhile: for use on a home
    /// that no node has open, or on a snapshot. `parent` is the hash of the block before.
    ///
    /// # Errors
    /// [`StateError::NotRetained`]; [`FlatKvError::Cancelled`]; [`FlatKvError::Io`] for `out`.
    pub fn export(
        &self,
        height: Height,
        parent: B256,
        attachments: &[Attachment],
        out: &mut dyn Write,
        watch: WatchTransfer<'_>,
    ) -> Result<Exported, FlatKvError> {
        let _nobody_commits = self.core.lock_writer();
        let newest = self.head().ok_or(FlatKvError::Empty)?.height;
        let oldest = self.oldest().unwrap_or(newest);
        if !(oldest..=newest).contains(&height) {
            return Err(StateError::NotRetained { height, oldest, newest }.into());
        }
        let block = block_changes(&self.core.db, height)?;
        let head = Head { height, hash: block.hash, commitment: block.commitment };
        let head = StreamHead { head, parent, kind: self.core.kind };
        let at = (height < newest).then_some(height);
        Export::new(&self.core.db, at, out, watch)?.run(head, attachments)
    }
}

struct Export<'a> {
    db: &'a Db,
    /// The height where it is below the head.
    at: Option<Height>,
    frames: FrameWriter<'a>,
    watch: WatchTransfer<'a>,
    chunk: Vec<u8>,
    counts: StreamCounts,
    progress: TransferProgress,
}

impl<'a> Export<'a> {
    fn new(
        db: &'a Db,
        at: Option<Height>,
        out: &'a mut dyn Write,
        watch: WatchTransfer<'a>,
    ) -> Result<Self, FlatKvError> {
        let rows = [Family::Account, Family::Storage, Family::Legacy].map(|family| db.estimate(family));
        let total_rows = rows.into_iter().sum::<Result<u64, _>>()?;
        let progress = TransferProgress { total_rows, ..TransferProgress::default() };
        let (frames, counts) = (FrameWriter::new(out)?, StreamCounts::default());
        Ok(Self { db, at, frames, watch, chunk: Vec::new(), counts, progress })
    }

    fn run(mut self, head: StreamHead, attachments: &[Attachment]) -> Result<Exported, FlatKvError> {
        self.frames.frame(Kind::Head, &head.to_bytes())?;
        if attachments.len() > MAX_ATTACHMENTS {
            return Err(bad(0, format!("more than {MAX_ATTACHMENTS} attachments")));
        }
        for (name, bytes) in attachments {
            if bytes.len() > MAX_ATTACHMENT_BYTES {
                return Err(bad(0, format!("{name} is larger than {MAX_ATTACHMENT_BYTES} bytes")));
            }
            let mut frame = Vec::with_capacity(name.len() + bytes.len() + 8);
            put_bytes(&mut frame, name.as_bytes());
            frame.extend_from_slice(bytes);
            self.frames.frame(Kind::Attachment, &frame)?;
        }
        self.codes()?;
        self.accounts()?;
        self.legacy()?;
        self.write_chunk()?;
        let (counts, digest) = (self.counts, self.frames.digest());
        let trailer = Trailer { counts, commitment: head.head.commitment, digest };
        self.frames.frame(Kind::Trailer, &trailer.to_bytes())?;
        let bytes = self.frames.finish()?;
        Ok(Exported { head: head.head, counts, bytes, digest })
    }

    fn rows(&self, family: Family, history: (u8, usize)) -> Result<RowsAt<'a>, StateError> {
        RowsAt::new(self.db, family, history, self.at)
    }

    /// The code of every account of the height, each once, in the order of the accounts that have
    /// it first.
    fn codes(&mut self) -> Result<(), FlatKvError> {
        let mut seen = HashSet::new();
        let mut rows = self.rows(Family::Account, (ACCOUNT, 1))?;
        while let Some((_, _, value)) = rows.next()? {
            let account = read_account(&value)?;
            if !account.has_code() || !seen.insert(account.code_hash) {
                continue;
            }
            if seen.len() > SEEN_CODES {
                // Written again it is harmless: it has the same bytes.
                seen.clear();
            }
            let hash = account.code_hash;
            let code = self.db.get(Family::Code, hash.as_slice())?.ok_or(StateError::MissingCode(hash))?;
            self.counts.codes += 1;
            self.put(Family::Code, &(hash.to_vec(), 0, code.to_vec()))?;
        }
        Ok(())
    }

    /// Accounts, each followed by its slots.
    fn accounts(&mut self) -> Result<(), FlatKvError> {
        let mut slots = self.rows(Family::Storage, (STORAGE, 1))?;
        let mut slot = slots.next()?;
        let mut accounts = self.rows(Family::Account, (ACCOUNT, 1))?;
        while let Some(account) = accounts.next()? {
            self.counts.accounts += 1;
            self.put(Family::Account, &account)?;
            while let Some(row) = slot.take_if(|(key, ..)| key.starts_with(&account.0)) {
                self.counts.slots += 1;
                self.put(Family::Storage, &row)?;
                slot = slots.next()?;
            }
        }
        match slot {
            None => Ok(()),
            Some(_) => Err(corrupt("storage").into()),
        }
    }

    fn legacy(&mut self) -> Result<(), FlatKvError> {
        let mut rows = self.rows(Family::Legacy, (LEGACY, LEGACY_KEY_FROM))?;
        while let Some(row) = rows.next()? {
            self.counts.legacy += 1;
            self.put(Family::Legacy, &row)?;
        }
        Ok(())
    }

    fn put(&mut self, family: Family, (key, stamp, value): &RowAt) -> Result<(), FlatKvError> {
        self.progress.rows += u64::from(family != Family::Code);
        self.chunk.push(family as u8);
        put_bytes(&mut self.chunk, key);
        put_uvarint(&mut self.chunk, *stamp);
        put_bytes(&mut self.chunk, value);
        if self.chunk.len() < CHUNK_BYTES { Ok(()) } else { self.write_chunk() }
    }

    fn write_chunk(&mut self) -> Result<(), FlatKvError> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        self.frames.frame(Kind::Rows, &self.chunk)?;
        self.chunk.clear();
        self.progress.bytes = self.frames.bytes;
        if (self.watch)(self.progress) { Ok(()) } else { Err(FlatKvError::Cancelled) }
    }
}

//! Batches of changes, on their way into RocksDB's memtables.

use crate::{
    db::{Db, Family},
    nodes::NodeRow,
    rows::{history_height, meta},
};
use hearth_primitives::{Height, StateError};
use parking_lot::Mutex;
use rocksdb::{BoundColumnFamily, WriteBatch};
use std::{
    hint::spin_loop,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire},
    },
    thread::{Builder, scope},
    time::{Duration, Instant},
};

/// How long one of two threads waits for the other, so that both write at once: about what waking a
/// thread takes.
const MEETING: Duration = Duration::from_micros(200);

/// Writes one half of a batch.
type HalfBatch<'h> = Box<dyn FnOnce() -> Result<(), StateError> + Send + 'h>;

/// Many changes that become durable together; visible together too, but for those of
/// [`Batch::in_halves`].
pub struct Batch<'a> {
    db: &'a Db,
    families: Vec<Arc<BoundColumnFamily<'a>>>,
    batch: WriteBatch,
    /// What a second thread puts in.
    past: Option<WriteBatch>,
    /// Nodes of the trie that stay in memory at first.
    nodes: Vec<NodeRow>,
    /// Lowest height of the rows of history that are put.
    past_from: Option<Height>,
}

/// The changes of a [`Batch`] without the store that they are for.
pub struct EncodedBatch {
    batch: WriteBatch,
    past: Option<WriteBatch>,
    nodes: Vec<NodeRow>,
    past_from: Option<Height>,
}

impl EncodedBatch {
    /// Bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.batch.size_in_bytes() + self.past.as_ref().map_or(0, WriteBatch::size_in_bytes)
    }
}

impl<'a> Batch<'a> {
    /// An empty batch; `families` in the order of [`Family::ALL`].
    pub fn new(db: &'a Db, families: Vec<Arc<BoundColumnFamily<'a>>>) -> Self {
        let batch = WriteBatch::default();
        Self { db, families, batch, past: None, nodes: Vec::new(), past_from: None }
    }

    /// The changes, to be written later with [`Batch::of`].
    pub fn detach(self) -> EncodedBatch {
        let Self { batch, past, nodes, past_from, .. } = self;
        EncodedBatch { batch, past, nodes, past_from }
    }

    /// These changes over an empty batch of their store.
    pub fn of(self, encoded: EncodedBatch) -> Self {
        let EncodedBatch { batch, past, nodes, past_from } = encoded;
        Self { batch, past, nodes, past_from, ..self }
    }

    /// This empty batch with room for about so many bytes, its history set apart for a second
    /// thread. Finding its place among the others is most of what a row costs, and memtables take
    /// in rows of several threads at once.
    ///
    /// A reader may see one half without the other. Up to the head that makes no difference: no
    /// reader looks for history above it, and a latest row above it has its value at the head in
    /// history already. All other rows become visible together; where just one half gets there, for
    /// RocksDB failed in between, trie and index are refused from then on. No flush may begin in
    /// between: the writer must be locked, the batch far smaller than a memtable, and RocksDB not
    /// about to come round from a failure.
    pub fn in_halves(self, bytes: usize) -> Self {
        let half = || WriteBatch::with_capacity_bytes(bytes / 2);
        Self { batch: half(), past: Some(half()), ..self }
    }

    /// A family's handle, and the half that has its rows.
    fn part(&mut self, family: Family) -> (&Arc<BoundColumnFamily<'a>>, &mut WriteBatch) {
        let half = match (&mut self.past, family) {
            (Some(past), Family::History) => past,
            _ => &mut self.batch,
        };
        (&self.families[family as usize], half)
    }

    /// Puts a row.
    pub fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        if family == Family::History {
            let height = height_of(key);
            self.past_from = Some(self.past_from.map_or(height, |from| from.min(height)));
        }
        let (handle, half) = self.part(family);
        half.put_cf(handle, key, value);
    }

    /// Deletes a row.
    pub fn delete(&mut self, family: Family, key: &[u8]) {
        let (handle, half) = self.part(family);
        half.delete_cf(handle, key);
    }

    /// Puts a row, or deletes it where there is no value.
    pub fn set(&mut self, family: Family, key: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => self.put(family, key, value),
            None => self.delete(family, key),
        }
    }

    /// Puts a node of the trie, or deletes it.
    pub fn put_node(&mut self, (key, node): NodeRow) {
        match self.db.gathers_nodes() {
            true => self.nodes.push((key, node)),
            false => self.set(Family::Trie, &key, node.as_deref()),
        }
    }

    /// Bytes of keys and values so far, without nodes that stay in memory at first.
    pub fn bytes(&self) -> u64 {
        let past = self.past.as_ref().map_or(0, WriteBatch::size_in_bytes);
        (self.batch.size_in_bytes() + past) as u64
    }

    /// Writes the batch: its halves at the same time where it has two.
    pub fn write(self) -> Result<(), StateError> {
        // A thread of rayon's pool that waits takes up other work, which may want the nodes that
        // are locked meanwhile.
        if !self.nodes.is_empty() {
            return self.write_apart();
        }
        self.write_by(|latest, past| rayon::join(latest, past))
    }

    /// As [`Batch::write`], without a thread of rayon's pool: all of them may wait for this batch.
    pub fn write_apart(self) -> Result<(), StateError> {
        self.write_by(|latest, past| {
            let past = Mutex::new(Some(past));
            let write_past = || past.lock().take().map_or(Ok(()), |write| write());
            scope(|scope| {
                let builder = Builder::new().name("flatkv-apply".into());
                let thread = builder.spawn_scoped(scope, write_past);
                let latest = latest();
                let past = match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    // The system gave no thread.
                    Err(_) => write_past(),
                };
                (latest, past)
            })
        })
    }

    fn write_by(
        self,
        both: impl FnOnce(HalfBatch<'_>, HalfBatch<'_>) -> (Result<(), StateError>, Result<(), StateError>),
    ) -> Result<(), StateError> {
        let Self { db, families, mut batch, past, nodes, past_from } = self;
        // In the same batch: RocksDB must not have the rows durably and the marks of before.
        if let Some(marks) = past_from.and_then(|from| db.marks.forget_from(from)) {
            batch.put_cf(&families[Family::Metadata as usize], meta::MARKS, marks);
        }
        let Some(past) = past else { return db.write_with(nodes, || db.write(batch)) };
        db.write_with(nodes, || {
            let meeting = AtomicUsize::new(0);
            let put = |half| {
                rendezvous(&meeting);
                db.write(half)
            };
            let (latest, past) = both(Box::new(|| put(batch)), Box::new(|| put(past)));
            if latest.is_ok() != past.is_ok() {
                db.was_halved();
            }
            past.and(latest)
        })
    }
}

/// Height of a history key; 0 for a malformed key, so that every mark is forgotten.
fn height_of(key: &[u8]) -> Height {
    history_height(key).unwrap_or(0)
}

/// Returns once both threads are here, or the other one is long in coming: RocksDB lets those write
/// at once that come at once, and the others one behind the other.
fn rendezvous(arrived: &AtomicUsize) {
    let since = Instant::now();
    arrived.fetch_add(1, AcqRel);
    while arrived.load(Acquire) < 2 && since.elapsed() < MEETING {
        spin_loop();
    }
}

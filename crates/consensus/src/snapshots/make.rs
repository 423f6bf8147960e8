//! Making snapshots, and giving their chunks out.

use super::{CHUNK_BYTES, CHUNKS_MAX, FORMAT, HASH_BYTES};
use crate::clock::Moment;
use hearth_abci::pb;
use hearth_chain::{ChainError, ChainOptions, operate::export_state};
use hearth_flatkv::FlatKv;
use hearth_metrics::{Level, Log, LogEntry};
use hearth_primitives::Height;
use parking_lot::{Condvar, Mutex};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Snapshots that are offered and kept, newest first: a peer may still fetch the one before the
/// newest.
const KEPT: usize = 2;

/// Older snapshots than those are kept while peers use them, up to this many in all.
const KEPT_IN_USE_MAX: usize = 6;

/// A snapshot is in use for so long after it was offered or one of its chunks was read. Before it
/// requests chunks, the light client of a joining CometBFT waits up to 30 s for a witness that is
/// behind (`light/detector.go`), and it gives up a chunk that is missing after 120 s only
/// (`statesync/syncer.go`).
const IN_USE: Duration = Duration::from_secs(120);

/// The stream, below a snapshot's folder.
const STREAM: &str = "stream";

/// blake3 of the stream and of each chunk, below a snapshot's folder.
const HASHES: &str = "hashes";

/// Folder of a snapshot that is not whole yet.
const PART: &str = "part";

/// The complete snapshots of a data directory, each in a folder named by its height.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFolder {
    path: PathBuf,
    /// When each snapshot was last offered or read; no more than those that exist.
    used: Arc<Mutex<BTreeMap<Height, Moment>>>,
}

impl SnapshotFolder {
    /// That of a home.
    pub fn of(home: &Path) -> Self {
        Self { path: home.join("data/statesync"), used: Arc::default() }
    }

    /// Heights of the snapshots, newest first.
    fn heights(&self) -> Vec<Height> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut heights: Vec<Height> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        heights.sort_unstable_by(|a, b| b.cmp(a));
        heights
    }

    /// What peers may fetch; one that cannot be read is left out.
    pub fn list(&self) -> Vec<pb::Snapshot> {
        let newest = self.heights().into_iter().take(KEPT);
        let snapshots: Vec<_> = newest.filter_map(|height| self.describe(height).ok()).collect();
        let now = Moment::now();
        self.used.lock().extend(snapshots.iter().map(|snapshot| (snapshot.height, now)));
        snapshots
    }

    fn describe(&self, height: Height) -> io::Result<pb::Snapshot> {
        let hashes = fs::read(self.path.join(height.to_string()).join(HASHES))?;
        let wrong = || io::Error::from(io::ErrorKind::InvalidData);
        let (hash, chunks) = hashes.split_at_checked(HASH_BYTES).ok_or_else(wrong)?;
        Ok(pb::Snapshot {
            height,
            format: FORMAT,
            chunks: u32::try_from(chunks.len() / HASH_BYTES).map_err(|_| wrong())?,
            hash: hash.to_vec().into(),
            metadata: chunks.to_vec().into(),
        })
    }

    /// A chunk; empty where there is none.
    pub fn chunk(&self, height: Height, format: u32, chunk: u32) -> Vec<u8> {
        let read = || {
            let mut file = File::open(self.path.join(height.to_string()).join(STREAM))?;
            file.seek(SeekFrom::Start(u64::from(chunk) * CHUNK_BYTES as u64))?;
            let mut bytes = Vec::new();
            file.take(CHUNK_BYTES as u64).read_to_end(&mut bytes)?;
            self.used.lock().insert(height, Moment::now());
            Ok::<_, io::Error>(bytes)
        };
        if format == FORMAT { read().unwrap_or_default() } else { Vec::new() }
    }

    /// Writes the snapshot of a height, and removes those beyond [`KEPT`] that no peer uses.
    fn make(
        &self,
        height: Height,
        home: &Path,
        options: &ChainOptions,
        stop: &AtomicBool,
    ) -> Result<(), ChainError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| ChainError::Io { path: path.clone(), source }
        };
        let part = self.path.join(PART);
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).map_err(io(&part))?;
        let stream = part.join(STREAM);
        let mut out = Chunked::new(File::create(&stream).map_err(io(&stream))?);
        export_state(home, options, Some(height), &mut out, &mut |_| !stop.load(Ordering::Relaxed))?;
        let hashes = out.finish().map_err(io(&stream))?;
        fs::write(part.join(HASHES), hashes).map_err(io(&part))?;
        let whole = self.path.join(height.to_string());
        let _ = fs::remove_dir_all(&whole);
        fs::rename(&part, &whole).map_err(io(&whole))?;
        self.remove_old(IN_USE);
        Ok(())
    }

    /// Removes the snapshots beyond [`KEPT`] that were not used for some time, and all beyond
    /// [`KEPT_IN_USE_MAX`].
    fn remove_old(&self, in_use: Duration) {
        let heights = self.heights();
        // Under the lock, so that none is removed after it was offered.
        let mut used = self.used.lock();
        used.retain(|height, _| heights.contains(height));
        for (at, height) in heights.iter().enumerate().skip(KEPT) {
            let is_used = used.get(height).is_some_and(|last| last.elapsed() < in_use);
            if !is_used || at >= KEPT_IN_USE_MAX {
                let _ = fs::remove_dir_all(self.path.join(height.to_string()));
                used.remove(height);
            }
        }
    }
}

/// Writes a stream to disk in chunks, and hashes the stream and each chunk.
struct Chunked {
    file: BufWriter<File>,
    whole: blake3::Hasher,
    chunk: blake3::Hasher,
    in_chunk: usize,
    chunks: Vec<u8>,
}

impl Chunked {
    fn new(file: File) -> Self {
        let (whole, chunk) = (blake3::Hasher::new(), blake3::Hasher::new());
        Self { file: BufWriter::new(file), whole, chunk, in_chunk: 0, chunks: Vec::new() }
    }

    fn end_chunk(&mut self) {
        self.chunks.extend_from_slice(self.chunk.finalize().as_bytes());
        self.chunk.reset();
        self.in_chunk = 0;
    }

    /// The hash of the stream and those of its chunks.
    fn finish(mut self) -> io::Result<Vec<u8>> {
        if self.in_chunk > 0 {
            self.end_chunk();
        }
        if self.chunks.len() > CHUNKS_MAX * HASH_BYTES {
            return Err(io::Error::other("the state has more chunks than CometBFT takes"));
        }
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok([self.whole.finalize().as_bytes().as_slice(), &self.chunks].concat())
    }
}

impl Write for Chunked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(CHUNK_BYTES - self.in_chunk);
        let written = self.file.write(&bytes[..fits])?;
        self.whole.update(&bytes[..written]);
        self.chunk.update(&bytes[..written]);
        self.in_chunk += written;
        if self.in_chunk == CHUNK_BYTES {
            self.end_chunk();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Makes snapshots on its own thread. Of several heights that arrive while a snapshot is made, only
/// the last is made next.
pub(crate) struct SnapshotMaker {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    wanted: Mutex<Option<Height>>,
    changed: Condvar,
    stop: AtomicBool,
}

impl SnapshotMaker {
    /// For a home and its open state store.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(
        home: PathBuf,
        shelf: SnapshotFolder,
        options: ChainOptions,
        kv: Arc<FlatKv>,
        log: Log,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            wanted: Mutex::default(),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let of_thread = shared.clone();
        let thread = thread::Builder::new().name("statesync-snapshot".to_owned()).spawn(move || {
            while let Some(height) = of_thread.next() {
                // The newest snapshot of the store is what can be read beside the open home.
                let made = kv.snapshot().map_err(ChainError::from);
                let made = made.and_then(|_| shelf.make(height, &home, &options, &of_thread.stop));
                if let Err(error) = made
                    && !of_thread.stop.load(Ordering::Relaxed)
                {
                    let entry = LogEntry::new(Level::Warn, "consensus", "no snapshot for state sync");
                    log.add(entry.text("height", height).text("why", error));
                }
            }
        })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Requests the snapshot of a height.
    pub fn want(&self, height: Height) {
        *self.shared.wanted.lock() = Some(height);
        self.shared.changed.notify_one();
    }

    /// Ends the thread; a snapshot that is being made is given up.
    pub fn close(&self) {
        {
            // Under the lock, so that the thread sees it before it waits.
            let _wanted = self.shared.wanted.lock();
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        self.shared.changed.notify_all();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for SnapshotMaker {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Waits for the next height; `None` where the thread is to end.
    fn next(&self) -> Option<Height> {
        let mut wanted = self.wanted.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(height) = wanted.take() {
                return Some(height);
            }
            self.changed.wait(&mut wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_and_hashed_chunk_by_chunk() {
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 2 + 5).map(|at| (at % 251) as u8).collect();
        let mut out = Chunked::new(tempfile::tempfile().unwrap());
        for piece in bytes.chunks(100_003) {
            out.write_all(piece).unwrap();
        }
        let hashes = out.finish().unwrap();
        let mut wanted = blake3::hash(&bytes).as_bytes().to_vec();
        for chunk in bytes.chunks(CHUNK_BYTES) {
            wanted.extend_from_slice(blake3::hash(chunk).as_bytes());
        }
        assert_eq!(hashes.len(), 4 * HASH_BYTES);
        assert_eq!(hashes, wanted);
    }

    #[test]
    fn snapshots_that_peers_use_outlive_newer_ones() {
        let home = tempfile::tempdir().unwrap();
        let folder = SnapshotFolder::of(home.path());
        let add = |height: Height| {
            let path = folder.path.join(height.to_string());
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(STREAM), height.to_le_bytes()).unwrap();
            fs::write(path.join(HASHES), [0; 2 * HASH_BYTES]).unwrap();
            folder.remove_old(IN_USE);
        };
        let offered = || folder.list().iter().map(|snapshot| snapshot.height).collect::<Vec<_>>();
        (1..=4).for_each(add);
        assert_eq!(folder.heights(), [4, 3]);
        assert_eq!(offered(), [4, 3]);
        // Those that were offered stay, up to the limit.
        (5..=7).for_each(add);
        assert_eq!(folder.heights(), [7, 6, 4, 3]);
        assert_eq!(folder.chunk(3, FORMAT, 0), 3_u64.to_le_bytes());
        for height in 8..=10 {
            offered();
            add(height);
        }
        assert_eq!(folder.heights(), [10, 9, 8, 7, 6, 4]);
        assert!(folder.chunk(3, FORMAT, 0).is_empty());
        // No peer uses them any more.
        folder.remove_old(Duration::ZERO);
        assert_eq!(folder.heights(), [10, 9]);
        assert_eq!(folder.used.lock().keys().copied().collect::<Vec<_>>(), [9]);
    }
}

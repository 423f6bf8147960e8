//! Priority of the threads that compact.

use rustix::{
    io,
    process::{Pid, getpriority_process, setpriority_process},
};
use std::{fs, path::Path};

/// Nice value of the threads that compact: beside threads of the usual priority they get a tenth of
/// a processor each, and all that the others leave. The lowest, 19, leaves compaction so far behind
/// on busy processors that commits wait for it.
const COMPACTION_NICE: i32 = 10;
/// Name of these threads: RocksDB's `ThreadPoolImpl::Impl::StartBGThreads` gives it to those of its
/// pool of low priority before the opening of a database ends.
const COMPACTION_THREAD: &str = "rocksdb:low";
/// The threads of this process.
const THREADS: &str = "/proc/self/task";

/// Lowers the priority of all threads of this process that compact: a commit would otherwise share
/// the processors with them half and half while history is merged. RocksDB itself can lower it to
/// 19 only. Where the system refuses, the threads keep theirs.
pub(crate) fn lower_compaction_threads() {
    let Ok(threads) = fs::read_dir(THREADS) else { return };
    for thread in threads.flatten() {
        // A thread that ended meanwhile needs no priority.
        let _ = lower(&thread.path());
    }
}

fn lower(thread: &Path) -> io::Result<()> {
    let is_compaction =
        fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim_end() == COMPACTION_THREAD);
    let number = thread.file_name().and_then(|name| name.to_str()?.parse().ok());
    let Some(id) = number.and_then(Pid::from_raw).filter(|_| is_compaction) else { return Ok(()) };
    // A store of a development chain may have lowered it further. On Linux the number of a thread
    // means that thread alone, see getpriority(2).
    match getpriority_process(Some(id))? {
        nice if nice < COMPACTION_NICE => setpriority_process(Some(id), COMPACTION_NICE),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommitmentKind, Fsync, Options, db::Db};

    /// Names and nice values of RocksDB's threads.
    fn threads() -> Vec<(String, i32)> {
        let threads = fs::read_dir(THREADS).unwrap().flatten();
        threads
            .filter_map(|thread| {
                let name = fs::read_to_string(thread.path().join("comm")).ok()?;
                let id = Pid::from_raw(thread.file_name().to_str()?.parse().ok()?);
                Some((name.trim_end().to_owned(), getpriority_process(id).ok()?))
            })
            .filter(|(name, _)| name.starts_with("rocksdb:"))
            .collect()
    }

    #[test]
    fn compaction_leaves_the_processors_to_commits() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(dir.path(), dir.path(), CommitmentKind::None, Fsync::None);
        let _db = Db::open(&dir.path().join("db"), &options).unwrap();
        let threads = threads();
        let nice =
            |name| threads.iter().filter(|(of, _)| of == name).map(|(_, nice)| *nice).collect::<Vec<_>>();
        let compaction = nice(COMPACTION_THREAD);
        assert!(!compaction.is_empty(), "{threads:?}");
        // Another test of this process may have opened a store without fsync, which lowers more.
        assert!(compaction.iter().all(|nice| *nice >= COMPACTION_NICE), "{threads:?}");
        let (flush, own) = (nice("rocksdb:high"), getpriority_process(None).unwrap());
        assert!(!flush.is_empty() && flush.iter().all(|nice| *nice == own), "{threads:?}");
    }
}

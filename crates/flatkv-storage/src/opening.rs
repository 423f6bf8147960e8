//! How many threads RocksDB has to open the files of a database.

use hearth_disk::Disk;
use std::path::Path;

/// Table files for which there is one more thread. RocksDB starts the threads again for each
/// family, also where there is no file: 15 threads for each of nine families take longer to start
/// than a small database takes to be opened.
const FILES_PER_THREAD: usize = 32;
/// Most such threads: what RocksDB has by default.
const OPENING_THREADS_MAX: usize = 16;

/// Threads that open the table files of a database: few where there are few files, or none yet. A
/// folder that cannot be listed counts as one without files: RocksDB reports why as it opens it.
pub(crate) fn opening_threads(disk: &dyn Disk, path: &Path) -> i32 {
    let files = disk.list(path).unwrap_or_default();
    let is_table = |name: &Path| name.extension().is_some_and(|end| end == "sst");
    let tables = files.iter().filter(|file| is_table(Path::new(&file.name))).count();
    (tables / FILES_PER_THREAD + 1).min(OPENING_THREADS_MAX) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_disk::RealDisk;

    #[test]
    fn each_32_table_files_have_a_thread_and_16_are_the_most() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(opening_threads(&RealDisk, &dir.path().join("missing")), 1);
        std::fs::write(dir.path().join("MANIFEST-000001"), "").unwrap();
        let mut made = 0;
        for (files, threads) in [(0, 1), (31, 1), (32, 2), (63, 2), (64, 3), (479, 15), (480, 16), (600, 16)]
        {
            for number in made..files {
                std::fs::write(dir.path().join(format!("{number:06}.sst")), "").unwrap();
            }
            made = files;
            assert_eq!(opening_threads(&RealDisk, dir.path()), threads, "{files} files");
        }
    }
}

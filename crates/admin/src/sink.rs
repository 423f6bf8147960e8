//! The output of an export: a file that is complete or absent, in gzip if its name ends in `.gz`;
//! standard output; an existing device or pipe.

use flate2::{Compression, write::GzEncoder};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The name that stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// Buffer of the file, in bytes.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Time between two tries to write to a standard output that takes nothing at the moment.
const RETRY_EVERY: Duration = Duration::from_millis(1);

/// Whether an export of this name is compressed, as `geth export` does it.
pub(crate) fn is_gzip(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Writes a file. A regular file is written under a temporary name and renamed at the end, so that
/// a failure leaves no partial file; standard output and other kinds of files are written directly.
pub(crate) fn write<T, E: From<io::Error>>(
    file: &Path,
    cancel: &AtomicBool,
    work: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    if file == Path::new(STANDARD_OUTPUT) {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        return fill(RetryingWriter { out, cancel }, false, work);
    }
    if std::fs::metadata(file).is_ok_and(|of| !of.is_file()) {
        return fill(File::options().write(true).open(file)?, is_gzip(file), work);
    }
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    let partial = PathBuf::from(name);
    let written = File::create(&partial).map_err(E::from).and_then(|out| {
        let done = fill(&out, is_gzip(file), work)?;
        // The new name must not outlive a crash that the bytes do not.
        out.sync_all()?;
        std::fs::rename(&partial, file)?;
        Ok(done)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn fill<T, E: From<io::Error>>(
    out: impl Write,
    gzip: bool,
    work: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let done = if gzip {
        let mut packed = GzEncoder::new(&mut out, Compression::default());
        let done = work(&mut packed)?;
        packed.finish()?;
        done
    } else {
        work(&mut out)?
    };
    out.flush()?;
    Ok(done)
}

/// An output that may refuse to block, because Node.js sets a pipe so: writes are repeated until
/// the work is cancelled.
struct RetryingWriter<'a> {
    out: File,
    cancel: &'a AtomicBool,
}

impl Write for RetryingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.out.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.cancel.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                    std::thread::sleep(RETRY_EVERY);
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::MultiGzDecoder;
    use std::io::Read;

    fn write_to(file: &Path, bytes: &'static [u8]) -> io::Result<()> {
        write(file, &AtomicBool::new(false), |out| out.write_all(bytes))
    }

    #[test]
    fn a_name_that_ends_in_gz_is_compressed() {
        let dir = tempfile::tempdir().unwrap();
        let (plain, packed) = (dir.path().join("a.rlp"), dir.path().join("a.rlp.gz"));
        write_to(&plain, b"blocks").unwrap();
        write_to(&packed, b"blocks").unwrap();
        assert_eq!(std::fs::read(&plain).unwrap(), b"blocks");
        let mut text = Vec::new();
        MultiGzDecoder::new(File::open(&packed).unwrap()).read_to_end(&mut text).unwrap();
        assert_eq!(text, b"blocks");
    }

    #[test]
    fn work_that_fails_leaves_the_file_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.rlp");
        std::fs::write(&file, b"before").unwrap();
        let failed = write(&file, &AtomicBool::new(false), |out| {
            out.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(std::fs::read(&file).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_device_is_written_and_stays_a_device() {
        write_to(Path::new("/dev/null"), b"blocks").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
        assert!(!Path::new(&format!("/dev/null.partial-{}", std::process::id())).exists());
    }
}

//! Finding the blocks in a file, without decoding them.

use crate::ChainError;
use alloy_rlp::Header as RlpHeader;
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Longest block in RLP that is read, in bytes.
pub const MAX_BLOCK_BYTES: usize = 64 << 20;
/// Size of the read buffer, in bytes.
const FILE_BUFFER_BYTES: usize = 1 << 20;
/// Longest RLP header: a byte and a length of eight.
const MAX_RLP_HEADER: usize = 9;

/// A block's bytes and where they were.
#[derive(Debug)]
pub(super) struct RawBlock {
    pub bytes: Vec<u8>,
    pub file: Arc<Path>,
    /// Number of the block in its file, from 0.
    pub index: u64,
    /// Offset in the decompressed file, in bytes.
    pub offset: u64,
    /// Bytes read so far of all files, as they lie on disk.
    pub bytes_done: u64,
}

/// The blocks of a row of files.
pub(super) struct Reader {
    files: std::vec::IntoIter<PathBuf>,
    open: Option<Open>,
    /// Bytes of the files that are done.
    done: u64,
}

struct Open {
    path: Arc<Path>,
    input: Box<dyn Read>,
    read: Rc<Cell<u64>>,
    index: u64,
    offset: u64,
}

impl Reader {
    pub fn new(files: Vec<PathBuf>) -> Self {
        Self { files: files.into_iter(), open: None, done: 0 }
    }

    /// The next block; `None` behind the last file.
    pub fn next_block(&mut self) -> Result<Option<RawBlock>, ChainError> {
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => match self.files.next() {
                    Some(path) => self.open.insert(Open::new(&path)?),
                    None => return Ok(None),
                },
            };
            if let Some(mut block) = open.next_block()? {
                block.bytes_done += self.done;
                return Ok(Some(block));
            }
            self.done += open.read.get();
            self.open = None;
        }
    }
}

impl Open {
    fn new(path: &Path) -> Result<Self, ChainError> {
        let file = open(path).map_err(ChainError::io(path))?;
        let read = Rc::new(Cell::new(0));
        let counted = Counted { file, read: read.clone() };
        let mut buffered = BufReader::with_capacity(FILE_BUFFER_BYTES, counted);
        let gzip = std::io::BufRead::fill_buf(&mut buffered)
            .map_err(ChainError::io(path))?
            .starts_with(&[0x1f, 0x8b]);
        let input: Box<dyn Read> =
            if gzip { Box::new(BufReader::new(MultiGzDecoder::new(buffered))) } else { Box::new(buffered) };
        Ok(Self { path: path.into(), input, read, index: 0, offset: 0 })
    }

    fn bad(&self, field: &str, why: String) -> ChainError {
        let (file, index, offset) = (self.path.to_path_buf(), self.index, self.offset);
        ChainError::BadBlockFile { file, index, offset, field: field.to_owned(), why }
    }

    fn next_block(&mut self) -> Result<Option<RawBlock>, ChainError> {
        let mut bytes = vec![0; 1];
        if self.fill(&mut bytes, 0)? == 0 {
            return Ok(None);
        }
        // A list of more than 55 bytes has its length in the bytes that follow; a block always is
        // one.
        let Some(len_bytes) = bytes[0].checked_sub(0xf7).filter(|n| *n > 0) else {
            return Err(self.bad("block", format!("byte {:#04x} does not begin a block", bytes[0])));
        };
        let head = 1 + usize::from(len_bytes);
        debug_assert!(head <= MAX_RLP_HEADER);
        bytes.resize(head, 0);
        self.whole(&mut bytes, 1)?;
        let len = bytes[1..].iter().fold(0u64, |len, byte| len << 8 | u64::from(*byte));
        if len > MAX_BLOCK_BYTES as u64 {
            return Err(
                self.bad("block", format!("length {len} exceeds the limit of {MAX_BLOCK_BYTES} bytes"))
            );
        }
        bytes.resize(head + len as usize, 0);
        self.whole(&mut bytes, head)?;
        // Leading zeros and lengths below 56 are not canonical.
        RlpHeader::decode(&mut &bytes[..]).map_err(|error| self.bad("block", error.to_string()))?;
        let block = RawBlock {
            file: self.path.clone(),
            index: self.index,
            offset: self.offset,
            bytes_done: self.read.get(),
            bytes,
        };
        self.index += 1;
        self.offset += block.bytes.len() as u64;
        Ok(Some(block))
    }

    /// Fills a buffer from a place on; the error says that the file is cut short.
    fn whole(&mut self, bytes: &mut [u8], from: usize) -> Result<(), ChainError> {
        let have = self.fill(bytes, from)?;
        match from + have == bytes.len() {
            true => Ok(()),
            false => {
                let why =
                    format!("the file ends {} bytes into it, it has {} at least", from + have, bytes.len());
                Err(self.bad("block", why))
            }
        }
    }

    /// Fills a buffer from a place on as far as the file reaches; how many bytes were read.
    fn fill(&mut self, bytes: &mut [u8], from: usize) -> Result<usize, ChainError> {
        let mut at = from;
        while at < bytes.len() {
            match self.input.read(&mut bytes[at..]) {
                Ok(0) => break,
                Ok(n) => at += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::UnexpectedEof
                            | std::io::ErrorKind::InvalidData
                            | std::io::ErrorKind::InvalidInput
                    ) =>
                {
                    return Err(self.bad("block", format!("gzip: {error}")));
                }
                Err(error) => return Err(ChainError::io(&self.path)(error)),
            }
        }
        Ok(at - from)
    }
}

/// The name that stands for standard input among block files.
const STANDARD_INPUT: &str = "-";

/// Time between two attempts to read a standard input that is empty at the moment and does not
/// block.
const RETRY_EVERY: Duration = Duration::from_millis(5);

/// Whether a block file is standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

fn open(path: &Path) -> std::io::Result<File> {
    if is_standard_input(path) {
        return Ok(File::from(std::io::stdin().as_fd().try_clone_to_owned()?));
    }
    File::open(path)
}

/// A reader that counts the bytes read from a file.
struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(RETRY_EVERY)
                }
                read => break read?,
            }
        };
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

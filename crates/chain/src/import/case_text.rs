//! The text of a recorded case in a file, plain or gzipped.

use flate2::read::MultiGzDecoder;
use hearth_evm::MAX_CASE_BYTES;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

/// First bytes of a gzip member (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes that are inflated at a time while the length of a text is counted.
const COUNT_BYTES: usize = 64 << 10;

/// The text of a file, inflated if it is gzipped, of at most [`MAX_CASE_BYTES`].
///
/// A gzipped file is inflated twice, the first time only to count: a file that inflates to more
/// than the limit is refused before anything of it is kept, and the buffer of the text has its
/// final size from the beginning.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::InvalidData`] for a text that is too long or not UTF-8.
pub fn case_text(path: &Path) -> io::Result<String> {
    text_of(path, MAX_CASE_BYTES)
}

fn text_of(path: &Path, limit: u64) -> io::Result<String> {
    let mut file = BufReader::new(File::open(path)?);
    let length = match file.fill_buf()?.starts_with(&GZIP_MAGIC) {
        true => inflated_length(MultiGzDecoder::new(&mut file), limit)?,
        false => file.get_ref().metadata()?.len(),
    };
    if length > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("longer than {limit} bytes")));
    }
    file.rewind()?;
    let zipped = file.fill_buf()?.starts_with(&GZIP_MAGIC);
    let mut reader: Box<dyn Read> = if zipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut text = String::new();
    text.try_reserve_exact(length as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
    reader.by_ref().take(length).read_to_string(&mut text)?;
    if text.len() as u64 != length || reader.read(&mut [0])? != 0 {
        return Err(io::Error::other("changed while it was read"));
    }
    Ok(text)
}

/// How many bytes a reader gives, counted up to one more than the limit.
fn inflated_length(reader: impl Read, limit: u64) -> io::Result<u64> {
    let mut reader = reader.take(limit + 1);
    let (mut buffer, mut length) = (vec![0; COUNT_BYTES], 0);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(read) => length += read as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    const LIMIT: u64 = 1000;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("case");
        std::fs::write(&path, bytes).unwrap();
        text_of(&path, LIMIT)
    }

    #[test]
    fn texts_up_to_the_limit_are_read_plain_and_gzipped() {
        for length in [0, 1, 999, 1000] {
            let text = "x".repeat(length);
            assert_eq!(read(text.as_bytes()).unwrap(), text);
            assert_eq!(read(&gzip(text.as_bytes())).unwrap(), text);
        }
        // Members one after the other are one text.
        let members = [gzip(b"one, "), gzip(b"two")].concat();
        assert_eq!(read(&members).unwrap(), "one, two");
    }

    #[test]
    fn longer_texts_and_what_is_no_text_are_refused() {
        let long = "x".repeat(1001);
        for bytes in [long.clone().into_bytes(), gzip(long.as_bytes()), gzip(&vec![b'x'; 1 << 20])] {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert_eq!(error.to_string(), "longer than 1000 bytes");
        }
        assert_eq!(read(&gzip(&[0xff, 0xfe])).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let cut = &gzip(b"a text that is cut")[..20];
        assert_eq!(read(cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

//! Messages on a stream: the length as an unsigned varint, then the message (CometBFT,
//! internal/protoio).

use prost::Message;
use std::io::{self, Read, Write};

/// Longest message that is read, in bytes: a block of 100 MiB, CometBFT's largest, and what
/// surrounds it.
pub const FRAME_BYTES_MAX: usize = 110 << 20;

/// Memory that is taken before bytes arrive, in bytes: a length alone takes none.
const FIRST_BYTES: usize = 64 << 10;

/// A message that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream fails, or ends within a message.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A length that no message has.
    #[error("a message of {length} bytes, at most {FRAME_BYTES_MAX}")]
    TooLong {
        /// Its length in bytes.
        length: u64,
    },
    /// A length of more bytes than a 64-bit number has.
    #[error("the length of a message is no varint")]
    BadLength,
    /// Bytes that are no message.
    #[error("a message cannot be decoded: {0}")]
    Decode(#[from] prost::DecodeError),
}

/// Reads the next message; `None` where the stream ends before it begins.
///
/// # Errors
/// [`FrameError`]; nothing can be read from the stream after it.
pub fn read_frame<M: Message + Default>(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
) -> Result<Option<M>, FrameError> {
    let Some(length) = read_length(stream)? else { return Ok(None) };
    let fits = usize::try_from(length).ok().filter(|length| *length <= FRAME_BYTES_MAX);
    let wanted = fits.ok_or(FrameError::TooLong { length })?;
    buffer.clear();
    buffer.shrink_to(FIRST_BYTES);
    let read = stream.by_ref().take(length).read_to_end(buffer)?;
    if read != wanted {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(M::decode(buffer.as_slice())?))
}

/// The length of the next message; `None` where the stream ends before it.
fn read_length(stream: &mut impl Read) -> Result<Option<u64>, FrameError> {
    let mut length = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let mut byte = [0];
        match stream.read_exact(&mut byte) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && shift == 0 => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let part = u64::from(byte[0] & 0x7f);
        if part << shift >> shift != part {
            return Err(FrameError::BadLength);
        }
        length |= part << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(Some(length));
        }
    }
    Err(FrameError::BadLength)
}

/// Writes a message.
///
/// # Errors
/// The stream's.
pub fn write_frame<M: Message>(stream: &mut impl Write, message: &M) -> io::Result<()> {
    stream.write_all(&message.encode_length_delimited_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, RequestInsertTx, request};
    use bytes::Bytes;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<Option<Request>, FrameError> {
        read_frame(&mut &*bytes, &mut Vec::new())
    }

    #[test]
    fn messages_are_read_one_after_the_other_until_the_stream_ends() {
        let one = |bytes: &'static [u8]| Request {
            value: Some(request::Value::InsertTx(RequestInsertTx { tx: Bytes::from_static(bytes) })),
        };
        let mut stream = Vec::new();
        write_frame(&mut stream, &one(b"first")).unwrap();
        write_frame(&mut stream, &one(&[7; 300])).unwrap();
        let (mut rest, mut buffer) = (stream.as_slice(), Vec::new());
        assert_eq!(read_frame(&mut rest, &mut buffer).unwrap(), Some(one(b"first")));
        assert_eq!(read_frame(&mut rest, &mut buffer).unwrap(), Some(one(&[7; 300])));
        assert_eq!(read_frame::<Request>(&mut rest, &mut buffer).unwrap(), None);
    }

    #[test]
    fn a_length_alone_takes_no_memory() {
        // 110 MiB are announced and five bytes come.
        let mut bytes = vec![0x80, 0x80, 0x80, 0x37];
        bytes.extend([1; 5]);
        let mut buffer = Vec::new();
        let error = read_frame::<Request>(&mut bytes.as_slice(), &mut buffer).unwrap_err();
        assert!(matches!(error, FrameError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof));
        assert!(buffer.capacity() <= FIRST_BYTES, "{}", buffer.capacity());
    }

    #[test]
    fn lengths_that_no_message_has_are_refused() {
        assert!(matches!(read(&[0x81, 0x80, 0x80, 0x37]), Err(FrameError::TooLong { length: 115_343_361 })));
        assert!(matches!(read(&[0xff; 9]), Err(FrameError::Io(_))));
        assert!(matches!(read(&[0xff; 10]), Err(FrameError::BadLength)));
        let mut longer = [0x80; 11];
        longer[10] = 1;
        assert!(matches!(read(&longer), Err(FrameError::BadLength)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn a_message_with_changed_bytes_is_read_or_refused(
            tx in proptest::collection::vec(any::<u8>(), 0..60),
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let value = request::Value::InsertTx(RequestInsertTx { tx: tx.into() });
            let mut bytes = Request { value: Some(value) }.encode_length_delimited_to_vec();
            for (at, flip) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
            }
            let _ = read(&bytes);
        }
    }
}

//! The channel to a child: framed messages over a stream socket, never blocking.
//!
//! A message is a header of [`HEADER_BYTES`] (u32 length of the payload, u8 kind, three zeros;
//! little endian) and the payload.

use crate::Ended;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Kind of the first message of a child that confines itself: a number of 32 bits, little-endian,
/// the bits of the [`Layers`](crate::Layers) that it finds on itself. The pool takes it; no lease
/// sees it.
pub const CONFINED: u8 = 9;

/// Bytes before the payload of a message.
pub const HEADER_BYTES: usize = 8;

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 * 1024;

/// Bytes that the socket should hold on its way to the child: about one chunk of recorded steps.
const SEND_BUFFER_BYTES: libc::c_int = 512 * 1024;

/// Longest message besides a result, in bytes.
const SMALL_MESSAGE_BYTES: u64 = 64 * 1024;

/// A whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub kind: u8,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// The parent's end of the channel.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: UnixStream,
    inbox: Vec<u8>,
    /// Start of what was not taken out yet.
    taken: usize,
    limit_bytes: u64,
}

impl Channel {
    /// Takes over a socket.
    pub fn new(socket: UnixStream, limit_bytes: u64) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        let bytes = SEND_BUFFER_BYTES;
        // SAFETY: the descriptor is open, and the option's value is an int that lives through the
        // call.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_SNDBUF,
                (&raw const bytes).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            );
        }
        Ok(Self { socket, inbox: Vec::new(), taken: 0, limit_bytes: limit_bytes.max(SMALL_MESSAGE_BYTES) })
    }

    /// Writes as much as the socket takes at once; the number of bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Ended> {
        loop {
            match self.socket.write(bytes) {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Ended::Exited),
            }
        }
    }

    /// Returns the next message, if it has arrived completely.
    pub fn read(&mut self) -> Result<Option<Message>, Ended> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            // What is left is less than a message: a stream in which messages never end together
            // with a read must not grow the inbox.
            self.inbox.drain(..self.taken);
            self.taken = 0;
            let end = self.inbox.len();
            self.inbox.resize(end + READ_BYTES, 0);
            let read = self.socket.read(&mut self.inbox[end..]);
            self.inbox.truncate(end + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err(Ended::Exited),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Ended::Exited),
            }
        }
    }

    fn take(&mut self) -> Result<Option<Message>, Ended> {
        let rest = &self.inbox[self.taken..];
        let Some((header, body)) = rest.split_at_checked(HEADER_BYTES) else { return Ok(None) };
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        if header[5..] != [0; 3] {
            return Err(Ended::Protocol);
        }
        if u64::from(length) > self.limit_bytes {
            return Err(Ended::Output { limit_bytes: self.limit_bytes });
        }
        let length = length as usize;
        let Some(payload) = body.get(..length) else { return Ok(None) };
        let message = Message { kind: header[4], payload: payload.to_vec() };
        self.taken += HEADER_BYTES + length;
        if self.taken == self.inbox.len() {
            self.inbox.clear();
            self.inbox.shrink_to(READ_BYTES);
            self.taken = 0;
        }
        Ok(Some(message))
    }

    /// Waits until the channel is readable (with `to_write`: writable), or until the timeout.
    pub fn wait(&self, to_write: bool, at_most: Duration) {
        let events = if to_write { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events, revents: 0 };
        let milliseconds = libc::c_int::try_from(at_most.as_millis()).unwrap_or(libc::c_int::MAX).max(1);
        // SAFETY: one descriptor that is open, in a structure that lives through the call.
        unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
    }

    /// Whether nothing of a message waits to be taken out.
    pub fn is_quiet(&mut self) -> bool {
        matches!(self.read(), Ok(None)) && self.inbox.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
        bytes.extend([kind, 0, 0, 0]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn messages_come_whole_however_they_were_cut() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(near, 1 << 20).unwrap();
        assert_eq!(channel.read(), Ok(None));
        let long = vec![7; 100_000];
        let bytes = [message(10, b""), message(13, &long), message(11, b"abc")].concat();
        let writer = std::thread::spawn(move || {
            for piece in bytes.chunks(1000) {
                far.write_all(piece).unwrap();
            }
            far
        });
        let mut got = Vec::new();
        while got.len() < 3 {
            channel.wait(false, Duration::from_secs(5));
            while let Some(message) = channel.read().unwrap() {
                got.push(message);
            }
        }
        assert_eq!(got[0], Message { kind: 10, payload: vec![] });
        assert_eq!(got[1], Message { kind: 13, payload: long });
        assert_eq!(got[2], Message { kind: 11, payload: b"abc".to_vec() });
        assert!(channel.is_quiet());
        drop(writer.join().unwrap());
        assert_eq!(channel.read(), Err(Ended::Exited));
    }

    #[test]
    fn the_inbox_drops_messages_that_end_within_a_read() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(near, 1 << 20).unwrap();
        let bytes = message(11, &[7; 1000]);
        far.write_all(&bytes[..3]).unwrap();
        assert_eq!(channel.read(), Ok(None));
        let piece = [&bytes[3..], &bytes[..3]].concat();
        for _ in 0..200 {
            far.write_all(&piece).unwrap();
            assert_eq!(channel.read(), Ok(Some(Message { kind: 11, payload: vec![7; 1000] })));
            assert_eq!(channel.inbox.len(), bytes.len() + 3);
        }
    }

    #[test]
    fn a_message_over_the_limit_is_refused_by_its_header() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(near, 100_000).unwrap();
        far.write_all(&message(13, &vec![0; 100_001])[..HEADER_BYTES]).unwrap();
        assert_eq!(channel.read(), Err(Ended::Output { limit_bytes: 100_000 }));
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(near, 100_000).unwrap();
        far.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        assert_eq!(channel.read(), Err(Ended::Protocol));
    }
}

//! What Node.js cannot do with its sockets.

use std::io;
use std::os::fd::RawFd;

/// Most pieces of one call: `IOV_MAX` of Linux is 1,024.
const SLICES_MAX: usize = 1024;

/// Lets a TCP socket take at most about so many bytes that the other end has no room for
/// (`TCP_NOTSENT_LOWAT`, tcp(7)). What is under way on the network is not counted, so that no link
/// gets slower. Without it Linux takes some four mebibytes for a client that reads nothing.
pub fn limit_unsent(socket: RawFd, bytes: u32) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the option is an integer of this length, which lives during the call. A number that
    // is no socket is an error.
    let failed = unsafe {
        libc::setsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            std::ptr::from_ref(&bytes).cast(),
            length,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends as much of these bytes as the system takes at once (`sendmsg`, send(2)), without a copy in
/// this process; how many bytes it took. Only for a socket that nothing else writes to meanwhile.
///
/// # Errors
/// Those of the system, but for `EAGAIN`, which is 0 bytes.
pub fn send_now<'a>(socket: RawFd, slices: impl IntoIterator<Item = &'a [u8]>) -> io::Result<usize> {
    let slices = slices.into_iter().filter(|slice| !slice.is_empty()).take(SLICES_MAX);
    let mut slices: Vec<_> = slices.map(io::IoSlice::new).collect();
    // SAFETY: all fields of this struct may be zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // `IoSlice` has the layout of `iovec`.
    message.msg_iov = slices.as_mut_ptr().cast();
    message.msg_iovlen = slices.len() as _;
    loop {
        // SAFETY: the message names slices that live during the call. A number that is no socket is
        // an error.
        let sent = unsafe { libc::sendmsg(socket, &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
        if let Ok(sent) = usize::try_from(sent) {
            return Ok(sent);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(0),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    use super::*;

    /// Bytes that the system takes for a client that reads nothing.
    fn taken(limit: Option<u32>) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        if let Some(bytes) = limit {
            limit_unsent(stream.as_raw_fd(), bytes).unwrap();
        }
        let chunk = [0; 16 * 1024];
        let mut all = 0;
        // What is on its way to the other end makes room for a while.
        for _ in 0..20 {
            while let Ok(bytes) = stream.write(&chunk) {
                all += bytes;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        all
    }

    #[test]
    fn a_socket_takes_little_that_nobody_reads() {
        let [limited, free] = [taken(Some(128 * 1024)), taken(None)];
        assert!(limited + 512 * 1024 < free, "{limited} of {free}");
    }

    #[test]
    fn a_file_has_no_such_limit() {
        let file = tempfile::tempfile().unwrap();
        let error = limit_unsent(file.as_raw_fd(), 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
    }

    #[test]
    fn a_socket_takes_what_it_has_room_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let fd = stream.as_raw_fd();
        assert_eq!(send_now(fd, [&b"ab"[..], b"", b"c"]).unwrap(), 3);
        let mut three = [0; 3];
        client.read_exact(&mut three).unwrap();
        assert_eq!(&three, b"abc");
        let large = vec![7; 64 << 20];
        let mut sent = 0;
        let all = loop {
            match send_now(fd, [&large[..]]).unwrap() {
                0 => break sent,
                now => sent += now,
            }
        };
        assert!((1..large.len()).contains(&all), "{all}");
        let mut back = vec![0; all];
        client.read_exact(&mut back).unwrap();
        assert!(back.iter().all(|byte| *byte == 7));
        drop(client);
        // The first bytes after the other end's goodbye are taken, and answered with a reset.
        let _ = send_now(fd, [&b"x"[..]]);
        let gone = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            send_now(fd, [&b"x"[..]]).err()
        });
        let kind = gone.expect("the other end is gone").kind();
        assert!(matches!(kind, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{kind}");
        let file = tempfile::tempfile().unwrap();
        let error = send_now(file.as_raw_fd(), [&b"x"[..]]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
    }
}

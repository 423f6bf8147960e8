//! Options of sockets that Node.js has no name for.

use std::io;
use std::os::fd::RawFd;

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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
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
}

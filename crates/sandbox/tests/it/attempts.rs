//! What a child tries whose V8 is broken: system calls as they are, past everything that JavaScript
//! may do.

use std::ffi::c_void;
use std::fs::File;
use std::io::{Error, Result};
use std::net::TcpStream;
use std::ptr;

/// Threads that are tried for: more than a child may have.
pub const MANY_THREADS: usize = 100;

/// Makes an attempt; how it ended: "done" with what came of it, or the name of the error.
pub fn attempt(what: &str) -> String {
    let (name, argument) = what.split_once(' ').unwrap_or((what, ""));
    let number = || argument.parse::<i64>().unwrap();
    match outcome(name, argument, number) {
        Ok(done) => format!("done {done}"),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOSYS) => "ENOSYS".to_owned(),
            Some(libc::EACCES) => "EACCES".to_owned(),
            Some(libc::EPERM) => "EPERM".to_owned(),
            Some(libc::ESRCH) => "ESRCH".to_owned(),
            Some(libc::ENOMEM) => "ENOMEM".to_owned(),
            Some(libc::EAGAIN) => "EAGAIN".to_owned(),
            Some(libc::ENETUNREACH) => "ENETUNREACH".to_owned(),
            Some(libc::EFBIG) => "EFBIG".to_owned(),
            _ => format!("{error}"),
        },
    }
}

fn outcome(name: &str, argument: &str, number: impl Fn() -> i64) -> Result<i64> {
    match name {
        "open" => File::open(argument).map(|_| 0),
        "open-in-a-thread" => {
            let path = argument.to_owned();
            std::thread::spawn(move || File::open(path).map(|_| 0)).join().unwrap()
        }
        "write-in-a-thread" => {
            let path = argument.to_owned();
            std::thread::spawn(move || File::create(path).map(|_| 0)).join().unwrap()
        }
        "unlink" => std::fs::remove_file(argument).map(|()| 0),
        "connect" => TcpStream::connect(("127.0.0.1", u16::try_from(number()).unwrap())).map(|_| 0),
        "thread" => Ok(std::thread::spawn(|| 7).join().unwrap()),
        "threads" => threads(),
        "map" => map(usize::try_from(number()).unwrap(), libc::PROT_NONE),
        "map-writable" => map(usize::try_from(number()).unwrap(), libc::PROT_READ | libc::PROT_WRITE),
        other => raw(other, number),
    }
}

/// Calls whose arguments are numbers, or point at this process.
fn raw(name: &str, number: impl Fn() -> i64) -> Result<i64> {
    let program = c"/bin/true".as_ptr();
    let none: [*const libc::c_char; 1] = [ptr::null()];
    let word = [0_u8; 8];
    let vector = libc::iovec { iov_base: word.as_ptr() as *mut c_void, iov_len: word.len() };
    // SAFETY: what is pointed to lives through the calls; a child process that comes into being
    // ends at once, and a program that begins takes the place of this one.
    let result = unsafe {
        match name {
            "exec" => libc::execve(program, none.as_ptr(), none.as_ptr()).into(),
            #[cfg(target_arch = "x86_64")]
            "raw-fork" => match libc::syscall(libc::SYS_fork) {
                0 => libc::_exit(0),
                made => made,
            },
            "clone-of-a-process" => match libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
                0 => libc::_exit(0),
                made => made,
            },
            "ptrace" => libc::ptrace(libc::PTRACE_ATTACH, number() as libc::pid_t, 0, 0),
            "process_vm_readv" => {
                let id = number() as libc::pid_t;
                libc::process_vm_readv(id, &raw const vector, 1, &raw const vector, 1, 0) as i64
            }
            "kill" => libc::kill(number() as libc::pid_t, 0).into(),
            "tgkill" => libc::syscall(libc::SYS_tgkill, number(), number(), 0),
            "socket" => libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0).into(),
            "io_uring" => libc::syscall(libc::SYS_io_uring_setup, 1, word.as_ptr()),
            "unshare" => libc::unshare(libc::CLONE_NEWUSER).into(),
            "capability" => libc::setgroups(0, ptr::null()).into(),
            other => panic!("no attempt is named {other}"),
        }
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

fn map(bytes: usize, protection: libc::c_int) -> Result<i64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory that is not used yet.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(0) }
}

/// Starts threads that stay; how many there were before the system refused one.
fn threads() -> Result<i64> {
    for made in 0..MANY_THREADS {
        let wait = || std::thread::sleep(std::time::Duration::from_secs(60));
        if std::thread::Builder::new().stack_size(64 << 10).spawn(wait).is_err() {
            return Ok(made as i64);
        }
    }
    Err(Error::from_raw_os_error(libc::EFBIG))
}

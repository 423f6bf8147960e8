//! Faults under a whole process, RocksDB's C++ included: a library for `LD_PRELOAD` on Linux,
//! compiled by the fault suite with plain `rustc`. It stands between the process and libc's file
//! calls and minds only what lies below one folder.
//!
//! The environment says what it does:
//! - `HEARTH_FAULT_ROOT`: the folder; without it the library does nothing.
//! - `HEARTH_FAULT_MODE`: `count`, `kill` (SIGKILL), `full` (ENOSPC), `io` (EIO), `short` (half of
//!   a write) or `journal`.
//! - `HEARTH_FAULT_AT`, `HEARTH_FAULT_TIMES`: the first call that is hit, from 1, and how many are;
//!   0 times: all from there.
//! - `HEARTH_FAULT_HOW`: a kill before the call (0), in the middle of what it writes (1), or behind
//!   it (2).
//! - `HEARTH_FAULT_ONLY`: only calls on paths that contain this are hit and counted.
//! - `HEARTH_FAULT_ARMED`: 1 counts from the start, 0 from the first message of the process that
//!   says `begin`.
//! - `HEARTH_FAULT_NOTE`: a file for the number of calls and for what was hit first;
//!   `HEARTH_FAULT_JOURNAL`: the journal.
//!
//! A message is a write to standard output that begins with `~`. The journal has it between the
//! calls, so it says what was acknowledged when. Nothing here allocates, and nothing is locked
//! except while a journal is written.

mod calls;
mod place;

use place::Place;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, AtomicUsize, Ordering::SeqCst};

const AT_FDCWD: c_int = -100;
const O_CREAT: c_int = 0o100;
const O_TRUNC: c_int = 0o1000;
const ENOSPC: c_int = 28;
const EIO: c_int = 5;
const SIGKILL: c_int = 9;
const SEEK_CUR: c_int = 1;
const PR_GET_NAME: c_int = 16;
const NEXT: *mut c_void = -1_isize as *mut c_void;
const FDS: usize = 4096;
const MESSAGE: u8 = b'~';

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
    fn getpid() -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn pause() -> c_int;
    fn _exit(status: c_int) -> !;
    fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64;
    fn readlink(path: *const c_char, out: *mut c_char, len: usize) -> isize;
    fn prctl(option: c_int, ...) -> c_int;
}

/// A piece of a vectored write, as the system has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Piece {
    start: *const u8,
    len: usize,
}

/// The address of libc's function of a name that ends in a zero; looked up once.
fn find(known: &AtomicUsize, name: &str) -> usize {
    let mut at = known.load(SeqCst);
    if at == 0 {
        // SAFETY: the name is a string of C.
        at = unsafe { dlsym(NEXT, name.as_ptr().cast()) } as usize;
        known.store(at, SeqCst);
    }
    at
}

/// The function that this library stands before.
macro_rules! real {
    ($name:ident, fn($($arg:ty),*) -> $out:ty) => {{
        static REAL: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let at = $crate::find(&REAL, concat!(stringify!($name), "\0"));
        unsafe { std::mem::transmute::<usize, extern "C" fn($($arg),*) -> $out>(at) }
    }};
}

pub(crate) use real;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Mode {
    Off,
    Count,
    Kill,
    Full,
    Io,
    Short,
    Journal,
}

/// Kinds of calls, with their numbers in the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Op {
    Open = 1,
    Close,
    Write,
    Resize,
    Sync,
    Rename,
    Unlink,
    Link,
    MakeDir,
    RemoveDir,
    Message,
    Allocate,
    SyncRange,
}

impl Op {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Open => b"open",
            Self::Close => b"close",
            Self::Write => b"write",
            Self::Resize => b"resize",
            Self::Sync => b"sync",
            Self::Rename => b"rename",
            Self::Unlink => b"unlink",
            Self::Link => b"link",
            Self::MakeDir => b"mkdir",
            Self::RemoveDir => b"rmdir",
            Self::Message => b"message",
            Self::Allocate => b"allocate",
            Self::SyncRange => b"syncrange",
        }
    }

    /// Whether it needs room on the disk.
    fn takes_room(self) -> bool {
        matches!(self, Self::Open | Self::Write | Self::Allocate | Self::Link | Self::MakeDir)
    }
}

static MODE: AtomicU8 = AtomicU8::new(u8::MAX);
static ARMED: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static AT: AtomicU64 = AtomicU64::new(u64::MAX);
static TIMES: AtomicU64 = AtomicU64::new(0);
static HOW: AtomicU64 = AtomicU64::new(0);
static NOTE: AtomicI32 = AtomicI32::new(-1);
static JOURNAL: AtomicI32 = AtomicI32::new(-1);
/// Open files: 0 is none of ours, 1 ours, 2 ours and meant by `HEARTH_FAULT_ONLY`.
static OPEN: [AtomicU8; FDS] = [const { AtomicU8::new(0) }; FDS];
/// Held over a call and its record, so that the journal has the order of the calls.
static ORDER: Mutex<()> = Mutex::new(());

fn variable(name: &CStr) -> Option<&'static [u8]> {
    let value = unsafe { getenv(name.as_ptr()) };
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
}

fn number(name: &CStr) -> Option<u64> {
    std::str::from_utf8(variable(name)?).ok()?.parse().ok()
}

fn make(name: &CStr) -> c_int {
    let path = unsafe { getenv(name.as_ptr()) };
    if path.is_null() {
        return -1;
    }
    // Read, write, made, emptied, not for children.
    real!(open64, fn(*const c_char, c_int, c_uint) -> c_int)(path, 0o2 | O_CREAT | O_TRUNC | 0o2000000, 0o644)
}

fn mode() -> Mode {
    const MODES: [Mode; 7] =
        [Mode::Off, Mode::Count, Mode::Kill, Mode::Full, Mode::Io, Mode::Short, Mode::Journal];
    if let Some(mode) = MODES.get(MODE.load(SeqCst) as usize) {
        return *mode;
    }
    let named = match variable(c"HEARTH_FAULT_ROOT").and(variable(c"HEARTH_FAULT_MODE")) {
        Some(b"count") => Mode::Count,
        Some(b"kill") => Mode::Kill,
        Some(b"full") => Mode::Full,
        Some(b"io") => Mode::Io,
        Some(b"short") => Mode::Short,
        Some(b"journal") => Mode::Journal,
        _ => Mode::Off,
    };
    // The loader runs the first call of a process before it has a second thread.
    AT.store(number(c"HEARTH_FAULT_AT").unwrap_or(u64::MAX), SeqCst);
    TIMES.store(number(c"HEARTH_FAULT_TIMES").unwrap_or(1), SeqCst);
    HOW.store(number(c"HEARTH_FAULT_HOW").unwrap_or(0), SeqCst);
    ARMED.store(number(c"HEARTH_FAULT_ARMED") == Some(1), SeqCst);
    MODE.store(named as u8, SeqCst);
    NOTE.store(make(c"HEARTH_FAULT_NOTE"), SeqCst);
    JOURNAL.store(make(c"HEARTH_FAULT_JOURNAL"), SeqCst);
    named
}

fn is_ours(fd: c_int) -> bool {
    usize::try_from(fd).ok().and_then(|fd| OPEN.get(fd)).is_some_and(|open| open.load(SeqCst) > 0)
}

fn is_meant(fd: c_int) -> bool {
    usize::try_from(fd).ok().and_then(|fd| OPEN.get(fd)).is_some_and(|open| open.load(SeqCst) > 1)
}

fn set_open(fd: c_int, what: u8) {
    if let Some(open) = usize::try_from(fd).ok().and_then(|fd| OPEN.get(fd)) {
        open.store(what, SeqCst);
    }
}

fn fails(errno: c_int) -> isize {
    unsafe { *__errno_location() = errno };
    -1
}

/// Keeps the number of calls in the note, and behind it what was hit first.
fn note(hit: Option<(Op, &Place)>) {
    let fd = NOTE.load(SeqCst);
    if fd < 0 {
        return;
    }
    let mut text = Place::empty();
    text.push_number(CALLS.load(SeqCst));
    while text.len < 20 {
        text.push(b" ");
    }
    if let Some((op, place)) = hit {
        let mut thread = [0_u8; 16];
        unsafe { prctl(PR_GET_NAME, thread.as_mut_ptr()) };
        text.push(b"\n");
        text.push(op.name());
        text.push(b"\n");
        text.push(thread.split(|byte| *byte == 0).next().unwrap_or_default());
        text.push(b"\n");
        text.push(place.path());
        text.push(b"\n");
    }
    real!(pwrite64, fn(c_int, *const c_void, usize, i64) -> isize)(
        fd,
        text.bytes.as_ptr().cast(),
        text.len,
        0,
    );
}

fn die() -> ! {
    loop {
        unsafe {
            kill(getpid(), SIGKILL);
            pause();
        }
    }
}

/// One record: kind, descriptor, two numbers, the lengths of two byte strings, these.
fn record(op: Op, fd: c_int, numbers: [i64; 2], parts: [Piece; 2]) {
    let mut head = [0_u8; 32];
    head[..4].copy_from_slice(&(op as u32).to_le_bytes());
    head[4..8].copy_from_slice(&fd.to_le_bytes());
    head[8..16].copy_from_slice(&numbers[0].to_le_bytes());
    head[16..24].copy_from_slice(&numbers[1].to_le_bytes());
    head[24..28].copy_from_slice(&(parts[0].len as u32).to_le_bytes());
    head[28..].copy_from_slice(&(parts[1].len as u32).to_le_bytes());
    let pieces = [Piece { start: head.as_ptr(), len: head.len() }, parts[0], parts[1]];
    let len = pieces.iter().map(|piece| piece.len).sum::<usize>() as isize;
    let journal = JOURNAL.load(SeqCst);
    let wrote = real!(writev, fn(c_int, *const Piece, c_int) -> isize)(journal, pieces.as_ptr(), 3);
    if wrote != len {
        // A journal with a hole would be a wrong witness.
        die();
    }
}

fn piece(bytes: &[u8]) -> Piece {
    Piece { start: bytes.as_ptr(), len: bytes.len() }
}

const NOTHING: Piece = Piece { start: std::ptr::null(), len: 0 };

/// What is done with a call.
enum Fate {
    Goes,
    Fails(c_int),
    /// It is done for one half.
    Half,
    /// As `Half`, and then the process dies.
    DiesInside,
    DiesBehind,
}

fn fate(op: Op, meant: bool, place: impl FnOnce() -> Option<Place>) -> Fate {
    let mode = mode();
    if !meant || !ARMED.load(SeqCst) || matches!(mode, Mode::Off | Mode::Journal) {
        return Fate::Goes;
    }
    let (call, first, times) = (CALLS.fetch_add(1, SeqCst) + 1, AT.load(SeqCst), TIMES.load(SeqCst));
    let hit = call >= first && (times == 0 || call - first < times);
    if !hit || mode == Mode::Count {
        return Fate::Goes;
    }
    let place = place();
    if let (true, Some(place)) = (call == first, &place) {
        note(Some((op, place)));
    }
    match mode {
        Mode::Kill => match HOW.load(SeqCst) {
            1 if op == Op::Write => Fate::DiesInside,
            2 => Fate::DiesBehind,
            _ => die(),
        },
        Mode::Full if op.takes_room() => Fate::Fails(ENOSPC),
        Mode::Io => Fate::Fails(EIO),
        Mode::Short if op == Op::Write => Fate::Half,
        _ => Fate::Goes,
    }
}

/// Carries out a call as its fate says; `keep` writes its record once it succeeded.
fn carry(fate: Fate, call: impl FnOnce(bool) -> isize, keep: impl FnOnce(isize)) -> isize {
    let (half, dies) = match fate {
        Fate::Fails(errno) => return fails(errno),
        Fate::Goes => (false, false),
        Fate::Half => (true, false),
        Fate::DiesInside => (true, true),
        Fate::DiesBehind => (false, true),
    };
    let order = (mode() == Mode::Journal).then(|| ORDER.lock());
    let result = call(half);
    if dies {
        die();
    }
    if order.is_some() && result >= 0 {
        let errno = unsafe { *__errno_location() };
        keep(result);
        unsafe { *__errno_location() = errno };
    }
    result
}

/// A call on paths.
fn on_paths(op: Op, from: Place, to: Option<Place>, call: impl FnOnce() -> c_int) -> c_int {
    let meant = from.is_meant();
    let parts = [piece(from.path()), to.as_ref().map_or(NOTHING, |to| piece(to.path()))];
    let copy = || Some(Place { bytes: from.bytes, len: from.len });
    carry(fate(op, meant, copy), |_| call() as isize, |_| record(op, -1, [0; 2], parts)) as c_int
}

/// A call on an open file that moves no bytes.
fn on_fd(op: Op, fd: c_int, numbers: [i64; 2], call: impl FnOnce() -> c_int) -> c_int {
    let fate = fate(op, is_meant(fd), || Place::of_fd(fd));
    carry(fate, |_| call() as isize, |_| record(op, fd, numbers, [NOTHING; 2])) as c_int
}

fn opened(dir: c_int, path: *const c_char, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some(place) = Place::of(dir, path) else {
        let fd = call();
        set_open(fd, 0);
        return fd;
    };
    let meant = place.is_meant();
    let changes = flags & (O_CREAT | O_TRUNC) != 0;
    let copy = || Some(Place { bytes: place.bytes, len: place.len });
    let fate = fate(Op::Open, meant && changes, copy);
    let open = |_| {
        let fd = call();
        set_open(fd, 1 + u8::from(meant));
        fd as isize
    };
    let parts = [piece(place.path()), NOTHING];
    carry(fate, open, |fd| record(Op::Open, fd as c_int, [flags as i64, 0], parts)) as c_int
}

/// A write of one piece. `offset`: where, or at the file's own position.
fn written(
    fd: c_int,
    bytes: *const c_void,
    len: usize,
    offset: Option<i64>,
    call: impl FnOnce(usize) -> isize,
) -> isize {
    if !is_ours(fd) {
        return call(len);
    }
    let fate = fate(Op::Write, is_meant(fd), || Place::of_fd(fd));
    carry(
        fate,
        |half| call(if half { len.div_ceil(2) } else { len }),
        |wrote| {
            let at = offset.unwrap_or_else(|| unsafe { lseek(fd, 0, SEEK_CUR) } - wrote as i64);
            let parts = [Piece { start: bytes.cast(), len: wrote as usize }, NOTHING];
            record(Op::Write, fd, [at, 0], parts);
        },
    )
}

/// A vectored write: its first piece that is not empty, which is what the system may do as well.
fn written_pieces(
    fd: c_int,
    pieces: *const Piece,
    count: c_int,
    offset: Option<i64>,
    all: impl FnOnce() -> isize,
    one: impl FnOnce(Piece) -> isize,
) -> isize {
    if !is_ours(fd) {
        return all();
    }
    let pieces = unsafe { std::slice::from_raw_parts(pieces, count.max(0) as usize) };
    let Some(first) = pieces.iter().find(|piece| piece.len > 0) else { return all() };
    written(fd, first.start.cast(), first.len, offset, |len| one(Piece { start: first.start, len }))
}

/// Ends the process behind the message that says so, without a thought for threads that still work:
/// as they stand there, the exit of the C library would take things away from under them.
fn end_behind(message: &[u8]) {
    if message.starts_with(b"~end") && mode() != Mode::Off {
        // SAFETY: it takes no memory of ours.
        unsafe { _exit(0) }
    }
}

/// A message of the process: arms the library, and has its place in the journal.
fn message(bytes: &[u8]) {
    match mode() {
        Mode::Off => {}
        Mode::Journal => {
            let _order = ORDER.lock();
            record(Op::Message, 1, [0; 2], [piece(bytes), NOTHING]);
        }
        _ => {
            if bytes[1..].starts_with(b"begin") {
                ARMED.store(true, SeqCst);
            }
            if bytes[1..].starts_with(b"end") {
                note(None);
            }
        }
    }
}

//! The functions of libc that this library stands before.

use crate::MESSAGE;
use crate::place::Place;
use crate::{
    AT_FDCWD, Fate, NOTHING, Op, Piece, carry, end_behind, fails, is_ours, message, on_fd, on_paths, opened,
    real, record, set_open, written, written_pieces,
};
use std::ffi::{c_char, c_int, c_uint, c_void};

const AT_REMOVEDIR: c_int = 0x200;
const ENOSYS: c_int = 38;

/// Stands before functions of libc.
macro_rules! stand_before {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty, |$real:ident| $body:expr;)*) => {$(
        /// # Safety
        /// As the function of libc that has this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $out {
            let $real = real!($name, fn($($type),*) -> $out);
            $body
        }
    )*};
}

stand_before! {
    fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int, |real|
        opened(AT_FDCWD, path, flags, || real(path, flags, mode));
    fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int, |real|
        opened(AT_FDCWD, path, flags, || real(path, flags, mode));
    fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int, |real|
        opened(dir, path, flags, || real(dir, path, flags, mode));
    fn openat64(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int, |real|
        opened(dir, path, flags, || real(dir, path, flags, mode));
    fn close(fd: c_int) -> c_int, |real| {
        if !is_ours(fd) {
            return real(fd);
        }
        // Before the number is free for another thread.
        set_open(fd, 0);
        carry(Fate::Goes, |_| real(fd) as isize, |_| record(Op::Close, fd, [0; 2], [NOTHING; 2])) as c_int
    };
    fn write(fd: c_int, bytes: *const c_void, len: usize) -> isize, |real| {
        let text = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), if fd == 1 { len } else { 0 }) };
        if text.first() == Some(&MESSAGE) {
            message(text);
        }
        let wrote = written(fd, bytes, len, None, |len| real(fd, bytes, len));
        end_behind(text);
        wrote
    };
    fn pwrite(fd: c_int, bytes: *const c_void, len: usize, at: i64) -> isize, |real|
        written(fd, bytes, len, Some(at), |len| real(fd, bytes, len, at));
    fn pwrite64(fd: c_int, bytes: *const c_void, len: usize, at: i64) -> isize, |real|
        written(fd, bytes, len, Some(at), |len| real(fd, bytes, len, at));
    fn writev(fd: c_int, pieces: *const Piece, count: c_int) -> isize, |real|
        written_pieces(fd, pieces, count, None, || real(fd, pieces, count), |one| real(fd, &one, 1));
    fn pwritev(fd: c_int, pieces: *const Piece, count: c_int, at: i64) -> isize, |real|
        written_pieces(fd, pieces, count, Some(at), || real(fd, pieces, count, at), |one| real(fd, &one, 1, at));
    fn pwritev64(fd: c_int, pieces: *const Piece, count: c_int, at: i64) -> isize, |real|
        written_pieces(fd, pieces, count, Some(at), || real(fd, pieces, count, at), |one| real(fd, &one, 1, at));
    fn fallocate(fd: c_int, how: c_int, at: i64, len: i64) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::Allocate, fd, [at, len], || real(fd, how, at, len)) } else { real(fd, how, at, len) };
    fn fallocate64(fd: c_int, how: c_int, at: i64, len: i64) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::Allocate, fd, [at, len], || real(fd, how, at, len)) } else { real(fd, how, at, len) };
    fn ftruncate(fd: c_int, len: i64) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::Resize, fd, [len, 0], || real(fd, len)) } else { real(fd, len) };
    fn ftruncate64(fd: c_int, len: i64) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::Resize, fd, [len, 0], || real(fd, len)) } else { real(fd, len) };
    fn fsync(fd: c_int) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::Sync, fd, [0; 2], || real(fd)) } else { real(fd) };
    fn fdatasync(fd: c_int) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::Sync, fd, [0; 2], || real(fd)) } else { real(fd) };
    fn sync_file_range(fd: c_int, at: i64, len: i64, how: c_uint) -> c_int, |real|
        if is_ours(fd) { on_fd(Op::SyncRange, fd, [at, len], || real(fd, at, len, how)) } else { real(fd, at, len, how) };
    fn rename(from: *const c_char, to: *const c_char) -> c_int, |real|
        match Place::of(AT_FDCWD, from) {
            Some(place) => on_paths(Op::Rename, place, Place::of(AT_FDCWD, to), || real(from, to)),
            None => real(from, to),
        };
    fn renameat(dir: c_int, from: *const c_char, other: c_int, to: *const c_char) -> c_int, |real|
        match Place::of(dir, from) {
            Some(place) => on_paths(Op::Rename, place, Place::of(other, to), || real(dir, from, other, to)),
            None => real(dir, from, other, to),
        };
    fn link(from: *const c_char, to: *const c_char) -> c_int, |real|
        match Place::of(AT_FDCWD, from) {
            Some(place) => on_paths(Op::Link, place, Place::of(AT_FDCWD, to), || real(from, to)),
            None => real(from, to),
        };
    fn linkat(dir: c_int, from: *const c_char, other: c_int, to: *const c_char, how: c_int) -> c_int, |real|
        match Place::of(dir, from) {
            Some(place) => on_paths(Op::Link, place, Place::of(other, to), || real(dir, from, other, to, how)),
            None => real(dir, from, other, to, how),
        };
    fn unlink(path: *const c_char) -> c_int, |real|
        match Place::of(AT_FDCWD, path) {
            Some(place) => on_paths(Op::Unlink, place, None, || real(path)),
            None => real(path),
        };
    fn unlinkat(dir: c_int, path: *const c_char, how: c_int) -> c_int, |real| {
        let op = if how & AT_REMOVEDIR != 0 { Op::RemoveDir } else { Op::Unlink };
        match Place::of(dir, path) {
            Some(place) => on_paths(op, place, None, || real(dir, path, how)),
            None => real(dir, path, how),
        }
    };
    fn rmdir(path: *const c_char) -> c_int, |real|
        match Place::of(AT_FDCWD, path) {
            Some(place) => on_paths(Op::RemoveDir, place, None, || real(path)),
            None => real(path),
        };
    fn mkdir(path: *const c_char, mode: c_uint) -> c_int, |real|
        match Place::of(AT_FDCWD, path) {
            Some(place) => on_paths(Op::MakeDir, place, None, || real(path, mode)),
            None => real(path, mode),
        };
    fn mkdirat(dir: c_int, path: *const c_char, mode: c_uint) -> c_int, |real|
        match Place::of(dir, path) {
            Some(place) => on_paths(Op::MakeDir, place, None, || real(dir, path, mode)),
            None => real(dir, path, mode),
        };
    // Copies inside the kernel: the caller falls back to reading and writing.
    fn copy_file_range(from: c_int, at: *mut i64, to: c_int, there: *mut i64, len: usize, how: c_uint) -> isize, |real|
        if is_ours(to) { fails(ENOSYS) } else { real(from, at, to, there, len, how) };
    fn sendfile(to: c_int, from: c_int, at: *mut i64, len: usize) -> isize, |real|
        if is_ours(to) { fails(ENOSYS) } else { real(to, from, at, len) };
    fn sendfile64(to: c_int, from: c_int, at: *mut i64, len: usize) -> isize, |real|
        if is_ours(to) { fails(ENOSYS) } else { real(to, from, at, len) };
}

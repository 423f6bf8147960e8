//! Paths, without a heap.

use crate::{AT_FDCWD, Mode, mode, readlink, variable};
use std::ffi::{CStr, c_char, c_int};

const PATH_BYTES: usize = 4096;

/// A path below the folder, copied; for relative ones the folder that they are relative to is
/// looked up for.
pub struct Place {
    pub bytes: [u8; PATH_BYTES],
    pub len: usize,
}

impl Place {
    pub const fn empty() -> Self {
        Self { bytes: [0; PATH_BYTES], len: 0 }
    }

    pub fn of(dir: c_int, path: *const c_char) -> Option<Self> {
        if mode() == Mode::Off || path.is_null() {
            return None;
        }
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let mut place = Self::empty();
        if !path.starts_with(b"/") {
            if dir == AT_FDCWD {
                return None;
            }
            place = Self::of_fd(dir)?;
            place.push(b"/");
        }
        place.push(path);
        place.is_ours().then_some(place)
    }

    /// What an open file is called now.
    pub fn of_fd(fd: c_int) -> Option<Self> {
        let mut link = Self::empty();
        link.push(b"/proc/self/fd/");
        link.push_number(fd as u64);
        let mut place = Self::empty();
        let len =
            unsafe { readlink(link.bytes.as_ptr().cast(), place.bytes.as_mut_ptr().cast(), PATH_BYTES) };
        place.len = usize::try_from(len).ok()?;
        Some(place)
    }

    pub fn push(&mut self, more: &[u8]) {
        let room = &mut self.bytes[self.len..];
        let len = more.len().min(room.len());
        room[..len].copy_from_slice(&more[..len]);
        self.len += len;
    }

    pub fn push_number(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.push(&digits[first..]);
    }

    pub fn path(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub fn is_ours(&self) -> bool {
        let root = variable(c"HEARTH_FAULT_ROOT").unwrap_or_default();
        self.path().strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    pub fn is_meant(&self) -> bool {
        let only = variable(c"HEARTH_FAULT_ONLY").unwrap_or_default();
        only.is_empty() || self.path().windows(only.len()).any(|part| part == only)
    }
}

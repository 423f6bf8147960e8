//! What a read returns.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes of a value or of a part of it. It points into a frame that the cache may hold as well:
/// nothing was copied.
#[derive(Clone)]
pub struct Value {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Value {
    pub(crate) fn new(bytes: Arc<Vec<u8>>, range: Range<usize>) -> Self {
        debug_assert!(range.start <= range.end && range.end <= bytes.len());
        Self { bytes, range }
    }

    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { bytes: Arc::new(bytes), range }
    }

    /// Whether two values point at the same bytes in memory.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bytes, &other.bytes)
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<&T> for Value {
    fn eq(&self, other: &&T) -> bool {
        **self == *other.as_ref()
    }
}

impl PartialEq<Vec<u8>> for Value {
    fn eq(&self, other: &Vec<u8>) -> bool {
        **self == **other
    }
}

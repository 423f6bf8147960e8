//! An iterator over history that passes over table files without the writes that are looked for.
//! The crate `rocksdb` has no function for such a filter, RocksDB's C interface has.

use crate::error::rocks_text;
use hearth_primitives::StateError;
use librocksdb_sys as ffi;
use rocksdb::{AsColumnFamilyRef, AsRawPtr, DB};
use std::{
    ffi::{CStr, c_char, c_void},
    marker::PhantomData,
    ptr::{NonNull, null_mut},
    slice,
};

/// Key and value of a row.
type OldRow<'a> = (&'a [u8], &'a [u8]);

/// Numbers of RocksDB's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writes {
    /// The write before the first one.
    pub(crate) above: u64,
    /// The last one.
    pub(crate) last: u64,
}

/// Rows with one prefix at a time, without those in table files that have none of some writes and
/// delete nothing.
///
/// Compaction gives rows that it brings to the last level the number 0, so that a file with such
/// rows may have any of them.
pub(crate) struct OldRows<'a> {
    iterator: NonNull<ffi::rocksdb_iterator_t>,
    /// RocksDB looks at both as long as the iterator is used.
    options: NonNull<ffi::rocksdb_readoptions_t>,
    writes: NonNull<Writes>,
    db: PhantomData<&'a DB>,
}

// SAFETY: no part of the three belongs to a thread; the crate's own iterators are sent as well.
unsafe impl Send for OldRows<'_> {}

impl<'a> OldRows<'a> {
    /// Opens an iterator; with all numbers as `writes` it passes over no file.
    pub(crate) fn new(
        db: &'a DB,
        family: &impl AsColumnFamilyRef,
        writes: Writes,
    ) -> Result<Self, StateError> {
        let writes = NonNull::from(Box::leak(Box::new(writes)));
        // SAFETY: the options were just created and are not shared; the filter is called with the
        // numbers, which are freed behind the iterator. Database and family outlive `'a`.
        let (options, iterator) = unsafe {
            let options = ffi::rocksdb_readoptions_create();
            ffi::rocksdb_readoptions_set_prefix_same_as_start(options, 1);
            let numbers = writes.as_ptr().cast();
            ffi::rocksdb_readoptions_set_table_filter(options, numbers, None, Some(is_needed));
            (options, ffi::rocksdb_create_iterator_cf(db.as_raw_ptr(), options, family.inner()))
        };
        match (NonNull::new(iterator), NonNull::new(options)) {
            (Some(iterator), Some(options)) => Ok(Self { iterator, options, writes, db: PhantomData }),
            _ => Err(StateError::Store("RocksDB gave no iterator".to_owned())),
        }
    }

    /// Goes to the first row at or behind a key that has the key's prefix. Gives its key and value.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<Option<OldRow<'_>>, StateError> {
        // SAFETY: the iterator is open and not shared.
        unsafe { ffi::rocksdb_iter_seek(self.iterator.as_ptr(), key.as_ptr().cast(), key.len()) };
        match self.row() {
            None => self.status().map(|()| None),
            row => Ok(row),
        }
    }

    /// Key and value of the row at hand.
    fn row(&self) -> Option<OldRow<'_>> {
        let (iterator, mut lengths) = (self.iterator.as_ptr(), (0, 0));
        // SAFETY: the iterator is open and not shared. Key and value stand until it moves, for
        // which `self` is borrowed.
        unsafe {
            if ffi::rocksdb_iter_valid(iterator) == 0 {
                return None;
            }
            let key = ffi::rocksdb_iter_key(iterator, &raw mut lengths.0);
            let value = ffi::rocksdb_iter_value(iterator, &raw mut lengths.1);
            let key = slice::from_raw_parts(key.cast(), lengths.0);
            Some((key, slice::from_raw_parts(value.cast(), lengths.1)))
        }
    }

    /// Why there is no row, where that is an error.
    fn status(&self) -> Result<(), StateError> {
        let mut error: *mut c_char = null_mut();
        // SAFETY: an error is a string of C that is ours to free.
        unsafe {
            ffi::rocksdb_iter_get_error(self.iterator.as_ptr(), &raw mut error);
            if error.is_null() {
                return Ok(());
            }
            let text = CStr::from_ptr(error).to_string_lossy().into_owned();
            ffi::rocksdb_free(error.cast());
            Err(rocks_text(text))
        }
    }
}

impl Drop for OldRows<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing else has the three, and each is freed after what looks at it.
        unsafe {
            ffi::rocksdb_iter_destroy(self.iterator.as_ptr());
            ffi::rocksdb_readoptions_destroy(self.options.as_ptr());
            drop(Box::from_raw(self.writes.as_ptr()));
        }
    }
}

/// Whether a table file may have rows that are wanted. One without the property is of an older
/// RocksDB. One that deletes is needed in any case: what it deletes may be in older files.
unsafe extern "C" fn is_needed(
    writes: *mut c_void,
    properties: *const ffi::rocksdb_table_properties_t,
) -> u8 {
    // SAFETY: the numbers that the filter was set with, and the properties of a file that RocksDB
    // holds open for this call.
    let (writes, first, last, deleted) = unsafe {
        (
            *writes.cast::<Writes>(),
            ffi::rocksdb_table_properties_key_smallest_seqno(properties),
            ffi::rocksdb_table_properties_key_largest_seqno(properties),
            ffi::rocksdb_table_properties_num_deletions(properties),
        )
    };
    // The highest number stands for one that is not known.
    let may_have = first == u64::MAX || first == 0 || (first <= writes.last && last > writes.above);
    u8::from(may_have || deleted > 0)
}

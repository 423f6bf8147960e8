//! An iterator over history that passes over table files of later writes. The crate `rocksdb` has
//! no function for such a filter, RocksDB's C interface has.

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

/// Rows with one prefix at a time, without those in table files that have only writes behind
/// `last_write` and delete nothing.
pub(crate) struct OldRows<'a> {
    iterator: NonNull<ffi::rocksdb_iterator_t>,
    /// RocksDB looks at both as long as the iterator is used.
    options: NonNull<ffi::rocksdb_readoptions_t>,
    last_write: NonNull<u64>,
    db: PhantomData<&'a DB>,
}

// SAFETY: no part of the three belongs to a thread; the crate's own iterators are sent as well.
unsafe impl Send for OldRows<'_> {}

impl<'a> OldRows<'a> {
    /// Opens an iterator; with the highest number as `last_write` it passes over no file.
    pub(crate) fn new(
        db: &'a DB,
        family: &impl AsColumnFamilyRef,
        last_write: u64,
    ) -> Result<Self, StateError> {
        let last_write = NonNull::from(Box::leak(Box::new(last_write)));
        // SAFETY: the options were just created and are not shared; the filter is called with the
        // number, which is freed behind the iterator. Database and family outlive `'a`.
        let (options, iterator) = unsafe {
            let options = ffi::rocksdb_readoptions_create();
            ffi::rocksdb_readoptions_set_prefix_same_as_start(options, 1);
            let number = last_write.as_ptr().cast();
            ffi::rocksdb_readoptions_set_table_filter(options, number, None, Some(is_needed));
            (options, ffi::rocksdb_create_iterator_cf(db.as_raw_ptr(), options, family.inner()))
        };
        match (NonNull::new(iterator), NonNull::new(options)) {
            (Some(iterator), Some(options)) => Ok(Self { iterator, options, last_write, db: PhantomData }),
            _ => Err(StateError::Store("RocksDB gave no iterator".to_owned())),
        }
    }

    /// Goes to the first row at or behind a key that has the key's prefix, and gives its value.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<Option<&[u8]>, StateError> {
        let iterator = self.iterator.as_ptr();
        // SAFETY: the iterator is open and not shared. The value stands until it moves, for which
        // `self` is borrowed.
        unsafe {
            ffi::rocksdb_iter_seek(iterator, key.as_ptr().cast(), key.len());
            if ffi::rocksdb_iter_valid(iterator) == 0 {
                return self.status().map(|()| None);
            }
            let mut len = 0;
            let value = ffi::rocksdb_iter_value(iterator, &raw mut len);
            Ok(Some(slice::from_raw_parts(value.cast(), len)))
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
            drop(Box::from_raw(self.last_write.as_ptr()));
        }
    }
}

/// Whether a table file may have rows that are wanted. One without the property is of an older
/// RocksDB. One that deletes is needed in any case: what it deletes may be in older files.
unsafe extern "C" fn is_needed(
    last_write: *mut c_void,
    properties: *const ffi::rocksdb_table_properties_t,
) -> u8 {
    // SAFETY: the number that the filter was set with, and the properties of a file that RocksDB
    // holds open for this call.
    let (last_write, first, deleted) = unsafe {
        (
            *last_write.cast::<u64>(),
            ffi::rocksdb_table_properties_key_smallest_seqno(properties),
            ffi::rocksdb_table_properties_num_deletions(properties),
        )
    };
    u8::from(first == u64::MAX || first <= last_write || deleted > 0)
}

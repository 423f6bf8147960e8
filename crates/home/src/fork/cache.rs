//! Values read from a remote node, in memory and on disk, within a number of bytes.
//!
//! There are two generations. New values are added to the young generation; once that has half of
//! the bytes, the old generation is dropped and the young one becomes the old one. A hit in the old
//! generation moves the value to the young one, so values in use stay.

use super::{
    Key, Value,
    file::{LogFile, Record},
};
use alloy_primitives::{Address, B256, Bytes};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Names of the files: both generations, and which account has which code.
const YOUNG: &str = "young.log";
const OLD: &str = "old.log";
const CODES: &str = "codes.log";

/// What was read of an origin after one block.
pub(super) struct Cache {
    dir: PathBuf,
    block: B256,
    /// Bytes of one generation.
    half: u64,
    young: Generation,
    old: Generation,
    /// The account that has a code, to request the code again; this map is small, and stays.
    holders: HashMap<B256, Address>,
    codes_file: LogFile,
}

/// Half of what is kept.
struct Generation {
    values: HashMap<Key, Value>,
    file: LogFile,
}

impl Cache {
    /// Opens the cache of a folder. Records that fail their checksum, or belong to another block,
    /// are skipped: they are fetched again.
    pub fn open(dir: &Path, block: B256, bytes: u64) -> Self {
        let holder = |record: Record| match record {
            Record::Holder(hash, address) => Some((hash, address)),
            Record::Value(..) => None,
        };
        let (codes_file, holders) = LogFile::open(&dir.join(CODES), block);
        Self {
            dir: dir.to_owned(),
            block,
            half: bytes / 2,
            young: Generation::open(&dir.join(YOUNG), block),
            old: Generation::open(&dir.join(OLD), block),
            holders: holders.into_iter().filter_map(holder).collect(),
            codes_file,
        }
    }

    /// The cached value of a key. An account whose code is no longer cached is fetched again.
    pub fn get(&mut self, key: &Key) -> Option<Value> {
        if let Some(value) = self.young.values.get(key) {
            return Some(value.clone());
        }
        let value = self.old.values.get(key)?.clone();
        self.put(*key, value.clone());
        Some(value)
    }

    /// Keeps what the origin said.
    pub fn put(&mut self, key: Key, value: Value) {
        self.young.file.append(&Record::Value(key, value.clone()));
        self.young.values.insert(key, value);
        if self.young.file.bytes() > self.half {
            self.grow_old();
        }
    }

    /// Keeps code, and who has it.
    pub fn put_code(&mut self, hash: B256, address: Address, code: Bytes) {
        if self.holders.insert(hash, address).is_none() {
            self.codes_file.append(&Record::Holder(hash, address));
        }
        self.put(Key::Code(hash), Value::Code(code));
    }

    /// An account that has this code.
    pub fn address_of(&self, hash: &B256) -> Option<Address> {
        self.holders.get(hash).copied()
    }

    /// The older generation goes, and the younger one takes its place.
    fn grow_old(&mut self) {
        let (young, old) = (self.dir.join(YOUNG), self.dir.join(OLD));
        // If the file cannot be moved, it is truncated below, and its content is fetched again
        // after the next start.
        let _ = std::fs::rename(&young, &old);
        let empty = Generation { values: HashMap::new(), file: LogFile::begin(&young, self.block) };
        self.old = std::mem::replace(&mut self.young, empty);
    }
}

impl Generation {
    fn open(path: &Path, block: B256) -> Self {
        let (file, records) = LogFile::open(path, block);
        let value = |record: Record| match record {
            Record::Value(key, value) => Some((key, value)),
            Record::Holder(..) => None,
        };
        Self { values: records.into_iter().filter_map(value).collect(), file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::U256;

    const BLOCK: B256 = B256::repeat_byte(1);

    fn slot(number: u64) -> Key {
        Key::Slot(Address::repeat_byte(7), U256::from(number))
    }

    fn word(number: u64) -> Value {
        Value::Word(U256::from(number))
    }

    fn size(dir: &Path) -> u64 {
        let files = std::fs::read_dir(dir).expect("a folder").map(|file| file.expect("a file"));
        files.map(|file| file.metadata().expect("metadata").len()).sum()
    }

    #[test]
    fn cached_values_outlive_a_restart_for_their_block_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut cache = Cache::open(dir.path(), BLOCK, 1 << 20);
        cache.put(slot(1), word(11));
        cache.put(Key::Account(Address::ZERO), Value::Account(None));
        cache.put_code(B256::repeat_byte(9), Address::repeat_byte(7), Bytes::from_static(&[1, 2, 3]));
        drop(cache);
        let mut again = Cache::open(dir.path(), BLOCK, 1 << 20);
        assert_eq!(again.get(&slot(1)), Some(word(11)));
        assert_eq!(again.get(&Key::Account(Address::ZERO)), Some(Value::Account(None)));
        let code = again.get(&Key::Code(B256::repeat_byte(9)));
        assert_eq!(code, Some(Value::Code(Bytes::from_static(&[1, 2, 3]))));
        assert_eq!(again.address_of(&B256::repeat_byte(9)), Some(Address::repeat_byte(7)));
        assert_eq!(again.get(&slot(2)), None);
        drop(again);
        let mut other = Cache::open(dir.path(), B256::repeat_byte(2), 1 << 20);
        assert_eq!(other.get(&slot(1)), None);
    }

    #[test]
    fn a_torn_or_changed_record_is_not_served() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut cache = Cache::open(dir.path(), BLOCK, 1 << 20);
        (0..3).for_each(|number| cache.put(slot(number), word(number + 100)));
        drop(cache);
        let path = dir.path().join(YOUNG);
        let mut bytes = std::fs::read(&path).expect("reads");
        *bytes.last_mut().expect("bytes") ^= 1;
        std::fs::write(&path, bytes).expect("writes");
        let mut again = Cache::open(dir.path(), BLOCK, 1 << 20);
        assert_eq!((again.get(&slot(0)), again.get(&slot(1))), (Some(word(100)), Some(word(101))));
        assert_eq!(again.get(&slot(2)), None);
        again.put(slot(2), word(5));
        drop(again);
        assert_eq!(Cache::open(dir.path(), BLOCK, 1 << 20).get(&slot(2)), Some(word(5)));
    }

    #[test]
    fn it_stays_within_its_bytes_and_keeps_what_is_used() {
        let dir = tempfile::tempdir().expect("a folder");
        let limit = 64 << 10;
        let mut cache = Cache::open(dir.path(), BLOCK, limit);
        for number in 0..5_000 {
            cache.put(slot(number), word(number));
            assert_eq!(cache.get(&slot(0)), Some(word(0)), "in use at {number}");
        }
        assert!(size(dir.path()) <= limit + 1024, "{} bytes", size(dir.path()));
        assert_eq!(cache.get(&slot(4_999)), Some(word(4_999)));
        assert_eq!(cache.get(&slot(1)), None);
        drop(cache);
        assert_eq!(Cache::open(dir.path(), BLOCK, limit).get(&slot(0)), Some(word(0)));
    }
}

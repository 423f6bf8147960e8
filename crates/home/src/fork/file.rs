//! An append-only file of records, each with a checksum. All its content can be fetched again: torn
//! or changed records are cut off, and a disk that refuses a write only ends the writing.

use super::{Key, Value};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use hearth_primitives::Account;
use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::Path,
};

/// First bytes of a file; the hash of the block follows.
const MAGIC: &[u8] = b"hearth fork 1\n";
const LENGTH_BYTES: usize = 4;
const SUM_BYTES: usize = 8;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Value(Key, Value),
    /// An account with this code.
    Holder(B256, Address),
}

/// A file of records; without a file where the disk refuses one.
#[derive(Debug)]
pub(super) struct LogFile {
    file: Option<File>,
    bytes: u64,
}

impl LogFile {
    /// Opens a file and returns its sound records; a file of another block is truncated.
    pub fn open(path: &Path, block: B256) -> (Self, Vec<Record>) {
        let Ok(text) = fs::read(path) else { return (Self::begin(path, block), Vec::new()) };
        let Some(mut rest) = text.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(block.as_slice()))
        else {
            return (Self::begin(path, block), Vec::new());
        };
        let mut records = Vec::new();
        while let Some((record, after)) = next(rest) {
            records.push(record);
            rest = after;
        }
        let bytes = (text.len() - rest.len()) as u64;
        let open = || {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.set_len(bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok::<_, std::io::Error>(file)
        };
        (Self { file: open().ok(), bytes }, records)
    }

    /// Begins a file.
    pub fn begin(path: &Path, block: B256) -> Self {
        let begin = || {
            fs::create_dir_all(path.parent().unwrap_or(path))?;
            let mut file = File::create(path)?;
            file.write_all(MAGIC)?;
            file.write_all(block.as_slice())?;
            Ok::<_, std::io::Error>(file)
        };
        Self { file: begin().ok(), bytes: (MAGIC.len() + block.len()) as u64 }
    }

    /// Writes a record.
    pub fn append(&mut self, record: &Record) {
        let body = encode(record);
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
        let sum = keccak256(&body);
        let whole = [&length, &sum[..SUM_BYTES], &body].concat();
        self.bytes += whole.len() as u64;
        if self.file.as_mut().is_some_and(|file| file.write_all(&whole).is_err()) {
            self.file = None;
        }
    }

    /// Bytes of all records, whether the disk took them or not.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The first record of `bytes` and the rest; `None` at the end, and for a record that fails its
/// checksum.
fn next(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let (sum, rest) = rest.split_at_checked(SUM_BYTES)?;
    let (body, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    (keccak256(body)[..SUM_BYTES] == *sum).then(|| Some((decode(body)?, rest))).flatten()
}

const ACCOUNT: u8 = 0;
const NO_ACCOUNT: u8 = 1;
const SLOT: u8 = 2;
const CODE: u8 = 3;
const BLOCK_HASH: u8 = 4;
const HOLDER: u8 = 5;

fn encode(record: &Record) -> Vec<u8> {
    let word = |word: &U256| word.to_be_bytes::<32>();
    match record {
        Record::Value(Key::Account(address), Value::Account(Some(account))) => [
            &[ACCOUNT],
            address.as_slice(),
            &account.nonce.to_be_bytes(),
            &word(&account.balance),
            account.code_hash.as_slice(),
        ]
        .concat(),
        Record::Value(Key::Account(address), _) => [&[NO_ACCOUNT], address.as_slice()].concat(),
        Record::Value(Key::Slot(address, slot), Value::Word(value)) => {
            [&[SLOT], address.as_slice(), &word(slot), &word(value)].concat()
        }
        Record::Value(Key::Code(hash), Value::Code(code)) => [&[CODE], hash.as_slice(), code].concat(),
        Record::Value(Key::BlockHash(number), Value::Word(hash)) => {
            [&[BLOCK_HASH], number.to_be_bytes().as_slice(), &word(hash)].concat()
        }
        Record::Holder(hash, address) => [&[HOLDER], hash.as_slice(), address.as_slice()].concat(),
        // No key has a value of another kind; a body without a kind is not read back.
        Record::Value(..) => Vec::new(),
    }
}

fn decode(body: &[u8]) -> Option<Record> {
    let (kind, body) = body.split_first()?;
    let whole = |from: usize, to: usize| body.get(from..to);
    let address = || whole(0, 20).map(Address::from_slice);
    let word = |from: usize| whole(from, from + 32).map(U256::from_be_slice);
    let is_long = |bytes: usize| (body.len() == bytes).then_some(());
    let record = match *kind {
        ACCOUNT => {
            is_long(20 + 8 + 32 + 32)?;
            let nonce = u64::from_be_bytes(whole(20, 28)?.try_into().ok()?);
            let account = Account { nonce, balance: word(28)?, code_hash: B256::from(word(60)?) };
            Record::Value(Key::Account(address()?), Value::Account(Some(account)))
        }
        NO_ACCOUNT => {
            is_long(20)?;
            Record::Value(Key::Account(address()?), Value::Account(None))
        }
        SLOT => {
            is_long(20 + 32 + 32)?;
            Record::Value(Key::Slot(address()?, word(20)?), Value::Word(word(52)?))
        }
        CODE => {
            let code = Bytes::copy_from_slice(body.get(32..)?);
            let hash = B256::from(word(0)?);
            Record::Value(Key::Code(hash), Value::Code(code))
        }
        BLOCK_HASH => {
            is_long(8 + 32)?;
            let number = u64::from_be_bytes(whole(0, 8)?.try_into().ok()?);
            Record::Value(Key::BlockHash(number), Value::Word(word(8)?))
        }
        HOLDER => {
            is_long(32 + 20)?;
            Record::Holder(B256::from(word(0)?), Address::from_slice(whole(32, 52)?))
        }
        _ => return None,
    };
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::KECCAK256_EMPTY;

    #[test]
    fn every_record_reads_back() {
        let who = Address::repeat_byte(3);
        let account = Account { nonce: 7, balance: U256::MAX, code_hash: KECCAK256_EMPTY };
        let records = [
            Record::Value(Key::Account(who), Value::Account(Some(account))),
            Record::Value(Key::Account(who), Value::Account(None)),
            Record::Value(Key::Slot(who, U256::from(1)), Value::Word(U256::from(2))),
            Record::Value(Key::Code(B256::repeat_byte(4)), Value::Code(Bytes::from_static(&[0x60]))),
            Record::Value(Key::BlockHash(9), Value::Word(U256::from(3))),
            Record::Holder(B256::repeat_byte(4), who),
        ];
        for record in records {
            assert_eq!(decode(&encode(&record)), Some(record));
        }
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[SLOT, 1, 2]), None);
        assert_eq!(decode(&[99]), None);
    }
}

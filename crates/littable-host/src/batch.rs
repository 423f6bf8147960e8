//! Records of an iterator as one piece of bytes, so that a batch crosses at once.
//!
//! ```text
//! batch     = record*
//! record    = key | value | has_number u8 | number u64 | secondaries u32 | secondary*
//! secondary = key | start u32 | end u32
//! key, value = length u32 | bytes
//! ```
//! Integers are little-endian.

use hearth_littable::Record;

/// Records written one after the other.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    records: u32,
}

impl Batch {
    pub fn records(&self) -> u32 {
        self.records
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn push(&mut self, record: &Record) {
        self.put(&record.key);
        self.put(&record.value);
        self.bytes.push(u8::from(record.number.is_some()));
        self.bytes.extend_from_slice(&record.number.unwrap_or_default().to_le_bytes());
        self.bytes.extend_from_slice(&(record.secondary.len() as u32).to_le_bytes());
        for (key, range) in &record.secondary {
            self.put(key);
            self.bytes.extend_from_slice(&range.start.to_le_bytes());
            self.bytes.extend_from_slice(&range.end.to_le_bytes());
        }
        self.records += 1;
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_form() {
        let mut batch = Batch::default();
        let record =
            Record { key: vec![1], value: vec![2, 3], secondary: vec![(vec![4], 1..2)], number: Some(5) };
        batch.push(&record);
        batch.push(&Record { number: None, secondary: Vec::new(), ..record });
        assert_eq!(batch.records(), 2);
        let first = [
            &[1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 3, 1][..],
            &5u64.to_le_bytes(),
            &[1, 0, 0, 0, 1, 0, 0, 0, 4, 1, 0, 0, 0, 2, 0, 0, 0],
        ]
        .concat();
        let second = [&[1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 3, 0][..], &[0; 8], &[0; 4]].concat();
        assert_eq!(batch.finish(), [first, second].concat());
    }
}

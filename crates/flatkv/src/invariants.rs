//! What holds of every record that moves the head, checked in release builds too: a record that
//! breaks one of these would be replayed at the next open as if it were sound.

use crate::{
    FlatKvError,
    shared::{Core, Writer},
};
use hearth_flatkv_storage::wal::record::RecordHead;
use hearth_primitives::Height;
use std::sync::atomic::Ordering::SeqCst;

impl Core {
    /// Checks the records of commits, in their order, against the head and the last record before
    /// them: heights rise by one, each parent is the block before, the ends of the joined tables
    /// and the oldest height never fall. `first`: the store is empty.
    pub(crate) fn check_records<'r>(
        &self,
        writer: &Writer,
        records: impl IntoIterator<Item = &'r RecordHead>,
        first: bool,
    ) -> Result<(), FlatKvError> {
        let mut head = self.head().filter(|_| !first);
        let mut positions = &writer.positions;
        let mut oldest = if first { 0 } else { self.oldest.load(SeqCst) };
        for record in records {
            let height = record.head.height;
            if let Some(head) = head {
                equal("height", height, head.height.saturating_add(1), height)?;
                if record.parent != head.hash {
                    return Err(FlatKvError::Parent { height, expected: head.hash, got: record.parent });
                }
            }
            for (before, after) in positions.iter().zip(&record.positions) {
                at_least("end of a joined table", height, *before, *after)?;
            }
            at_least("oldest height", height, oldest, record.oldest)?;
            at_least("height above the oldest one", height, record.oldest, height)?;
            (head, positions, oldest) = (Some(record.head), &record.positions, record.oldest);
        }
        Ok(())
    }
}

/// Checks that the log grew by so many records.
pub(crate) fn check_sequence(
    height: Height,
    before: u64,
    records: u64,
    after: u64,
) -> Result<(), FlatKvError> {
    equal("sequence number of the WAL", height, before.saturating_add(records), after)
}

fn equal(what: &'static str, height: Height, expected: u64, got: u64) -> Result<(), FlatKvError> {
    if got == expected { Ok(()) } else { Err(FlatKvError::Invariant { what, height, expected, got }) }
}

fn at_least(what: &'static str, height: Height, expected: u64, got: u64) -> Result<(), FlatKvError> {
    if got >= expected { Ok(()) } else { Err(FlatKvError::Invariant { what, height, expected, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommitmentKind, FlatKv, Fsync, Head, NoTables, Options};
    use alloy_primitives::B256;
    use std::sync::Arc;

    fn record(height: Height, parent: u8, positions: Vec<u64>, oldest: Height) -> RecordHead {
        let hash = B256::repeat_byte(height as u8);
        let head = Head { height, hash, commitment: B256::ZERO };
        RecordHead { unwind: false, head, parent: B256::repeat_byte(parent), positions, oldest }
    }

    #[test]
    fn a_record_that_breaks_the_order_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let kind = CommitmentKind::None;
        let options = Options::new(dir.path().join("state"), dir.path().join("wal"), kind, Fsync::None);
        let kv = FlatKv::open(options, Arc::new(NoTables)).unwrap();
        let check = |first: RecordHead, second: RecordHead| {
            let mut writer = kv.core.lock_writer();
            writer.positions = vec![4, 9];
            match kv.core.check_records(&writer, [&first, &second], true) {
                Ok(()) => "sound".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        let first = || record(7, 0, vec![5, 9], 7);
        assert_eq!(check(first(), record(8, 7, vec![5, 10], 7)), "sound");
        for (what, second) in [
            ("height of block 9 is 9, expected 8", record(9, 7, vec![5, 10], 7)),
            ("commit of height 8 has parent 0x0606", record(8, 6, vec![5, 10], 7)),
            ("end of a joined table of block 8 is 8, expected 9", record(8, 7, vec![5, 8], 7)),
            ("oldest height of block 8 is 6, expected 7", record(8, 7, vec![5, 10], 6)),
            ("height above the oldest one of block 8 is 8, expected 9", record(8, 7, vec![5, 10], 9)),
        ] {
            let message = check(first(), second);
            assert!(message.contains(what), "{what}: {message}");
        }
        let what = "table";
        let message = check(record(7, 0, vec![3, 9], 7), record(8, 7, vec![5, 10], 7));
        assert!(message.contains("end of a joined table of block 7 is 3, expected 4"), "{what}: {message}");
    }

    #[test]
    fn the_log_grows_by_as_many_records_as_were_appended() {
        assert!(check_sequence(1, 5, 2, 7).is_ok());
        let Err(FlatKvError::Invariant { expected, got, .. }) = check_sequence(1, 5, 2, 6) else {
            panic!("not refused")
        };
        assert_eq!((expected, got), (7, 6));
    }
}

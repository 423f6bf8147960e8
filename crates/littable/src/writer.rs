//! Where the next group goes: what puts share.

use crate::recover::Loaded;

/// What puts share. Held for memory operations, and for making a segment where none was made ahead.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub lanes: Vec<LaneWriter>,
    /// Number of the next record, over all shards where there are several.
    pub sequence: u64,
    pub total_keys: u64,
    pub total_bytes: u64,
    /// Cuts of the table since it was opened: a position from before one may lie behind its end.
    pub cuts: u64,
}

#[derive(Debug)]
pub(crate) struct LaneWriter {
    /// Position up to which the shard is durable, and what of that is noted in a record.
    pub synced: u64,
    pub noted: u64,
    /// Position behind the last group.
    pub end: u64,
    /// Whether the next record is the first of its segment: it carries its number.
    pub first: bool,
}

impl Writer {
    pub fn push_lane(&mut self, loaded: &Loaded) {
        self.sequence = self.sequence.max(loaded.next_sequence);
        self.lanes.push(LaneWriter {
            synced: loaded.synced,
            noted: loaded.noted,
            end: loaded.last_group_end,
            first: loaded.active_is_empty,
        });
    }
}

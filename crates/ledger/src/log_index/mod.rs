//! The log index: which canonical blocks may hold a log of an address or of a topic at a position.
//!
//! It answers with blocks that may match, never leaves one out, and whoever asks looks at their receipts. So it may hold
//! too much, and needs to be exact in one direction only.
//!
//! | key | value | written |
//! |---|---|---|
//! | `p` height BE 8 | version, block hash 32, ids 8 each, ascending | with the block's commit, reverted by its unwind |
//! | `l` id 8, page BE 8 | heights of the page, offsets or a bitmap | by the merge of the page |
//! | `m` page BE 8 | hash of the page's last block | by the merge of the page, last |
//!
//! An id is a hash of an address or of a topic with its position. A commit writes one row: the block's ids.
//! Once a page of 256 heights lies [`MERGE_LAG`] blocks below the head it is merged in the background: its ids become
//! posting lists, one row an id and page, which a search reads by seeking, and its `p` rows go. Merged rows are not
//! reverted by an unwind. They hold for a page as long as the canonical block at its end is the one that `m` names, for
//! its hash fixes all blocks below; a page for which that is not so counts as unmerged, and is merged again over what is
//! there. A page whose `p` rows are missing, in a home from before this index or after an unwind into a merged page, is
//! merged from its receipts, and until then all its blocks may match.

mod bits;
mod id;
mod merge;
mod rows;
mod search;
#[cfg(test)]
mod tests;

pub use id::LogQuery;
pub use merge::MERGE_LAG;
pub use search::LogBlocks;

pub(crate) use merge::Merger;
pub(crate) use rows::block_row;

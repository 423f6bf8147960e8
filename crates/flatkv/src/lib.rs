//! Flat key-value state: latest, history, WAL, trie and commitments.

mod error;
mod store;
mod trie;
mod types;
mod view;

pub use error::FlatKvError;
pub use store::{FlatKv, IndexRow};
pub use trie::{TrieSession, TrieUpdate, WitnessTrie};
pub use types::{
    Commit, CommitmentKind, DEFAULT_CACHE_BYTES, DEFAULT_CODE_CACHE_BYTES, DEFAULT_MAX_OPEN_FILES,
    DEFAULT_SEGMENT_BYTES, Fsync, Head, IndexWrite, JoinedTables, NoTables, Options,
};
pub use view::StateView;

//! What a baked block is on disk, and how requests are answered from it.
//!
//! [`AnswerBuilder`] makes the stored form while a block is traced ([`layout`] says what it is),
//! [`TraceDb`] keeps it, and [`BakedBlock`] reads it: [`PlainAnswer`] inflates the pieces that an
//! answer touches, through a bounded cache; [`GzipAnswer`] is the stored bytes with an envelope.

mod block;
mod builder;
mod db;
mod gzip;
mod hot;
mod inflate;
mod layout;
#[cfg(test)]
mod tests;

pub use block::{AnswerBytes, BakedBlock, Found, GzipAnswer, Part, PartAtOnce, PlainAnswer};
pub use builder::{AnswerBuilder, BakedAnswer, DEFAULT_LEVEL, MAX_ANSWER_BYTES, MAX_LEVEL};
pub use db::{TraceDb, TraceDbOptions};
pub use layout::OWN_PIECE_BYTES;

//! Rows of the state store in batches, each batch of one moment.
//!
//! ```text
//! batch = more u8 | rows u32 | (key | value | has_height u8 | [height u64])*
//! ```

use super::{packed::Packed, range::stopped};
use hearth_flatkv::{DataDb, RowRange};
use hearth_home::{Home, NodeError};

/// Bytes and rows after which a batch ends.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_ROWS: usize = 16_384;
/// Bytes of `more` and `rows`.
const HEAD_BYTES: usize = 1 + 4;

pub(super) fn batch(home: &Home, db: &str, range: RowRange) -> Result<Vec<u8>, NodeError> {
    let named = DataDb::ALL.into_iter().find(|known| known.name() == db).ok_or_else(|| {
        let names = DataDb::ALL.map(DataDb::name).join(", ");
        NodeError::invalid_params(format!("no data DB {db:?}: one of {names}"))
    })?;
    stopped(home)?;
    let mut packed = Packed::with_capacity(BATCH_BYTES / 4);
    packed.raw(&[0; HEAD_BYTES]);
    let (mut rows, mut more) = (0, false);
    for row in home.chain().reader().rows(named, &range)? {
        let row = row.map_err(NodeError::store_failed)?;
        packed.bytes(&row.key).bytes(&row.value);
        packed.optional(row.height, |packed, height| {
            packed.u64(height);
        });
        rows += 1;
        if rows >= BATCH_ROWS || packed.len() >= BATCH_BYTES {
            more = true;
            break;
        }
    }
    let mut head = Packed::with_capacity(HEAD_BYTES);
    head.flag(more).u32(rows);
    let mut bytes = packed.into_bytes();
    bytes[..HEAD_BYTES].copy_from_slice(&head.into_bytes());
    Ok(bytes)
}

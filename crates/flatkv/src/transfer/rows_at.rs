//! The rows of a data DB as they were at a height, in the order of their keys.

use hearth_flatkv_storage::{
    db::{Db, Family, Rows},
    rows::{at_height, history_height, history_prefix, split_stamp},
};
use hearth_primitives::{Height, StateError};

/// A row: key without family, height of its last change, value.
pub(super) type RowAt = (Vec<u8>, Height, Vec<u8>);

/// Rows of a height. At the head they are the latest rows; below, every key has its row in history.
pub(super) enum RowsAt<'a> {
    Latest(Rows<'a>),
    History { rows: Rows<'a>, height: Height, key_from: usize },
}

impl<'a> RowsAt<'a> {
    /// Rows of a family, whose history keys begin with `kind`, and whose own key begins at
    /// `key_from` of those.
    pub(super) fn new(
        db: &'a Db,
        family: Family,
        (kind, key_from): (u8, usize),
        height: Option<Height>,
    ) -> Result<Self, StateError> {
        Ok(match height {
            None => Self::Latest(db.prefix(family, &[])?),
            Some(height) => Self::History { rows: db.prefix(Family::History, &[kind])?, height, key_from },
        })
    }

    /// The next row.
    pub(super) fn next(&mut self) -> Result<Option<RowAt>, StateError> {
        match self {
            Self::Latest(rows) => {
                let Some((key, row)) = rows.row() else { return rows.finish().map(|()| None) };
                let (stamp, value) = split_stamp(row)?;
                let found = (key.to_vec(), stamp, value.to_vec());
                rows.next();
                Ok(Some(found))
            }
            Self::History { rows, height, key_from } => loop {
                let Some((key, _)) = rows.row() else { return rows.finish().map(|()| None) };
                let prefix = history_prefix(key).to_vec();
                rows.seek(&at_height(prefix.clone(), *height));
                let mut found = None;
                if let Some((key, value)) = rows.row()
                    && history_prefix(key) == prefix
                {
                    let stamp = history_height(key)?;
                    found =
                        (!value.is_empty()).then(|| (prefix[*key_from..].to_vec(), stamp, value.to_vec()));
                    // Past the oldest row of this key.
                    rows.seek(&[at_height(prefix, 0).as_slice(), &[0]].concat());
                }
                if found.is_some() {
                    return Ok(found);
                }
            },
        }
    }
}

//! The two tables, as the state store joins them to its commits.

use crate::LedgerError;
use hearth_flatkv::JoinedTables;
use hearth_littable::old::{LittError, Littable, Table, TableSpec};
use hearth_metrics::{LittMetrics, Registry};
use hearth_primitives::StateError;
use std::path::Path;
use std::sync::Arc;

pub(crate) const BLOCKS: &str = "blocks";
pub(crate) const RECEIPTS: &str = "receipts";
/// Size of a segment of either table, in bytes.
const SEGMENT_BYTES: u64 = 256 << 20;

/// Blocks and receipts on disk.
#[derive(Debug)]
pub struct LedgerTables {
    pub(crate) blocks: Arc<Table>,
    pub(crate) receipts: Arc<Table>,
}

impl LedgerTables {
    pub(crate) fn open(dir: &Path, metrics: &Registry) -> Result<Self, LedgerError> {
        let spec = |name| TableSpec { name, segment_bytes: SEGMENT_BYTES };
        let litt = Littable::open(dir, &[spec(BLOCKS), spec(RECEIPTS)], &LittMetrics::new(metrics))?;
        let table = |name| litt.table(name).expect("the table is among the specs");
        Ok(Self { blocks: table(BLOCKS), receipts: table(RECEIPTS) })
    }

    /// The tables in the order of [`JoinedTables::positions`].
    fn all(&self) -> [&Table; 2] {
        [&self.blocks, &self.receipts]
    }
}

impl JoinedTables for LedgerTables {
    fn verify(&self, positions: &[u64]) -> bool {
        let tables = self.all();
        let at = |i: usize| positions.get(i).copied().unwrap_or(0);
        positions.len() <= tables.len() && tables.iter().enumerate().all(|(i, t)| t.verify(at(i)))
    }

    fn cut(&self, positions: &[u64]) -> Result<(), StateError> {
        let tables = self.all();
        if positions.len() > tables.len() {
            return Err(StateError::Store(format!(
                "{} positions for {} tables",
                positions.len(),
                tables.len()
            )));
        }
        let at = |i: usize| positions.get(i).copied().unwrap_or(0);
        tables.iter().enumerate().try_for_each(|(i, t)| t.cut(at(i))).map_err(store)
    }

    fn sync(&self) -> Result<(), StateError> {
        self.all().iter().try_for_each(|t| t.flush()).map_err(store)
    }

    fn positions(&self) -> Vec<u64> {
        self.all().iter().map(|t| t.position()).collect()
    }
}

fn store(error: LittError) -> StateError {
    StateError::Store(error.to_string())
}

//! What a scrape page says of the address index.

use super::bits::{end_of, start_of};
use super::merge::{Merger, Shared};
use crate::LedgerError;
use hearth_metrics::{AddressIndexMetrics, Registry};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Merger {
    /// Makes the registry read the gauges from this index while it is open.
    pub fn register(&self, registry: &Registry) {
        let metrics = AddressIndexMetrics::new(registry);
        let shared = Arc::downgrade(&self.shared);
        registry.collect_with(move || {
            let Some(shared) = shared.upgrade() else { return false };
            // What cannot be read leaves the page as it was: a scrape does not fail for it.
            let _ = shared.measure(&metrics);
            true
        });
    }
}

impl Shared {
    fn measure(&self, metrics: &AddressIndexMetrics) -> Result<(), LedgerError> {
        let (merged, first) = {
            let mut progress = self.progress.lock();
            let merged = self.merged(&mut progress)?;
            (merged, progress.first.unwrap_or(0).max(self.floor.load(Ordering::SeqCst)))
        };
        metrics.pages.set_unsigned(merged.saturating_sub(first));
        let lag = self.kv.head().map_or(0, |head| match merged.checked_sub(1) {
            Some(last) if merged > first => head.height.saturating_sub(end_of(last)),
            _ => head.height.saturating_sub(start_of(first)) + 1,
        });
        metrics.lag.set_unsigned(lag);
        let letters = self.kind.letters();
        let ranges = [letters.block, letters.postings, letters.merged, letters.floor];
        let ranges = ranges.map(|letter| ([letter], [letter + 1]));
        let bytes = ranges.iter().map(|(from, to)| self.kv.index_bytes(from, to));
        metrics.bytes.set_unsigned(bytes.sum::<Result<u64, _>>()?);
        Ok(())
    }
}

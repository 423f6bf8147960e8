//! Collection: segments go as a whole, when nothing in them is to be kept.

use crate::LittError;
use crate::doc;
use crate::failpoints::{InjectedBug, has};
use crate::format::Summary;
use crate::segment::Segment;
use crate::shard::Shard;
use crate::table::Table;
use hearth_metrics::{Level, LogEntry};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Age that a killed process may cost a table with a TTL: so much more than is written may have
/// passed.
const AGE_SAVED_AFTER: Duration = Duration::from_secs(60);

impl Table {
    /// Sets the lowest number that is kept. It is durable when the call returns, and reads of
    /// records below it are refused from then on; their segments go with the next collection. A
    /// lower floor than the present one changes nothing.
    ///
    /// # Errors
    /// [`LittError::Io`], [`LittError::ReadOnly`]; the floor is as before then.
    pub fn set_floor(&self, floor: u64) -> Result<(), LittError> {
        self.ctx.check_writable()?;
        if floor <= self.ctx.floor() {
            return Ok(());
        }
        self.ctx.update_state(|state| state.floor = state.floor.max(floor))?;
        self.store.poke(self);
        Ok(())
    }

    /// One pass of collection: removes the sealed segments whose highest number is below the floor
    /// and, where a TTL is set, whose last write is older. Records without a number go by the TTL
    /// alone. Says how many segments went.
    ///
    /// Segments that an iterator holds go out of sight at once, and off the disk in the first pass
    /// after its lease.
    ///
    /// # Errors
    /// [`LittError::Io`], [`LittError::ReadOnly`].
    pub fn collect(&self) -> Result<u32, LittError> {
        self.ctx.check_writable()?;
        let start = Instant::now();
        let _merging = self.merging.lock();
        let _sealing = self.sealing.lock();
        let (age, ttl, floor) = (self.ctx.age(), *self.ctx.ttl.lock(), self.ctx.floor());
        let mut removed = 0;
        let mut passed = false;
        for lane in &self.lanes {
            let expired: Vec<Arc<Segment>> = {
                let state = lane.state.read();
                let expired = state.sealed().filter(|(_, c)| expires(&c.summary, floor, ttl, age));
                expired.map(|(segment, _)| segment.clone()).collect()
            };
            if !expired.is_empty() {
                passed = true;
                removed += expired.len() as u32;
                if has(InjectedBug::FloorAfterUnlink) {
                    expired
                        .iter()
                        .try_for_each(|segment| doc::remove_if_there(&*self.ctx.disk, &segment.path))?;
                }
                self.ctx.update_state(|state| {
                    expired.iter().for_each(|segment| state.add_gone(lane.shard, segment.index()));
                })?;
                self.retire(lane, &expired);
            }
            self.unlink_doomed(lane)?;
        }
        if passed {
            self.recount();
            self.ctx.metrics.garbage_collection.record_duration(start.elapsed());
            let entry =
                LogEntry::new(Level::Info, "stores", "old segments are gone").text("table", &self.ctx.name);
            let entry =
                entry.count("segments", removed.into()).number("keptFrom", floor).seconds(start.elapsed());
            self.ctx.metrics.log.add(entry);
        }
        if ttl.is_some() {
            self.save_age(age)?;
        }
        Ok(removed)
    }

    /// Writes the age of the table where it has grown: what only the memory has goes with a process
    /// that is killed, and with many of them nothing would ever be old.
    fn save_age(&self, age: Duration) -> Result<(), LittError> {
        let saved = Duration::from_millis(self.ctx.state.lock().age_ms);
        if age.saturating_sub(saved) < AGE_SAVED_AFTER {
            return Ok(());
        }
        self.ctx.update_state(|_| {})
    }

    /// Takes segments out of sight.
    fn retire(&self, lane: &Shard, segments: &[Arc<Segment>]) {
        let mut empty = Vec::new();
        {
            let mut state = lane.state.write();
            for segment in segments {
                segment.retired.store(true, Ordering::Release);
                state.doomed.push(segment.clone());
            }
            let going: HashSet<u32> = segments.iter().map(|segment| segment.index()).collect();
            state.segments.retain(|index| !going.contains(&index));
            for run in state.runs.iter() {
                if !run.covered.iter().any(|c| state.segments.has(c.header.index)) {
                    empty.push(run.clone());
                }
            }
            state.generation += 1;
        }
        for segment in segments {
            for cache in [&self.ctx.read_cache, &self.ctx.write_cache].into_iter().flatten() {
                cache.drop_segment(segment.uid);
            }
        }
        for run in empty {
            self.replace_runs(lane, std::slice::from_ref(&run), None);
            // One that stays is removed with the next merge over it, or found empty at the next
            // opening.
            let _ = self.ctx.disk.remove_file(&run.path);
        }
    }

    /// Removes the files of collected segments that no iterator holds any more.
    fn unlink_doomed(&self, lane: &Shard) -> Result<(), LittError> {
        let doomed = lane.state.read().doomed.clone();
        for segment in doomed {
            if self.ctx.leases.hold(lane.shard, segment.index()) {
                continue;
            }
            self.ctx.handles.close(segment.uid);
            doc::remove_if_there(&*self.ctx.disk, &segment.path)?;
            lane.state.write().doomed.retain(|other| !Arc::ptr_eq(other, &segment));
        }
        Ok(())
    }
}

/// Whether nothing of a segment is to be kept.
fn expires(summary: &Summary, floor: u64, ttl: Option<Duration>, age: Duration) -> bool {
    let numbers = summary.numbered == 0 || summary.max_number < floor;
    let unnumbered = summary.numbered == summary.records || ttl.is_some();
    let old = ttl.is_none_or(|ttl| age.saturating_sub(Duration::from_millis(summary.age_ms)) >= ttl);
    summary.records > 0 && numbers && unnumbered && old
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_and_ttl_must_both_hold() {
        let of = |numbered, max_number, age_ms| Summary {
            records: 2,
            numbered,
            max_number,
            age_ms,
            ..Summary::default()
        };
        let hour = Some(Duration::from_secs(3600));
        let (young, old) = (Duration::from_secs(3599), Duration::from_secs(3600));
        assert!(expires(&of(2, 9, 0), 10, None, young));
        assert!(!expires(&of(2, 10, 0), 10, None, young));
        assert!(!expires(&of(2, 9, 0), 10, hour, young));
        assert!(expires(&of(2, 9, 0), 10, hour, old));
        assert!(!expires(&of(2, 9, 1), 10, hour, old));
        assert!(!expires(&of(2, 10, 0), 10, hour, old));
        assert!(!expires(&of(1, 9, 0), 10, None, old), "the other record has no number and no TTL");
        assert!(expires(&of(1, 9, 0), 10, hour, old));
        assert!(expires(&of(0, 0, 0), 0, hour, old));
        assert!(!expires(&of(0, 0, 0), 10, None, old));
    }
}

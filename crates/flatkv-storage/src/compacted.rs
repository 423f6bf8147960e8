//! What flushes and compactions wrote so far, for benches.

use crate::{
    db::{Db, Family},
    error::corrupt,
};
use hearth_primitives::StateError;
use rocksdb::properties;
use std::ops::{Add, Sub};

/// Words of the line with the sums of a family's levels before the bytes that were written: its
/// name, files, size in two words, score, and three columns of what was read.
const WORDS_BEFORE_WRITTEN: usize = 8;
/// Words between these bytes and the processor time of flushes and compactions.
const WORDS_BEFORE_CPU: usize = 7;
/// Bytes of a gigabyte of RocksDB's.
const GB: f64 = (1 << 30) as f64;

/// What flushes and compactions of some families wrote since the database was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compacted {
    /// Bytes of the files that flushes wrote.
    pub flushed: f64,
    /// Bytes of the files that flushes and compactions wrote; RocksDB gives tenths of gigabytes.
    pub written: f64,
    /// Processor seconds of flushes and compactions.
    pub cpu: f64,
}

impl Add for Compacted {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let Self { flushed, written, cpu } = other;
        Self { flushed: self.flushed + flushed, written: self.written + written, cpu: self.cpu + cpu }
    }
}

impl Sub for Compacted {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let Self { flushed, written, cpu } = other;
        Self { flushed: self.flushed - flushed, written: self.written - written, cpu: self.cpu - cpu }
    }
}

impl Db {
    /// What flushes and compactions of a family wrote since the database was opened.
    pub fn compacted(&self, family: Family) -> Result<Compacted, StateError> {
        let text = self.text(family, properties::CFSTATS_NO_FILE_HISTOGRAM)?;
        parse(&text).ok_or_else(|| corrupt("statistics of RocksDB"))
    }

    /// Bytes that compactions of all families still have to rewrite, as RocksDB estimates them, and
    /// files that flushes made and no compaction took in yet, of the family that has most.
    pub fn behind(&self) -> Result<(u64, u64), StateError> {
        let mut behind = (0, 0);
        for family in Family::ALL {
            behind.0 += self.property(family, properties::ESTIMATE_PENDING_COMPACTION_BYTES)?;
            behind.1 = behind.1.max(self.files_at(family, 0)?);
        }
        Ok(behind)
    }
}

fn parse(text: &str) -> Option<Compacted> {
    let mut sum = text.lines().find(|line| line.trim_start().starts_with("Sum"))?.split_whitespace();
    let written = sum.nth(WORDS_BEFORE_WRITTEN)?.parse::<f64>().ok()?;
    let cpu = sum.nth(WORDS_BEFORE_CPU)?.parse().ok()?;
    let flushed = text.lines().find_map(|line| line.strip_prefix("Flush(GB): cumulative "))?;
    let flushed = flushed.split(',').next()?.parse::<f64>().ok()?;
    Some(Compacted { flushed: flushed * GB, written: written * GB, cpu })
}

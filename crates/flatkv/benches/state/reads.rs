//! Point reads of latest rows, beside a bare Get.

use crate::chain::{Chain, TOKEN, address, slot};
use crate::commits::{ACCOUNTS, Ours, Theirs};
use crate::harness::{Bench, Fallible, Sample, Target, timed};
use alloy_primitives::U256;
use hearth_flatkv::CommitmentKind;
use hearth_primitives::StateReader;
use std::{hint::black_box, time::Instant};

/// Reads of one sample.
const READS: usize = 100_000;

/// Median time of a read in nanoseconds.
pub fn p50<T, E: std::error::Error + 'static>(
    reads: usize,
    mut read: impl FnMut() -> Result<T, E>,
) -> Fallible<Sample> {
    let (_, cpu, mut times) = timed(|| {
        let mut times = Vec::with_capacity(reads);
        for _ in 0..reads {
            let start = Instant::now();
            black_box(read()?);
            times.push(start.elapsed().as_nanos() as f64);
        }
        Ok(times)
    })?;
    times.sort_by(f64::total_cmp);
    Ok(Sample { value: times[times.len() / 2], cpu })
}

pub fn rows(bench: &Bench) -> Fallible<()> {
    let names = ["read: account, latest, p50", "read: slot, latest, p50", "read: absent slot, latest, p50"];
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let (ours, theirs) = (Ours::new(bench, CommitmentKind::None)?, Theirs::new(bench)?);
    let state = ours.kv.latest().ok_or("no head")?;
    let mut chain: Chain = Chain::new(bench.amount(ACCOUNTS, 50_000));
    let mut other = chain.clone();
    let reads = bench.amount(READS, 1_000);
    let at_most = Target::RatioAtMost(1.3);
    if bench.wants(names[0]) {
        let mine = || p50(reads, || state.account(&address(chain.pick())));
        let bare = || p50(reads, || theirs.db.account(&address(other.pick())));
        bench.pair(names[0], "ns", at_most, mine, bare)?;
    }
    for (name, absent) in [(names[1], U256::ZERO), (names[2], U256::from(1))] {
        if bench.wants(name) {
            let mine = || p50(reads, || state.storage(&TOKEN, &(slot(chain.pick()) ^ absent)));
            let bare = || p50(reads, || theirs.db.slot(&TOKEN, &(slot(other.pick()) ^ absent)));
            bench.pair(name, "ns", at_most, mine, bare)?;
        }
    }
    Ok(())
}

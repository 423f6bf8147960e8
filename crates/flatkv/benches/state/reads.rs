//! Point reads of latest rows, beside a bare Get of the same database and of one that holds the
//! latest rows alone.

use crate::chain::{TOKEN, address, slot};
use crate::commits::{ACCOUNTS, QUICK_ACCOUNTS, Stores};
use crate::harness::{Bench, Fallible, Sample, Target, timed};
use alloy_primitives::U256;
use hearth_flatkv::CommitmentKind;
use hearth_primitives::StateReader;
use std::{hint::black_box, time::Instant};

/// Reads of one sample.
const READS: usize = 100_000;
/// From one account to the next that is read: a prime, so that they are spread over all.
const STRIDE: usize = 7_919;

/// Median time of a read in nanoseconds, over keys that are there before.
pub fn p50<K, T, E: std::error::Error + 'static>(
    keys: &[K],
    mut read: impl FnMut(&K) -> Result<T, E>,
) -> Fallible<Sample> {
    let (_, cpu, mut times) = timed(|| {
        let mut times = Vec::with_capacity(keys.len());
        for key in keys {
            let start = Instant::now();
            black_box(read(key)?);
            times.push(start.elapsed().as_nanos() as f64);
        }
        Ok(times)
    })?;
    times.sort_by(f64::total_cmp);
    Ok(Sample { value: times[times.len() / 2], cpu })
}

pub fn rows(bench: &Bench, stores: &mut Stores<'_>) -> Fallible<()> {
    let kinds = ["read: account, latest, p50", "read: slot, latest, p50", "read: absent slot, latest, p50"];
    let same = |kind: &str| format!("{kind}, beside a Get of the same database");
    let other = |kind: &str| format!("{kind}, beside a database of latest rows alone");
    if !kinds.iter().any(|kind| bench.wants(&same(kind)) || bench.wants(&other(kind))) {
        return Ok(());
    }
    let (ours, theirs) = stores.both(CommitmentKind::None)?;
    let (kv, theirs) = (&ours.kv, &theirs.db);
    let state = kv.latest().ok_or("no head")?;
    let (accounts, reads) = (bench.amount(ACCOUNTS, QUICK_ACCOUNTS), bench.amount(READS, 1_000));
    let picked = (0..reads).map(|n| n * STRIDE % accounts);
    let at_most = Target::RatioAtMost(1.3);
    let addresses: Vec<_> = picked.clone().map(address).collect();
    let mine = || p50(&addresses, |address| state.account(address));
    if bench.wants(&same(kinds[0])) {
        let get = || p50(&addresses, |address| kv.bare_account(address));
        bench.pair(&same(kinds[0]), "ns", at_most, mine, get)?;
    }
    if bench.wants(&other(kinds[0])) {
        let get = || p50(&addresses, |address| theirs.account(address));
        bench.pair(&other(kinds[0]), "ns", at_most, mine, get)?;
    }
    for (kind, absent) in [(kinds[1], U256::ZERO), (kinds[2], U256::from(1))] {
        let slots: Vec<_> = picked.clone().map(|n| slot(n) ^ absent).collect();
        let mine = || p50(&slots, |slot| state.storage(&TOKEN, slot));
        if bench.wants(&same(kind)) {
            let get = || p50(&slots, |slot| kv.bare_slot(&TOKEN, slot));
            bench.pair(&same(kind), "ns", at_most, mine, get)?;
        }
        if bench.wants(&other(kind)) {
            let get = || p50(&slots, |slot| theirs.slot(&TOKEN, slot));
            bench.pair(&other(kind), "ns", at_most, mine, get)?;
        }
    }
    Ok(())
}

//! The atomics behind a series, and timers over them.

use crate::{Instrument, instrument::Unit};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Puts a number on its own cache line, so that threads that update neighbouring numbers do not
/// slow each other down.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line<T>(T);

/// A number that only grows. Handles are cheap to clone and share one value.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<Line<AtomicU64>>);

impl Counter {
    /// Adds to it.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.0.fetch_add(more, Relaxed);
    }

    /// The value.
    pub fn value(&self) -> u64 {
        self.0.0.load(Relaxed)
    }
}

/// A number that goes up and down. Handles are cheap to clone and share one value.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<Line<AtomicI64>>);

impl Gauge {
    /// Sets it.
    #[inline]
    pub fn set(&self, value: i64) {
        self.0.0.store(value, Relaxed);
    }

    /// Sets the gauge to a height, a size or a count; a larger value than the gauge holds becomes
    /// its largest value.
    #[inline]
    pub fn set_unsigned(&self, value: u64) {
        self.set(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Adds to it; a negative number takes away.
    #[inline]
    pub fn add(&self, more: i64) {
        self.0.0.fetch_add(more, Relaxed);
    }

    /// The value.
    pub fn value(&self) -> i64 {
        self.0.0.load(Relaxed)
    }
}

/// Samples by bucket, and their sum. Handles are cheap to clone and share the samples.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Samples>);

#[derive(Debug)]
#[repr(align(64))]
struct Samples {
    /// Of all samples, in ticks of the unit; wraps after 584 years of nanoseconds.
    sum: AtomicU64,
    ticks: f64,
    bounds: &'static [f64],
    /// One more than there are bounds: the last is for what is above them all.
    counts: Box<[AtomicU64]>,
}

impl Histogram {
    pub(crate) fn new(row: &Instrument) -> Self {
        Self::with(row.unit, row.buckets)
    }

    fn with(unit: Unit, bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Samples { sum: AtomicU64::new(0), ticks: unit.ticks(), bounds, counts }))
    }

    /// Records a sample in the instrument's unit. A negative sample or NaN counts as zero, so that
    /// a clock that was set back does not spoil the sum.
    #[inline]
    pub fn record(&self, value: f64) {
        let Samples { sum, ticks, bounds, counts } = &*self.0;
        let value = value.max(0.0);
        let bucket = bounds.partition_point(|bound| *bound < value);
        counts[bucket].fetch_add(1, Relaxed);
        // A conversion that does not fit saturates.
        sum.fetch_add((value * ticks).round() as u64, Relaxed);
    }

    /// Records a duration, for a histogram of seconds.
    #[inline]
    pub fn record_duration(&self, duration: Duration) {
        self.record(duration.as_secs_f64());
    }

    /// Measures from now until the timer is dropped.
    pub fn timer(&self) -> Timer<'_> {
        Timer { start: Instant::now(), done: self, dropped: self }
    }

    /// Samples in each bucket, the last above all bounds.
    pub fn counts(&self) -> Vec<u64> {
        self.0.counts.iter().map(|count| count.load(Relaxed)).collect()
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.0.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Sum of the samples, in the instrument's unit.
    pub fn sum(&self) -> f64 {
        self.0.sum.load(Relaxed) as f64 / self.0.ticks
    }
}

/// An instrument for each value of a boolean label.
#[derive(Clone, Debug)]
pub struct Flag<T> {
    /// The one labelled `true`.
    pub yes: T,
    /// The one labelled `false`.
    pub no: T,
}

impl<T> Flag<T> {
    /// The instrument of a value.
    #[inline]
    pub fn of(&self, value: bool) -> &T {
        if value { &self.yes } else { &self.no }
    }

    /// Makes both.
    pub(crate) fn make(mut make: impl FnMut(&'static str) -> T) -> Self {
        Self { yes: make("true"), no: make("false") }
    }
}

impl Flag<Histogram> {
    /// Starts a measurement. [`Timer::succeed`] records a success; a timer that is dropped without
    /// it, by `?` or by a panic, records a failure.
    pub fn timer(&self) -> Timer<'_> {
        Timer { start: Instant::now(), done: &self.yes, dropped: &self.no }
    }

    /// Records how long something took and whether it succeeded.
    #[inline]
    pub fn record_duration(&self, success: bool, duration: Duration) {
        self.of(success).record_duration(duration);
    }

    /// Runs work and records how long it took and whether it succeeded.
    pub fn measure<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let timer = self.timer();
        let result = work();
        if result.is_ok() {
            timer.succeed();
        }
        result
    }
}

/// Measures until it is dropped.
#[derive(Debug)]
#[must_use = "a timer that is dropped at once measures nothing"]
pub struct Timer<'a> {
    start: Instant,
    done: &'a Histogram,
    dropped: &'a Histogram,
}

impl Timer<'_> {
    /// Ends the measurement as a success.
    pub fn succeed(mut self) {
        self.dropped = self.done;
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        self.dropped.record_duration(self.start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::LATENCY;

    fn flag() -> Flag<Histogram> {
        Flag::make(|_| Histogram::with(Unit::Seconds, LATENCY))
    }

    #[test]
    fn a_sample_counts_in_the_bucket_whose_bound_it_fits() {
        let histogram = Histogram::with(Unit::Seconds, &[0.001, 0.01]);
        for value in [0.0, 0.001, 0.001_000_1, 0.01, 0.02, 1e9] {
            histogram.record(value);
        }
        assert_eq!(histogram.counts(), [2, 2, 2]);
        assert_eq!(histogram.count(), 6);
        assert!((histogram.sum() - 1_000_000_000.032_000_1).abs() < 1e-6, "{}", histogram.sum());
    }

    #[test]
    fn what_is_no_duration_counts_as_zero() {
        let histogram = Histogram::with(Unit::Seconds, &[0.5]);
        for value in [f64::NAN, -3.0, f64::NEG_INFINITY] {
            histogram.record(value);
        }
        assert_eq!((histogram.counts(), histogram.sum()), (vec![3, 0], 0.0));
    }

    #[test]
    fn bytes_are_summed_without_scaling() {
        let histogram = Histogram::with(Unit::Bytes, &[256.0]);
        histogram.record(1e15);
        histogram.record(3.0);
        assert_eq!((histogram.counts(), histogram.sum()), (vec![1, 1], 1e15 + 3.0));
    }

    #[test]
    fn a_timer_is_a_failure_unless_it_succeeds() {
        let flag = flag();
        flag.timer().succeed();
        drop(flag.timer());
        let refused: Result<(), ()> = (|| {
            let timer = flag.timer();
            Err(())?;
            timer.succeed();
            Ok(())
        })();
        assert!(refused.is_err());
        assert_eq!((flag.yes.count(), flag.no.count()), (1, 2));
        assert_eq!(flag.measure(|| Ok::<_, ()>(7)), Ok(7));
        assert_eq!(flag.measure(|| Err::<(), _>("no")), Err("no"));
        assert_eq!((flag.yes.count(), flag.no.count()), (2, 3));
    }

    #[test]
    fn a_timer_measures_the_time_that_passes() {
        let flag = flag();
        let timer = flag.timer();
        std::thread::sleep(Duration::from_millis(12));
        assert!(timer.elapsed() >= Duration::from_millis(12));
        timer.succeed();
        assert!(flag.yes.sum() >= 0.012, "{}", flag.yes.sum());
        assert_eq!(flag.yes.counts()[..10].iter().sum::<u64>(), 0, "nothing at or below 10 ms");
    }

    #[test]
    fn gauges_take_heights_that_are_too_large() {
        let gauge = Gauge::default();
        gauge.set_unsigned(u64::MAX);
        assert_eq!(gauge.value(), i64::MAX);
        gauge.set(5);
        gauge.add(-7);
        assert_eq!(gauge.value(), -2);
    }

    #[test]
    fn threads_lose_no_sample() {
        const EACH: u64 = 50_000;
        let (counter, histogram) = (Counter::default(), Histogram::with(Unit::Seconds, &[0.5]));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..EACH).for_each(|_| {
                        counter.add(2);
                        histogram.record(0.25);
                    })
                });
            }
        });
        assert_eq!(counter.value(), 8 * EACH);
        assert_eq!((histogram.count(), histogram.sum()), (4 * EACH, EACH as f64));
    }
}

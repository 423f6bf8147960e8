//! What follows from beats and signals. Knows neither clocks nor threads.

use crate::cells::Phase;
use std::time::Duration;

/// Time between two looks.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// Time that counts between two looks at most. A process that was stopped, or that gets no
/// processor, is late with all its threads: that is no stall of one of them.
const COUNTED_MAX: Duration = Duration::from_millis(200);

/// An event loop that stands still for longer is reported.
pub const STALL: Duration = Duration::from_secs(1);

/// Time between two lines about one stall at most; before, it doubles.
const REPORT_EVERY_MAX: Duration = Duration::from_secs(60);

/// Time that an ordinary stop has beyond that of its answers.
pub const STOP_GRACE: Duration = Duration::from_secs(1);

/// Further time for an ordinary stop whose event loop turns; and time for which that may stand
/// still while stores are closed.
pub const LIVE_GRACE: Duration = Duration::from_secs(10);

/// Time that the main thread has to end the process after a second signal.
pub const SECOND_SIGNAL_GRACE: Duration = Duration::from_secs(1);

/// What one look sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Since the look before.
    pub elapsed: Duration,
    pub beats: u32,
    /// Signals that requested a stop until now.
    pub signals: u32,
    pub phase: Phase,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The event loop has stood still for so long, and still does.
    Stalls(Duration),
    /// The event loop turns again; it stood still for so long.
    Stalled(Duration),
    /// The ordinary stop is late: the watchdog closes the stores and ends the process. How long
    /// after the signal, and whether the event loop stands still.
    TakeOver { after: Duration, is_stalled: bool },
    /// A second signal came, and the main thread did not end the process.
    EndAtOnce,
}

/// What was seen until now.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Time between two beats.
    beat: Duration,
    /// Time of the ordinary stop for answers.
    stop: Duration,
    beats: u32,
    /// Since the last beat.
    quiet: Duration,
    /// The stall that is reported next as going on; none where none is reported yet.
    next_report: Option<Duration>,
    since_signal: Option<Duration>,
    since_second: Option<Duration>,
    phase: Phase,
    /// Since the phase began.
    in_phase: Duration,
}

/// Adds to a time that begins with the first look at which it should run.
fn run_on(time: &mut Option<Duration>, runs: bool, elapsed: Duration) {
    if runs {
        *time = Some(time.map_or(Duration::ZERO, |time| time + elapsed));
    }
}

impl Policy {
    pub fn new(beat: Duration, stop: Duration) -> Self {
        Self {
            beat,
            stop,
            beats: 0,
            quiet: Duration::ZERO,
            next_report: None,
            since_signal: None,
            since_second: None,
            phase: Phase::Opening,
            in_phase: Duration::ZERO,
        }
    }

    /// Takes a look into account.
    pub fn look(&mut self, reading: Reading) -> [Option<Step>; 2] {
        let elapsed = reading.elapsed.min(COUNTED_MAX);
        self.in_phase = if reading.phase == self.phase { self.in_phase + elapsed } else { Duration::ZERO };
        self.phase = reading.phase;
        let stall = self.stall(&reading, elapsed);
        [stall, self.stop(&reading, elapsed)]
    }

    /// For how long the event loop stands still at least: a beat was due some time after the last
    /// one.
    fn stands_still(&self) -> Duration {
        self.quiet.saturating_sub(self.beat)
    }

    fn stall(&mut self, reading: &Reading, elapsed: Duration) -> Option<Step> {
        if reading.beats != self.beats {
            self.beats = reading.beats;
            let stood = self.stands_still();
            self.quiet = Duration::ZERO;
            return self.next_report.take().map(|_| Step::Stalled(stood));
        }
        self.quiet += elapsed;
        let stands = self.stands_still();
        if reading.phase != Phase::Serving || stands < self.next_report.unwrap_or(STALL) {
            return None;
        }
        self.next_report = Some(stands + stands.min(REPORT_EVERY_MAX));
        Some(Step::Stalls(stands))
    }

    fn stop(&mut self, reading: &Reading, elapsed: Duration) -> Option<Step> {
        run_on(&mut self.since_signal, reading.signals > 0, elapsed);
        run_on(&mut self.since_second, reading.signals > 1, elapsed);
        if self.since_second.is_some_and(|since| since >= SECOND_SIGNAL_GRACE) {
            return Some(Step::EndAtOnce);
        }
        let after = self.since_signal?;
        // The end of a run may write large files at once.
        let is_closing = reading.phase == Phase::Closing;
        let is_stalled = self.stands_still() >= if is_closing { LIVE_GRACE } else { STALL };
        let due = self.stop + STOP_GRACE;
        let is_late = if is_stalled {
            after >= due
        } else {
            // Stores may take long to flush: a close in the ordinary way is not disturbed.
            !is_closing && after >= due + LIVE_GRACE && self.in_phase >= LIVE_GRACE
        };
        is_late.then_some(Step::TakeOver { after, is_stalled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT: Duration = Duration::from_millis(250);
    const STOP: Duration = Duration::from_secs(10);

    /// Runs the policy once per tick, and returns its steps with their times.
    fn run(
        policy: &mut Policy,
        ticks: std::ops::Range<u32>,
        read: impl Fn(u32) -> (u32, u32, Phase),
    ) -> Vec<(Duration, Step)> {
        let look = |tick: u32| {
            let (beats, signals, phase) = read(tick);
            let steps = policy.look(Reading { elapsed: TICK, beats, signals, phase });
            steps.into_iter().flatten().map(|step| (TICK * tick, step)).collect::<Vec<_>>()
        };
        ticks.flat_map(look).collect()
    }

    fn policy() -> Policy {
        Policy::new(BEAT, STOP)
    }

    fn millis(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_loop_that_turns_says_nothing() {
        assert_eq!(run(&mut policy(), 0..1000, |tick| (tick / 3, 0, Phase::Serving)), []);
        // Three beats late: less than a second.
        assert_eq!(run(&mut policy(), 0..1000, |tick| (tick / 11, 0, Phase::Serving)), []);
    }

    #[test]
    fn a_stall_is_reported_ever_more_rarely_and_at_its_end() {
        let mut policy = policy();
        let stuck = run(&mut policy, 0..3000, |_| (0, 0, Phase::Serving));
        let overdue: Vec<Duration> = stuck
            .iter()
            .map(|(_, step)| match step {
                Step::Stalls(stands) => *stands,
                step => panic!("{step:?}"),
            })
            .collect();
        let seconds: Vec<u64> = overdue.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 17, 35, 70, 130, 190, 250]);
        let over = run(&mut policy, 3000..3100, |tick| (tick, 0, Phase::Serving));
        assert_eq!(over, [(millis(300_000), Step::Stalled(millis(299_750)))]);
    }

    #[test]
    fn nothing_is_a_stall_before_serving_and_while_closing() {
        for phase in [Phase::Opening, Phase::Closing, Phase::Closed] {
            assert_eq!(run(&mut policy(), 0..1000, |_| (0, 0, phase)), []);
        }
    }

    #[test]
    fn a_process_that_was_stopped_has_not_stalled() {
        let mut policy = policy();
        let after =
            Reading { elapsed: Duration::from_secs(3600), beats: 0, signals: 0, phase: Phase::Serving };
        assert_eq!(policy.look(after), [None, None]);
        assert_eq!(run(&mut policy, 0..100, |tick| (tick / 3 + 1, 0, Phase::Serving)), []);
    }

    #[test]
    fn a_stuck_main_thread_is_ended_once_the_stop_is_due() {
        let steps = run(&mut policy(), 0..150, |tick| (0, u32::from(tick >= 20), Phase::Serving));
        let first = steps.iter().find(|(_, step)| !matches!(step, Step::Stalls(_)));
        let after = STOP + STOP_GRACE;
        assert_eq!(first, Some(&(millis(2000) + after, Step::TakeOver { after, is_stalled: true })));
    }

    #[test]
    fn a_stop_that_hangs_while_the_loop_turns_has_more_time() {
        let steps = run(&mut policy(), 0..400, |tick| (tick / 3, u32::from(tick >= 20), Phase::Serving));
        let after = STOP + STOP_GRACE + LIVE_GRACE;
        assert_eq!(steps[0], (millis(2000) + after, Step::TakeOver { after, is_stalled: false }));
    }

    #[test]
    fn an_ordinary_close_of_the_stores_may_take_its_time() {
        let closing = |tick: u32| (tick / 3, 1, Phase::Closing);
        assert_eq!(run(&mut policy(), 0..10_000, closing), []);
        // But not where the main thread hangs in it for long.
        let steps = run(&mut policy(), 0..10_000, |tick| (tick.min(200), 1, Phase::Closing));
        // Ten seconds after a beat was due, which was a quarter of a second after the last one.
        assert_eq!(steps[0].0, millis(20_000) + BEAT + LIVE_GRACE + millis(50));
        assert!(matches!(steps[0].1, Step::TakeOver { is_stalled: true, .. }));
    }

    #[test]
    fn a_process_that_stays_after_its_stores_close_is_ended() {
        let phase = |tick| if tick < 600 { Phase::Closing } else { Phase::Closed };
        let steps = run(&mut policy(), 0..1000, |tick| (tick / 3, 1, phase(tick)));
        let after = millis(60_000) + LIVE_GRACE;
        assert_eq!(steps[0], (after, Step::TakeOver { after, is_stalled: false }));
    }

    #[test]
    fn a_second_signal_ends_what_does_not_end_itself() {
        let signals = |tick: u32| u32::from(tick >= 20) + u32::from(tick >= 30);
        let steps = run(&mut policy(), 0..50, |tick| (tick / 3, signals(tick), Phase::Serving));
        assert_eq!(steps[0], (millis(3000) + SECOND_SIGNAL_GRACE, Step::EndAtOnce));
    }
}

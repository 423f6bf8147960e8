//! The thread: looks, writes lines, and ends the process.

use crate::{
    Options, WatchdogError,
    cells::Cells,
    line::{Level, Line},
    policy::{Policy, Reading, Step, TICK},
    signals,
};
use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::Builder,
    time::{Duration, Instant, SystemTime},
};

/// Time that the stores have to close before the process ends without that.
pub const CLOSE_MAX: Duration = Duration::from_secs(30);

/// Time that is waited for a line to be written: the reader of standard error may have stopped.
const WRITE_MAX: Duration = Duration::from_millis(200);

/// What the watchdog looks after.
pub trait Guarded: Send + Sync + 'static {
    /// Flushes and closes the stores; returns once that is done.
    ///
    /// # Errors
    /// What the stores report.
    fn close(&self) -> Result<(), String>;

    /// The event loop stood still for so long; `began` is the name of what the main thread had
    /// begun last.
    fn stalled(&self, began: &str, stood: Duration);
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether a line is being written.
static WRITES: AtomicBool = AtomicBool::new(false);

/// Starts the watchdog of this process. SIGTERM and SIGINT must have their handlers, and keep them.
/// What it gives is for the main thread to write to.
///
/// # Errors
/// There is one already, a signal has no handler, and what the system reports.
pub fn start(options: Options, guarded: impl Guarded) -> Result<&'static Cells, WatchdogError> {
    if STARTED.swap(true, Ordering::AcqRel) {
        return Err(WatchdogError::Started);
    }
    let started = signals::chain().and_then(|()| {
        let watchdog = Watchdog { options, guarded: Arc::new(guarded), cells: Cells::shared() };
        let run = move || watchdog.run();
        Builder::new().name("hearth-watchdog".into()).spawn(run).map_err(WatchdogError::Thread)
    });
    started.map(|_| Cells::shared())
}

struct Watchdog {
    options: Options,
    guarded: Arc<dyn Guarded>,
    cells: &'static Cells,
}

impl Watchdog {
    fn run(self) {
        let millis = Duration::from_millis;
        let mut policy = Policy::new(millis(self.options.beat_ms), millis(self.options.stop_ms));
        let mut last = Instant::now();
        // What the stall that is reported began with: once it is over, the cells are of something
        // else.
        let mut began = String::new();
        loop {
            std::thread::sleep(TICK);
            let now = Instant::now();
            let elapsed = now - std::mem::replace(&mut last, now);
            let (beats, signals, phase) = (self.cells.beats(), signals::seen(), self.cells.phase());
            for step in policy.look(Reading { elapsed, beats, signals, phase }).into_iter().flatten() {
                match step {
                    Step::Stalls(stands) => {
                        began = self.name(self.cells.began());
                        let line = Line::new(Level::Warn, "the event loop stalls").seconds("seconds", stands);
                        self.write_line(self.with_begun(line));
                    }
                    Step::Stalled(stood) => {
                        self.guarded.stalled(&began, stood);
                        let line = Line::new(Level::Warn, "the event loop turns again");
                        self.write_line(line.seconds("seconds", stood).text("began", &began));
                    }
                    Step::TakeOver { after, is_stalled } => self.take_over(after, is_stalled),
                    Step::EndAtOnce => {
                        let line = "ended by a second signal; the stores were not closed: the next start replays their log";
                        self.write_line(self.with_begun(Line::new(Level::Error, line)));
                        end(self.options.stopped_code);
                    }
                }
            }
        }
    }

    fn name(&self, number: u32) -> String {
        let names = &self.options.names;
        names.get(number as usize).or(names.first()).cloned().unwrap_or_default()
    }

    /// With what the main thread began last; where that was nothing since its last beat, also with
    /// what it was before.
    fn with_begun(&self, line: Line) -> Line {
        let began = self.cells.began();
        let line = line.text("began", self.name(began));
        match self.cells.before() {
            0 => line,
            before if began == 0 => line.text("before", self.name(before)),
            _ => line,
        }
    }

    /// Writes a line on a separate thread and waits briefly. The line is dropped if the previous
    /// one is still being written.
    fn write_line(&self, line: Line) {
        if line.level > self.options.level || WRITES.swap(true, Ordering::AcqRel) {
            return;
        }
        let text = line.written(self.options.format, SystemTime::now());
        let (done, written) = mpsc::sync_channel(1);
        let write = move || {
            // No reader is left.
            let _ = std::io::stderr().write_all(text.as_bytes());
            WRITES.store(false, Ordering::Release);
            let _ = done.send(());
        };
        match Builder::new().name("hearth-watchdog-log".into()).spawn(write) {
            Ok(_) => drop(written.recv_timeout(WRITE_MAX)),
            Err(_) => WRITES.store(false, Ordering::Release),
        }
    }

    /// Closes the stores and ends the process.
    fn take_over(&self, after: Duration, is_stalled: bool) -> ! {
        let why = if is_stalled { "the main thread is stuck" } else { "the ordinary stop hangs" };
        let line =
            Line::new(Level::Error, "the stop is late: the watchdog closes the stores and ends the process");
        self.write_line(self.with_begun(line.text("why", why).seconds("seconds", after)));
        let guarded = self.guarded.clone();
        let (done, closed) = mpsc::sync_channel(1);
        let close = move || drop(done.send(guarded.close()));
        let began = Instant::now();
        let outcome = match Builder::new().name("hearth-watchdog-close".into()).spawn(close) {
            // A panic drops the sender.
            Ok(_) => closed.recv_timeout(CLOSE_MAX).unwrap_or_else(|error| {
                Err(match error {
                    mpsc::RecvTimeoutError::Timeout => "they took too long".to_owned(),
                    mpsc::RecvTimeoutError::Disconnected => "closing them panicked".to_owned(),
                })
            }),
            Err(error) => Err(format!("no thread: {error}")),
        };
        self.write_line(match outcome {
            Ok(()) => Line::new(Level::Error, "the stores are closed; the process ends")
                .seconds("seconds", began.elapsed()),
            Err(why) => {
                let line = "the stores were not closed: the next start replays their log; the process ends";
                Line::new(Level::Error, line).text("why", why)
            }
        });
        end(self.options.cut_short_code)
    }
}

/// Ends the process at once. Handlers of `exit` would run beside threads that do not stop.
fn end(code: i32) -> ! {
    // SAFETY: has no conditions, and does not return.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, line::Line};
    use serde_json::Value;

    struct Nothing;

    impl Guarded for Nothing {
        fn close(&self) -> Result<(), String> {
            Ok(())
        }

        fn stalled(&self, _: &str, _: Duration) {}
    }

    #[test]
    fn a_line_names_what_began_since_the_last_beat_or_before() {
        let cells: &'static Cells = Box::leak(Box::default());
        let options = Options {
            names: ["none", "reading_request", "eth_call"].map(str::to_owned).to_vec(),
            beat_ms: 250,
            stop_ms: 0,
            cut_short_code: 4,
            stopped_code: 130,
            format: Format::Text,
            level: Level::Warn,
        };
        let watchdog = Watchdog { options, guarded: Arc::new(Nothing), cells };
        let fields = |began, before| {
            cells.set(1, began);
            cells.set(2, before);
            watchdog.with_begun(Line::new(Level::Warn, "a line")).fields
        };
        let text = |name, value: &str| (name, Value::from(value));
        assert_eq!(fields(0, 0), [text("began", "none")]);
        assert_eq!(fields(2, 1), [text("began", "eth_call")]);
        assert_eq!(fields(0, 2), [text("began", "none"), text("before", "eth_call")]);
        // A number that no name is for.
        assert_eq!(fields(9, 0), [text("began", "none")]);
    }
}

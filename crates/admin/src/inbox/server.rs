//! The thread of a node that serves the requests of other processes for the same data directory.

use super::{
    protocol::{self, ANSWER, Answer, InboxCommand, Outcome, READER, REQUEST, Request},
    work::{Handlers, Running},
};
use hearth_bake::BakeWorker;
use hearth_home::{Home, NodeError};
use hearth_metrics::Log;
use parking_lot::{Condvar, Mutex};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Time between two looks at the folder.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Longest time between two answers to a request.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// Requests that are worked on at the same time; more wait.
const MAX_RUNNING: usize = 16;

/// Requests that are looked at; more wait.
const MAX_LISTED: usize = 256;

/// The inbox of a node that runs.
pub struct Inbox {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    folder: PathBuf,
    handlers: Handlers,
    closed: Arc<(Mutex<bool>, Condvar)>,
}

/// A request that was taken.
struct ActiveRequest {
    running: Running,
    answer: Answer,
    answered: Instant,
}

impl Inbox {
    /// Opens the inbox of a home; `baker` makes traces, where the node bakes.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`] where the folder or the thread cannot be made.
    pub fn open(home: Arc<Home>, baker: Option<Arc<BakeWorker>>, log: Log) -> Result<Self, NodeError> {
        let folder = protocol::folder(&home.config().home);
        let failed = |error: io::Error| {
            NodeError::store_failed(io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
        };
        fs::create_dir_all(&folder).map_err(failed)?;
        let closed = Arc::new((Mutex::new(false), Condvar::new()));
        let wake = closed.clone();
        let handlers = Handlers::new(home, baker, log, move || {
            wake.1.notify_all();
        });
        let shared = Arc::new(Shared { folder: folder.clone(), handlers, closed });
        shared.sweep();
        protocol::write(&folder.join(READER), &std::process::id()).map_err(failed)?;
        let on_thread = shared.clone();
        let thread = std::thread::Builder::new().name("hearth-inbox".into()).spawn(move || on_thread.run());
        Ok(Self { shared, thread: Mutex::new(Some(thread.map_err(failed)?)) })
    }

    /// Closes the inbox, and ends the work for requests. Ranges to bake stay for the next node.
    pub fn close(&self) {
        *self.shared.closed.0.lock() = true;
        self.shared.closed.1.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn run(&self) {
        let mut taken = BTreeMap::new();
        loop {
            self.look(&mut taken);
            let mut closed = self.closed.0.lock();
            if !*closed {
                self.closed.1.wait_for(&mut closed, LOOK_EVERY);
            }
            if *closed {
                break;
            }
        }
        let _ = fs::remove_file(self.folder.join(READER));
        taken.values().for_each(|taken| taken.running.cancel());
        for (name, mut taken) in taken {
            taken.running.end();
            if taken.running.outlives_node() {
                continue;
            }
            let message = "the node was stopped: run the same command again".to_owned();
            let stopped = || Outcome::Failed { kind: "closed".to_owned(), message };
            // Work that ended meanwhile is reported with its own outcome.
            let outcome = taken.running.outcome().filter(Outcome::is_final).unwrap_or_else(stopped);
            self.report(&name, &mut taken, Some(outcome));
        }
    }

    /// Names of the files with an ending, in order.
    fn names(&self, ending: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let fits = paths.filter(|path| path.extension().is_some_and(|end| end == ending));
        let mut names: Vec<String> =
            fits.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).take(MAX_LISTED).collect();
        names.sort();
        names
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }

    /// Removes files of an earlier node: answers without a request, and requests whose process is
    /// gone. A range to bake is resumed in any case.
    fn sweep(&self) {
        for name in self.names(REQUEST) {
            let path = self.path(&name, REQUEST);
            let is_live = match protocol::read::<Request>(&path) {
                Ok(Request { command: InboxCommand::Bake { .. }, .. }) => true,
                Ok(Request { pid, .. }) => is_alive(pid),
                Err(_) => true,
            };
            if !is_live {
                let _ = fs::remove_file(path);
            }
        }
        let requested = self.names(REQUEST);
        for name in self.names(ANSWER) {
            if !requested.contains(&name) {
                let _ = fs::remove_file(self.path(&name, ANSWER));
            }
        }
    }

    fn look(&self, taken: &mut BTreeMap<String, ActiveRequest>) {
        let requested = self.names(REQUEST);
        taken.retain(|name, taken| {
            // A folder that cannot be listed, or that lists too many, withdraws nothing.
            if !requested.contains(name) && is_gone(&self.path(name, REQUEST)) {
                taken.running.cancel();
                if !taken.running.has_ended() {
                    return true;
                }
                let _ = fs::remove_file(self.path(name, ANSWER));
                return false;
            }
            let outcome = taken.running.outcome();
            let is_over = outcome.is_some();
            // If an answer cannot be written (the disk is full), the next poll tries again.
            !(self.report(name, taken, outcome) && is_over)
        });
        for name in requested {
            if taken.len() < MAX_RUNNING && !taken.contains_key(&name) {
                let running = match protocol::read::<Request>(&self.path(&name, REQUEST)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => Running::refused("config", format!("the request: {error}")),
                    Ok(request) => self.handlers.begin(request.command),
                };
                let mut new = ActiveRequest { running, answer: Answer::default(), answered: Instant::now() };
                let outcome = new.running.outcome();
                let is_over = outcome.is_some();
                new.answer.beat = 1;
                if !(self.report(&name, &mut new, outcome) && is_over) {
                    taken.insert(name, new);
                }
            }
        }
    }

    /// Writes the progress of a request if it changed or a heartbeat is due. Returns whether the
    /// client can read it.
    fn report(&self, name: &str, taken: &mut ActiveRequest, outcome: Option<Outcome>) -> bool {
        let progress = taken.running.progress();
        let beat = taken.answer.beat;
        let is_news = beat == 1 || progress != taken.answer.progress || outcome.is_some();
        if !is_news && taken.answered.elapsed() < BEAT_EVERY {
            return true;
        }
        taken.answer = Answer { beat: beat + 1, progress, outcome };
        taken.answered = Instant::now();
        let written = protocol::write(&self.path(name, ANSWER), &taken.answer).is_ok();
        if written && taken.answer.outcome.is_some() {
            let _ = fs::remove_file(self.path(name, REQUEST));
        }
        written
    }
}

/// Whether there is such a process on this machine, where the system says so.
fn is_alive(pid: u32) -> bool {
    let proc = Path::new("/proc");
    !proc.join("self").exists() || proc.join(pid.to_string()).exists()
}

/// Whether the system says that there is no such file.
fn is_gone(file: &Path) -> bool {
    file.try_exists().is_ok_and(|is_there| !is_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_looked_up_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1.json");
        assert!(is_gone(&file));
        fs::write(&file, "{}").unwrap();
        assert!(!is_gone(&file));
        // A folder that is none.
        assert!(!is_gone(&file.join("2.json")));
    }
}

//! The client of the node that runs on a home.

use super::protocol::{self, ANSWER, Answer, InboxCommand, Outcome, READER, REQUEST, Request};
use crate::jobs::{JobControl, JobError};
use hearth_chain::HomePaths;
use hearth_flatkv::{Holder, LOCK_FILE};
use hearth_home::who;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// Time between two looks at the answer.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Longest time after which a process that has the home open must read requests; a starting node
/// takes longer to do so.
const READER_WAIT_MAX: Duration = Duration::from_secs(2);
/// Longest time until a node takes a request up.
const TAKEN_WAIT_MAX: Duration = Duration::from_secs(10);
/// Longest time between two answers of a node that lives.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Longest time that a cancelled request waits for its work to end.
const END_WAIT_MAX: Duration = Duration::from_secs(10);

/// Sends requests to the node of a home.
pub(crate) struct Client {
    home: PathBuf,
    folder: PathBuf,
    /// Longest time until the work is done.
    limit: Option<Duration>,
}

/// A request under way; dropping it removes its files.
struct PendingRequest {
    request: PathBuf,
    answer: PathBuf,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.request);
        let _ = fs::remove_file(&self.answer);
    }
}

impl Client {
    /// A client of the node that has this home.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), folder: protocol::folder(home), limit: None }
    }

    /// The same, which gives up after a time.
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Sends a request, reports the progress of the work to `control`, and returns its report. A
    /// cancelled `control` cancels the work and waits until the node has ended it.
    ///
    /// # Errors
    /// [`JobError::InUse`] and [`JobError::NoAnswer`] if no node answers, [`JobError::FromNode`]
    /// with the error of the node, [`JobError::Cancelled`].
    pub fn request(&self, command: &InboxCommand, control: &JobControl) -> Result<Value, JobError> {
        self.find_reader(control)?;
        let posted = self.post(command)?;
        let done = self.wait(&posted, control);
        if matches!(done, Err(JobError::Cancelled)) {
            let _ = fs::remove_file(&posted.request);
            let began = Instant::now();
            while posted.answer.exists() && began.elapsed() < END_WAIT_MAX && self.holder().is_some() {
                sleep(LOOK_EVERY);
            }
        }
        done
    }

    /// The process that has the home, as its lock says: also one that was killed.
    fn holder(&self) -> Option<Holder> {
        Holder::of_lock(&HomePaths::new(&self.home).state().join(LOCK_FILE))
    }

    /// Waits until the process that has the home reads its requests.
    fn find_reader(&self, control: &JobControl) -> Result<(), JobError> {
        let began = Instant::now();
        loop {
            let holder = self.holder();
            let reader = protocol::read::<u32>(&self.folder.join(READER)).ok();
            if reader.is_some() && reader == holder.as_ref().map(|holder| holder.pid) {
                return Ok(());
            }
            if began.elapsed() >= READER_WAIT_MAX {
                return Err(JobError::InUse { home: self.home.clone(), holder });
            }
            control.check()?;
            sleep(LOOK_EVERY);
        }
    }

    fn post(&self, command: &InboxCommand) -> Result<PendingRequest, JobError> {
        let pid = std::process::id();
        let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("{pid}-{}", since_epoch.as_nanos());
        let path = |ending| self.folder.join(format!("{name}.{ending}"));
        let posted = PendingRequest { request: path(REQUEST), answer: path(ANSWER) };
        protocol::write(&posted.request, &Request { pid, command: command.clone() })
            .map_err(|source| JobError::Io { path: posted.request.clone(), source })?;
        Ok(posted)
    }

    fn wait(&self, posted: &PendingRequest, control: &JobControl) -> Result<Value, JobError> {
        let (began, mut beat, mut heard) = (Instant::now(), None, Instant::now());
        // A process in another container is not visible here: only missing answers show that it is
        // gone.
        let visible = self.holder().filter(is_visible);
        let silent = |why: &str| JobError::NoAnswer {
            home: self.home.clone(),
            holder: who(&self.holder()),
            why: why.to_owned(),
        };
        loop {
            control.check()?;
            // One that is not there yet is silence, and so is one that does not read.
            if let Ok(answer) = protocol::read::<Answer>(&posted.answer) {
                if beat != Some(answer.beat) {
                    (beat, heard) = (Some(answer.beat), Instant::now());
                    control.report(answer.progress);
                }
                match answer.outcome {
                    Some(Outcome::Done(report)) => return Ok(report),
                    Some(Outcome::Failed { kind, message }) => {
                        return Err(JobError::FromNode { kind, message });
                    }
                    None => {}
                }
            }
            if self.holder().is_none() || visible.as_ref().is_some_and(|holder| !is_visible(holder)) {
                return Err(silent(
                    "it ended before the work was done: start it and run the same command again",
                ));
            }
            let limit = if beat.is_none() { TAKEN_WAIT_MAX } else { SILENCE_MAX };
            if heard.elapsed() >= limit {
                return Err(silent(&format!("it did not answer for {} seconds", limit.as_secs())));
            }
            if let Some(limit) = self.limit.filter(|limit| began.elapsed() >= *limit) {
                return Err(silent(&format!("it was not done in {} seconds", limit.as_secs())));
            }
            sleep(LOOK_EVERY);
        }
    }
}

/// Whether there is such a process here, where the system says so.
fn is_visible(holder: &Holder) -> bool {
    Path::new("/proc").join(holder.pid.to_string()).exists()
}

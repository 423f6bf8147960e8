//! What CometBFT talks to: the home's application, or what restores the home before that.

use crate::{
    application::App,
    snapshots::{Restoring, Step},
};
use hearth_abci::{Application, Exception, request, response};
use hearth_metrics::{Level, Log, LogEntry};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// Routes requests of CometBFT to the state sync or to the application, whichever is active.
pub(crate) struct Router {
    phase: Mutex<Phase>,
    changed: Condvar,
    log: Log,
}

enum Phase {
    /// The home has no blocks: its state may come from a peer.
    Restoring(Box<Restoring>),
    /// The home is being opened; requests wait.
    Opening,
    /// The home is open.
    Open(Arc<App>),
    /// The node closes.
    Closed,
}

impl Router {
    /// Begins with restoring the home where that is to be done, else waits for it to be open.
    pub fn new(restoring: Option<Restoring>, log: Log) -> Self {
        let phase = restoring.map_or(Phase::Opening, |restoring| Phase::Restoring(Box::new(restoring)));
        Self { phase: Mutex::new(phase), changed: Condvar::new(), log }
    }

    /// Waits until the home is restored, or is not going to be.
    pub fn wait_restored(&self) {
        let mut phase = self.phase.lock();
        while matches!(*phase, Phase::Restoring(_)) {
            self.changed.wait(&mut phase);
        }
    }

    /// The home is open.
    pub fn install(&self, app: Arc<App>) {
        self.set(Phase::Open(app));
    }

    /// Lets the home go; requests that wait or come are refused.
    pub fn close(&self) {
        self.set(Phase::Closed);
    }

    fn set(&self, phase: Phase) {
        *self.phase.lock() = phase;
        self.changed.notify_all();
    }

    /// The application, or the answer where there is none yet.
    fn turn(&self, request: &request::Value) -> Result<Result<response::Value, Arc<App>>, Exception> {
        let mut phase = self.phase.lock();
        loop {
            match &mut *phase {
                Phase::Open(app) => return Ok(Err(app.clone())),
                Phase::Closed => return Err(Exception("the node closes".to_owned())),
                Phase::Opening => self.changed.wait(&mut phase),
                Phase::Restoring(restoring) => match restoring.step(request)? {
                    Step::Answer(answer) => return Ok(Ok(answer)),
                    Step::Restored(answer) => {
                        *phase = Phase::Opening;
                        self.changed.notify_all();
                        return Ok(Ok(answer));
                    }
                    Step::NotRestored => {
                        *phase = Phase::Opening;
                        self.changed.notify_all();
                    }
                },
            }
        }
    }

    fn app(&self) -> Option<Arc<App>> {
        match &*self.phase.lock() {
            Phase::Open(app) => Some(app.clone()),
            _ => None,
        }
    }
}

impl Application for Router {
    fn answer(&self, request: request::Value) -> Result<response::Value, Exception> {
        match self.turn(&request)? {
            Ok(answer) => Ok(answer),
            Err(app) => app.answer(request),
        }
    }

    fn connected(&self) {
        self.log.add(LogEntry::new(Level::Info, "consensus", "CometBFT is connected"));
        if let Some(app) = self.app() {
            app.connected();
        }
    }

    fn failed(&self, method: &'static str, text: &str) {
        let entry = LogEntry::new(Level::Error, "consensus", "an exception stops CometBFT");
        self.log.add(entry.text("method", method).text("why", text));
        if let Some(app) = self.app() {
            app.failed(method, text);
        }
    }
}

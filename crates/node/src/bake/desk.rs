//! Where another process on this machine asks a running node to bake: `hearth bake` cannot open a home that a node has.
//!
//! The desk is the folder `data/trace_db/requests` of the home; who may write to it may ask. `NAME.json` is a request,
//! `{"from":…,"to":…}`; the node answers with `NAME.progress`, which it replaces whole until that says `finished`, and
//! takes the request away then. Taking the request away earlier stops the work. What a node that died left undone is
//! taken up by the next one.

use crate::{NodeError, OpenHome};
use hearth_bake::{BakeWorker, RangeControl, RangeProgress};
use hearth_primitives::Height;
use parking_lot::{Condvar, Mutex};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

/// Time between two looks at the folder.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Requests that are served at the same time; more wait.
const MAX_REQUESTS: usize = 16;

/// Largest request that is read, in bytes.
const MAX_REQUEST_BYTES: u64 = 1024;

/// Ends of the names.
const REQUEST: &str = "json";
const PROGRESS: &str = "progress";

/// What somebody asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RangeRequest {
    /// First height; the first block where absent.
    #[serde(default)]
    pub(crate) from: Option<Height>,
    /// Last height; the head where absent.
    #[serde(default)]
    pub(crate) to: Option<Height>,
}

/// A range that can be baked on this home: first and last height.
///
/// # Errors
/// A sentence that says which heights there are.
pub(crate) fn checked_range(home: &OpenHome, asked: &RangeRequest) -> Result<(Height, Height), String> {
    let (first, head) = (home.first_block().max(1), home.chain().head().height);
    let (from, to) = (asked.from.unwrap_or(first), asked.to.unwrap_or(head));
    let window = home.config().bake.window_blocks;
    let oldest = head.saturating_sub(window);
    if head < first {
        return Err("there is no block to bake yet".to_owned());
    }
    if from < first || to > head {
        return Err(format!("blocks {from} to {to} were asked for; this node has blocks {first} to {head}"));
    }
    if from > to {
        return Err(format!("block {from}, the first, is above block {to}, the last"));
    }
    if window > 0 && from < oldest {
        let key = "evm.trace_bake_window_blocks";
        return Err(format!("with {key} = {window} traces are kept from block {oldest} on, not from {from}"));
    }
    Ok((from, to))
}

struct State {
    closed: bool,
    /// Requests that are being served, by name.
    running: BTreeMap<String, Arc<RangeControl>>,
}

struct Shared {
    folder: PathBuf,
    home: Arc<OpenHome>,
    worker: Arc<BakeWorker>,
    state: Mutex<State>,
    bell: Condvar,
}

/// The desk of a node that runs.
pub(crate) struct Desk {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Desk {
    /// Opens the desk below a folder.
    ///
    /// # Errors
    /// [`NodeError::Store`] where the folder or the thread cannot be made.
    pub fn open(folder: &Path, home: Arc<OpenHome>, worker: Arc<BakeWorker>) -> Result<Self, NodeError> {
        let folder = folder.join("requests");
        let failed =
            |error: io::Error| NodeError::Store { message: format!("{}: {error}", folder.display()) };
        fs::create_dir_all(&folder).map_err(failed)?;
        let state = Mutex::new(State { closed: false, running: BTreeMap::new() });
        let shared = Arc::new(Shared { folder: folder.clone(), home, worker, state, bell: Condvar::new() });
        shared.sweep();
        let on_thread = shared.clone();
        let thread =
            std::thread::Builder::new().name("hearth-bake-desk".into()).spawn(move || on_thread.run());
        let thread = Mutex::new(Some(thread.map_err(failed)?));
        Ok(Self { shared, thread })
    }

    /// Closes the desk. Requests that are being served stay for the next node.
    pub fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.bell.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn run(&self) {
        loop {
            self.look();
            let mut state = self.state.lock();
            if state.closed {
                return;
            }
            self.bell.wait_for(&mut state, LOOK_EVERY);
            if state.closed {
                return;
            }
        }
    }

    /// Names of the files with an ending.
    fn names(&self, ending: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let fits = paths.filter(|path| path.extension().is_some_and(|end| end == ending));
        let mut names: Vec<String> =
            fits.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        names.sort();
        names
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }

    /// Takes away answers that nobody waits for any more.
    fn sweep(&self) {
        let asked = self.names(REQUEST);
        for name in self.names(PROGRESS) {
            if !asked.contains(&name) {
                let _ = fs::remove_file(self.path(&name, PROGRESS));
            }
        }
    }

    fn look(&self) {
        let asked = self.names(REQUEST);
        let mut state = self.state.lock();
        let running = std::mem::take(&mut state.running);
        drop(state);
        let mut going = BTreeMap::new();
        for (name, control) in running {
            if !asked.contains(&name) {
                control.cancel();
                let _ = fs::remove_file(self.path(&name, PROGRESS));
            } else if !self.tell(&name, &control.progress()) {
                going.insert(name, control);
            }
        }
        for name in asked {
            if going.len() < MAX_REQUESTS && !going.contains_key(&name) && self.path(&name, REQUEST).exists()
            {
                match self.take(&name) {
                    Ok(control) => drop(going.insert(name, control)),
                    Err(reason) => {
                        let refused =
                            RangeProgress { finished: true, stopped: Some(reason), ..Default::default() };
                        self.tell(&name, &refused);
                    }
                }
            }
        }
        self.state.lock().running = going;
    }

    /// Begins to serve a request.
    fn take(&self, name: &str) -> Result<Arc<RangeControl>, String> {
        let path = self.path(name, REQUEST);
        let length = fs::metadata(&path).map_err(|error| error.to_string())?.len();
        if length > MAX_REQUEST_BYTES {
            return Err(format!("the request has {length} bytes, more than {MAX_REQUEST_BYTES}"));
        }
        let text = fs::read(&path).map_err(|error| error.to_string())?;
        let asked: RangeRequest = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let (from, to) = checked_range(&self.home, &asked)?;
        let control = self.worker.bake_range(from, to);
        let control = control.ok_or_else(|| "too many ranges are being baked already".to_owned())?;
        self.tell(name, &control.progress());
        Ok(control)
    }

    /// Writes how far a request is; whether it is done, and was taken away.
    fn tell(&self, name: &str, progress: &RangeProgress) -> bool {
        if self.state.lock().closed {
            return false;
        }
        let new = self.path(name, "new");
        let text = serde_json::to_vec(progress).unwrap_or_default();
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, self.path(name, PROGRESS)));
        // Where it cannot be written (the disk is full) it is tried again at the next look.
        let done = written.is_ok() && progress.finished;
        if done {
            let _ = fs::remove_file(self.path(name, REQUEST));
        }
        done
    }
}

//! The files of the inbox.

use crate::jobs::JobProgress;
use alloy_primitives::B256;
use hearth_primitives::Height;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Largest request or answer that is read, in bytes: an import may name many files.
pub(super) const MAX_FILE_BYTES: u64 = 16 << 20;

/// Ends of the names.
pub(super) const REQUEST: &str = "json";
pub(super) const ANSWER: &str = "progress";
/// What is being written.
const DRAFT: &str = "new";

/// Which process reads the folder: its number.
pub(super) const READER: &str = "node";

/// Folder of the requests of a home.
pub(super) fn folder(home: &Path) -> PathBuf {
    home.join("data").join("requests")
}

/// A request of another process to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", deny_unknown_fields)]
pub enum InboxCommand {
    /// Make the traces of a range of blocks.
    Bake {
        /// First height; the first block where absent.
        #[serde(default)]
        from: Option<Height>,
        /// Last height; the head where absent.
        #[serde(default)]
        to: Option<Height>,
    },
    /// Execute and verify block files.
    Import {
        /// Block files in order, as absolute paths: the node reads them itself.
        files: Vec<PathBuf>,
        /// Head to choose in place of what fork choice says.
        #[serde(default)]
        head: Option<B256>,
    },
    /// Take a snapshot of the head.
    Snapshot,
}

/// A request as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The requesting process.
    pub pid: u32,
    /// What for.
    #[serde(rename = "ask")]
    pub command: InboxCommand,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outcome {
    /// It was done; the report of the work.
    Done(Value),
    /// It was not.
    Failed {
        /// Machine name of the kind of error.
        kind: String,
        /// What went wrong.
        message: String,
    },
}

/// An answer as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Counts up while the node lives.
    pub beat: u64,
    /// How far the work is.
    pub progress: JobProgress,
    /// Set once nothing more will happen.
    pub outcome: Option<Outcome>,
}

/// Writes a file of the folder so that readers see all of it or nothing. Nothing is synced: a
/// request has no meaning after a power cut.
pub(super) fn write(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.{DRAFT}", std::process::id()));
    let _ = fs::remove_file(&draft);
    let text = serde_json::to_vec(content)?;
    let written = OpenOptions::new().write(true).create_new(true).open(&draft).and_then(|mut file| {
        file.write_all(&text)?;
        fs::rename(&draft, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Reads a file of the folder: only a regular file of at most [`MAX_FILE_BYTES`], never through a
/// link.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(refused("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(refused("it is too large"));
    }
    Ok(serde_json::from_slice(&bytes)?)
}

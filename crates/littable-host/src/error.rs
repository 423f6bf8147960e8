//! Errors as scripts see them: a code, a sentence, and what the error is about.

use hearth_disk::LockError;
use hearth_home::NodeError;
use hearth_littable::LittError;
use serde_json::{Value, json};

/// What went wrong in a store of a script.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ScriptError {
    /// The store or a table.
    #[error(transparent)]
    Litt(#[from] LittError),
    /// The thread pool.
    #[error(transparent)]
    Pool(#[from] NodeError),
    /// Options that do not read.
    #[error("the options: {0}")]
    Options(String),
    /// The store, the table or the iterator was closed.
    #[error("the {0} is closed")]
    Closed(&'static str),
}

/// An error in the form that crosses.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptFault {
    /// A stable machine name.
    pub code: &'static str,
    /// What it is about, by name; whole numbers of 64 bits are decimal text.
    pub data: Value,
}

impl ScriptError {
    /// Code and data.
    pub fn fault(&self) -> ScriptFault {
        let (code, data) = match self {
            Self::Litt(error) => of_littable(error),
            Self::Pool(NodeError::Busy { queue, .. }) => ("BUSY", json!({ "queue": queue })),
            Self::Pool(NodeError::Closed) | Self::Closed(_) => ("CLOSED", json!({})),
            Self::Pool(_) => ("INTERNAL", json!({})),
            Self::Options(_) => ("BAD_OPTIONS", json!({})),
        };
        ScriptFault { code, data }
    }

    /// `{"code":…,"message":…,"data":{…}}`.
    pub fn to_json(&self) -> Vec<u8> {
        let ScriptFault { code, data } = self.fault();
        json!({ "code": code, "message": self.to_string(), "data": data }).to_string().into_bytes()
    }
}

fn of_littable(error: &LittError) -> (&'static str, Value) {
    match error {
        LittError::Io { path, source } => ("IO", json!({ "path": path, "errno": source.raw_os_error() })),
        LittError::Corrupt { path, offset, .. } => {
            ("CORRUPT", json!({ "path": path, "offset": offset.to_string() }))
        }
        LittError::Conflict { table, key } => {
            let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            ("CONFLICT", json!({ "table": &**table, "key": key }))
        }
        LittError::Pruned { table, floor } => {
            ("PRUNED", json!({ "table": &**table, "floor": floor.to_string() }))
        }
        LittError::ReadOnly { table, .. } => ("READ_ONLY", json!({ "table": &**table })),
        LittError::TooLarge { table, size, limit, .. } => {
            ("TOO_LARGE", json!({ "table": &**table, "size": size.to_string(), "limit": limit.to_string() }))
        }
        LittError::BadRange { table, len, .. } => {
            ("BAD_RANGE", json!({ "table": &**table, "length": len.to_string() }))
        }
        LittError::NoSuchPosition { table, position } => {
            ("NO_SUCH_POSITION", json!({ "table": &**table, "position": position.to_string() }))
        }
        LittError::Sharded { table, shards } => ("SHARDED", json!({ "table": &**table, "shards": shards })),
        LittError::LeaseExpired { table, seconds } => {
            ("LEASE_EXPIRED", json!({ "table": &**table, "seconds": seconds.to_string() }))
        }
        LittError::NewerFormat { path, found, known } => {
            ("NEWER_FORMAT", json!({ "path": path, "found": found, "known": known }))
        }
        LittError::BadName(name) => ("BAD_NAME", json!({ "table": name })),
        LittError::BadSetting { setting, .. } => ("BAD_SETTING", json!({ "setting": setting })),
        LittError::RootMissing { path, .. } => ("ROOT_MISSING", json!({ "path": path })),
        LittError::ForeignRoot { path, .. } => ("FOREIGN_ROOT", json!({ "path": path })),
        LittError::NetworkFs { path, kind } => ("NETWORK_FS", json!({ "path": path, "kind": kind })),
        LittError::Locked(error) => ("LOCKED", of_lock(error)),
        LittError::NoSuchTable(table) => ("NO_SUCH_TABLE", json!({ "table": table })),
        LittError::AlreadyOpen(table) => ("ALREADY_OPEN", json!({ "table": table })),
    }
}

fn of_lock(error: &LockError) -> Value {
    match error {
        LockError::Held { path, holder } => {
            json!({ "path": path, "pid": holder.as_ref().map(|h| h.pid), "host": holder.as_ref().map(|h| &h.host) })
        }
        LockError::Io { path, .. } => json!({ "path": path }),
    }
}

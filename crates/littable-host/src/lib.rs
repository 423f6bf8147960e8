//! Littable for scripts: a store used alone, without a home and without a node. Typed work on a
//! thread pool of its own; what crosses to the scripts is made above.

mod batch;
mod error;
mod iter;
mod options;
mod store;
mod table;

pub use hearth_littable::Direction;

pub use error::{ScriptError, ScriptFault};
pub use iter::ScriptIter;
pub use options::{ScriptStoreOptions, ScriptTableOptions};
pub use store::ScriptStore;
pub use table::{OwnedGroup, ScriptTable};

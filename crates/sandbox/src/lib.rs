//! A pool of child processes for untrusted code.
//!
//! - A child is a program that speaks over one stream socket, its file descriptor 3, in framed
//!   messages ([`Message`]). What the messages mean is the business of the holder of the lease.
//! - It is started with an empty environment, nothing but that descriptor, a low priority and
//!   tight limits, and it dies with this process, however that ends ([`Program`]). It has
//!   namespaces of its own and no rights; once it is loaded it gives up files, sockets and most
//!   system calls ([`confine()`]). Layers that the system refused are reported ([`Layers`]).
//! - A [`Pool`] has a fixed number of them. A request for a child waits in a bounded queue in which
//!   clients take turns, and within a client its scripts. A [`Lease`] that is not returned clean
//!   is killed and replaced.
//! - One thread, the keeper, starts and reaps the children, watches their memory and refuses
//!   requests that waited too long.
//!
//! Must not be in here: what the children run, tracing, JSON.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod channel;
mod child;
mod confine;
#[cfg(not(test))]
mod early;
mod error;
mod filter;
mod history;
mod keeper;
mod layers;
mod lease;
#[cfg(test)]
mod model;
mod pool;
mod queue;
#[cfg(not(test))]
mod spawn;
mod sync;

#[cfg(test)]
use model::process as spawn;

pub use channel::{CONFINED, HEADER_BYTES, Message};
pub use child::Program;
pub use confine::{ADDRESS_SPACE_BYTES, confine};
pub use error::{Ended, Refused};
pub use layers::Layers;
pub use lease::{Lease, Verdict};
pub use pool::{LeaseRequest, Options, Pool};

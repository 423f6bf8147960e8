//! The pool with real processes: this test program is its own child.

#![allow(clippy::unwrap_used)]

mod attempts;
mod child;
mod confinement;
mod forbidden;
mod pool;
mod rounds;
mod waiting;

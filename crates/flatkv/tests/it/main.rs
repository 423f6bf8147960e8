//! The store against a model: history, unwind, crashes, concurrency, refusals.

mod concurrent;
mod crash;
mod history;
mod kill;
mod model;
mod refusals;

//! Tables as callers see them.

#![allow(clippy::unwrap_used)]

mod basics;
mod durability;
mod iterators;
mod metrics;
mod model;
mod readers;
mod reads;
mod rebase;
mod retention;
mod support;

//! The chain on real homes: other people's blocks, block files, damage, reorganisations.

#![allow(clippy::unwrap_used)]

mod blockchain;
mod cases;
mod damage;
mod files;
mod follow;
mod formats;
mod homes;
mod ledger_repair;
mod ready;
mod reorg;
mod support;
mod transfer;

//! The chain on real homes: other people's blocks, block files, damage, reorganisations.

mod blockchain;
mod support;

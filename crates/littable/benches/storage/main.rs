//! The store beside a plain file, RocksDB and BlobDB, in pairs within one run.
//!
//! `cargo bench -p hearth-littable` runs all of it; `-- --quick` a share for a look at whether it
//! works, `-- NAME…` those rows whose name contains one of the names. It works in the folder
//! `HEARTH_BENCH_DIR`, or in cargo's, which should lie on a real disk; every row removes what it
//! wrote. A line that begins with `bench: ` is a row for other programs.

#![allow(missing_docs)]

// Benches of other crates use more of it.
#[allow(dead_code)]
mod harness;
mod keeping;
mod noise;
mod reading;
mod rivals;
mod writing;

use harness::{Bench, Fallible};

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Fallible<()> {
    let bench = Bench::from_args()?;
    writing::run(&bench)?;
    reading::run(&bench)?;
    keeping::run(&bench)?;
    bench.close()
}

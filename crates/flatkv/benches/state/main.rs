//! The store beside bare RocksDB with the same families and options, in pairs; and against itself.
//!
//! `cargo bench -p hearth-flatkv --features bench [-- [--quick] [PART OF A ROW'S NAME]…]`

mod chain;
mod commits;
#[path = "../../../littable/benches/storage/harness.rs"]
#[allow(dead_code)]
mod harness;
mod history;
mod paced;
mod reads;
mod reopen;
mod roots;

use commits::Stores;
use harness::{Bench, Fallible};
use hearth_flatkv::{CommitmentKind, FlatKv, Fsync, NoTables, Options};
use std::{path::Path, sync::Arc};

/// Options of both sides.
fn options(dir: &Path, kind: CommitmentKind, fsync: Fsync) -> Options {
    Options::new(dir.join("state"), dir.join("wal"), kind, fsync)
}

fn open(dir: &Path, kind: CommitmentKind) -> Fallible<Arc<FlatKv>> {
    Ok(FlatKv::open(options(dir, kind, Fsync::None), Arc::new(NoTables))?)
}

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Fallible<()> {
    let bench = Bench::from_args()?;
    println!(
        "both sides: memory budget {} MiB, {} open files, LZ4, Bloom filters of 10 bits, RocksDB's own log off",
        hearth_flatkv::DEFAULT_MEMORY_BUDGET_BYTES >> 20,
        hearth_flatkv::DEFAULT_MAX_OPEN_FILES
    );
    let mut stores = Stores::new(&bench);
    commits::rows(&bench, &mut stores)?;
    reads::rows(&bench, &mut stores)?;
    roots::rows(&bench, &mut stores)?;
    drop(stores);
    paced::rows(&bench)?;
    reopen::rows(&bench)?;
    history::rows(&bench)?;
    bench.close()
}

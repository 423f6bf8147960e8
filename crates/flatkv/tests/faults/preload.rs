//! The preloaded library: compiled once, put under a child, and what it noted.

use std::{
    collections::hash_map::DefaultHasher,
    env, fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

const SOURCES: [&str; 3] = [
    include_str!("../preload/lib.rs"),
    include_str!("../preload/calls.rs"),
    include_str!("../preload/place.rs"),
];

/// What the library does to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Count,
    Kill,
    Full,
    Io,
    Short,
    Journal,
}

/// Which calls are hit.
#[derive(Clone, Debug)]
pub struct Fault {
    pub mode: Mode,
    /// First call that is hit, from 1.
    pub at: u64,
    /// How many are; 0: all from there.
    pub times: u64,
    /// A kill before the call, inside what it writes, or behind it.
    pub how: u64,
    /// Only calls on paths with this in them.
    pub only: &'static str,
    /// Whether calls count from the start, and not from the first step on.
    pub from_start: bool,
}

impl Fault {
    pub fn new(mode: Mode) -> Self {
        Self { mode, at: u64::MAX, times: 1, how: 0, only: "", from_start: false }
    }
}

/// What the library noted about the call that was hit first.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// Calls that were counted.
    pub calls: u64,
    pub call: String,
    pub thread: String,
    pub path: String,
}

impl Note {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines();
        let mut line = || lines.next().unwrap_or_default().trim().to_owned();
        Self { calls: line().parse().unwrap_or(0), call: line(), thread: line(), path: line() }
    }

    pub fn was_hit(&self) -> bool {
        !self.call.is_empty()
    }
}

/// The compiled library. One with these sources that is there already is taken.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        SOURCES.hash(&mut hasher);
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = dir.join(format!("libhearth_faults-{:016x}.so", hasher.finish()));
        if !library.exists() {
            let part = library.with_extension(format!("{}", std::process::id()));
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/lib.rs");
            let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            let mut command = Command::new(rustc);
            command.args(["--edition", "2024", "-O", "-C", "panic=abort", "--crate-type", "cdylib"]);
            let out = command
                .args(["--crate-name", "hearth_faults", "-o"])
                .arg(&part)
                .arg(source)
                .output()
                .unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            fs::rename(&part, &library).unwrap();
        }
        library
    })
}

/// Puts the library under a command that works below `root`; notes and journal go into `aside`.
pub fn put_under(command: &mut Command, fault: &Fault, root: &Path, aside: &Path) {
    let mode = format!("{:?}", fault.mode).to_lowercase();
    command.env("LD_PRELOAD", library()).env("HEARTH_FAULT_ROOT", root).env("HEARTH_FAULT_MODE", mode);
    command.env("HEARTH_FAULT_NOTE", note(aside)).env("HEARTH_FAULT_ONLY", fault.only);
    if fault.mode == Mode::Journal {
        command.env("HEARTH_FAULT_JOURNAL", journal(aside));
    }
    let armed = u64::from(fault.from_start);
    for (name, number) in [("AT", fault.at), ("TIMES", fault.times), ("HOW", fault.how), ("ARMED", armed)] {
        command.env(format!("HEARTH_FAULT_{name}"), number.to_string());
    }
}

/// Where the note is.
pub fn note(aside: &Path) -> PathBuf {
    aside.join("note")
}

/// Where the journal is.
pub fn journal(aside: &Path) -> PathBuf {
    aside.join("journal")
}

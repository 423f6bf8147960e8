//! The process that works on a home: its own side, and what the parent sees of it.

use crate::{
    home::Home,
    judge::Found,
    preload::{Fault, Note, note, put_under},
    story::Story,
};
use alloy_primitives::B256;
use hearth_flatkv::failpoints::{Failpoint, InjectedBug, at_failpoints, inject_bug};
use std::{
    env,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

const WORK: &str = "HEARTH_FAULT_WORK";
/// After this a child counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// SIGKILL.
const KILLED: i32 = 9;

/// What a child is to do.
#[derive(Clone, Debug)]
pub struct Work {
    pub home: PathBuf,
    pub seed: u64,
    /// Steps that the home has already.
    pub done: u64,
    /// Steps to do.
    pub steps: u64,
    pub bug: Option<InjectedBug>,
}

/// The bugs by number, from 1.
pub const BUGS: [InjectedBug; 3] =
    [InjectedBug::WalBeforeTables, InjectedBug::ChecksumIgnored, InjectedBug::FlushBeforeSync];

impl Work {
    fn to_text(&self) -> String {
        let bug = self.bug.and_then(|bug| BUGS.iter().position(|of| *of == bug)).map_or(0, |at| at + 1);
        format!("{} {} {} {bug} {}", self.seed, self.done, self.steps, self.home.display())
    }

    fn from_text(text: &str) -> Self {
        let mut parts = text.splitn(5, ' ');
        let mut part = || parts.next().unwrap();
        let (seed, done) = (part().parse().unwrap(), part().parse().unwrap());
        let (steps, bug) = (part().parse().unwrap(), part().parse::<usize>().unwrap());
        let bug = bug.checked_sub(1).map(|at| BUGS[at]);
        Self { home: part().into(), seed, done, steps, bug }
    }
}

/// Says something; the library under the process listens too.
fn say(what: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "~{what}").and_then(|()| out.flush()).unwrap();
}

static MARKS: OnceLock<[(&str, File); 4]> = OnceLock::new();

/// A call on a file, so that the process can be stopped where the store makes none.
pub fn mark(what: &str) {
    let marks = MARKS.get().into_iter().flatten();
    // It is never read; a fault in it must not stop what is tested.
    marks.filter(|(name, _)| *name == what).for_each(|(_, file)| drop(file.write_at(b"here", 0)));
}

fn mark_point(point: Failpoint) {
    mark(match point {
        Failpoint::Batch => "batch",
        Failpoint::Later => "later",
        Failpoint::Prune => "prune",
    });
}

#[test]
#[ignore = "run by the tests of the suite"]
fn works() {
    let Ok(text) = env::var(WORK) else { return };
    let work = Work::from_text(&text);
    inject_bug(work.bug);
    let mut story = Story::after(work.seed, work.done);
    say("open");
    let file = |name| Some((name, File::create(work.home.join(format!("mark-{name}"))).ok()?));
    let [Some(apply), Some(batch), Some(later), Some(prune)] = ["apply", "batch", "later", "prune"].map(file)
    else {
        // A fault hit a file of the suite, before the store was opened.
        say("refused the marks of the suite");
        std::process::exit(0);
    };
    MARKS.set([apply, batch, later, prune]).unwrap();
    at_failpoints(mark_point);
    let mut home = match Home::open(&story, &work.home) {
        Ok(home) => home,
        Err(error) => {
            say(&format!("refused {error}"));
            std::process::exit(0);
        }
    };
    say(&format!("opened {}", home.kv().head().map_or(B256::ZERO, |head| head.hash)));
    for _ in 0..work.steps {
        let n = story.steps;
        let next = story.next();
        say(&format!("begin {n} {}", next.name()));
        let step = story.go();
        match home.step(&story, step) {
            Ok(()) => {
                let head = home.kv().head().unwrap();
                say(&format!("done {n} {}", head.commitment));
            }
            Err(error) => {
                say(&format!("error {n} {}", error.to_string().replace('\n', " ")));
                still_serves(&home, &story, &work);
                break;
            }
        }
    }
    say("end");
    // Without a close, as a process ends that is killed while nothing is under way.
    std::process::exit(0);
}

/// What the store answers where the rows of an acknowledged head are in its WAL alone: a batch
/// that RocksDB did not take after the record was synced. Opening replays the record.
const NEEDS_OPENING: &str = "start the node again";

/// After a failure reads continue at the current head, or are refused where its rows were not
/// written. An answer is never wrong.
fn still_serves(home: &Home, story: &Story, work: &Work) {
    let Some(kv) = &home.kv else { return };
    let Some(head) = kv.head() else { return };
    let old = Story::after(work.seed, story.steps - 1);
    let chain = [&story.chain, &old.chain]
        .into_iter()
        .find(|chain| chain.last().is_some_and(|top| (top.height, top.hash) == (head.height, head.hash)));
    let Some(chain) = chain else {
        return say(&format!("wrong head {}", head.height));
    };
    match crate::judge::read(kv, chain, 4) {
        Ok(()) => {}
        Err(Found::Error(error)) if error.contains(NEEDS_OPENING) => say("needs-opening"),
        Err(Found::Error(error)) => say(&format!("wrong a read failed: {error}")),
        Err(Found::Wrong(what)) => say(&format!("wrong {what}")),
    }
}

/// What a child said.
#[derive(Debug, Default)]
pub struct Said {
    /// Hash of the head that it opened.
    pub opened: Option<B256>,
    pub refused: Option<String>,
    /// The step that it began last, and what kind it is.
    pub begun: Option<(u64, String)>,
    /// Steps that are done: one more than the number of the last.
    pub done: Option<u64>,
    /// Commitment of the head after each step.
    pub commitments: Vec<(u64, B256)>,
    /// The step that failed, and why.
    pub error: Option<(u64, String)>,
    pub wrong: Vec<String>,
    /// Whether reads were refused until the store is opened again.
    pub needs_opening: bool,
    pub ended: bool,
}

impl Said {
    /// Takes in one message.
    pub fn hear(&mut self, line: &str) {
        let mut parts = line.splitn(3, ' ');
        let kind = parts.next().unwrap_or_default();
        let rest = || line.split_once(' ').map_or("", |(_, rest)| rest).to_owned();
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        match kind {
            "opened" => self.opened = rest().parse().ok(),
            "refused" => self.refused = Some(rest()),
            "wrong" => self.wrong.push(rest()),
            "end" => self.ended = true,
            "needs-opening" => self.needs_opening = true,
            "begin" => {
                let n = number().unwrap();
                self.begun = Some((n, parts.next().unwrap_or_default().to_owned()));
            }
            "done" => {
                let n = number().unwrap();
                self.done = Some(n + 1);
                if let Some(commitment) = parts.next().and_then(|part| part.parse().ok()) {
                    self.commitments.push((n + 1, commitment));
                }
            }
            "error" => {
                let n = number().unwrap();
                self.error = Some((n, parts.next().unwrap_or_default().to_owned()));
            }
            _ => {}
        }
    }

    /// The commitment that was acknowledged after so many steps.
    pub fn commitment(&self, steps: u64) -> Option<B256> {
        self.commitments.iter().find(|(after, _)| *after == steps).map(|(_, commitment)| *commitment)
    }
}

/// How a child ended.
pub struct End {
    pub said: Said,
    pub note: Note,
    pub status: ExitStatus,
    pub stuck: bool,
    /// What it wrote on standard error.
    pub words: String,
}

impl End {
    /// Whether the library killed it.
    pub fn was_killed(&self) -> bool {
        !self.stuck && self.note.was_hit() && self.status.signal() == Some(KILLED)
    }

    /// Whether it ended in a way that no test expects.
    pub fn broke(&self) -> Option<String> {
        if self.stuck {
            return Some(format!("stuck in {:?}", self.said.begun));
        }
        let fine =
            self.was_killed() || (self.status.success() && (self.said.ended || self.said.refused.is_some()));
        (!fine).then(|| format!("ended by itself, {}: {}", self.status, self.words))
    }
}

/// Runs a child to its end under a fault; its notes go into `aside`.
pub fn run(work: &Work, fault: &Fault, aside: &Path) -> End {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child::works", "--nocapture", "--ignored", "--test-threads=1"]);
    command.env(WORK, work.to_text());
    put_under(&mut command, fault, &work.home, aside);
    let _ = std::fs::remove_file(note(aside));
    let errors = File::create(aside.join("errors")).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut said = Said::default();
        for line in lines.split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some((_, message)) = line.split_once('~') {
                said.hear(message);
            }
        }
        said
    });
    let began = Instant::now();
    let mut stuck = false;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if began.elapsed() > PATIENCE && !stuck => {
                stuck = true;
                child.kill().unwrap();
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let said = reader.join().unwrap();
    let words = std::fs::read_to_string(aside.join("errors")).unwrap_or_default();
    End { said, note: Note::read(&note(aside)), status, stuck, words }
}

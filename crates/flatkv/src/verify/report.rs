//! Progress and report of a verification.

use crate::{CommitmentKind, FlatKvError, Head};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv_storage::{db::Family, error::corrupt};
use hearth_primitives::{Height, StateError};
use std::{fmt, path::PathBuf};

/// Progress between two steps; `false` stops the work.
pub type ProgressFn<'a> = &'a mut dyn FnMut(VerifyProgress) -> bool;

/// A key of so many bytes.
pub(super) fn fixed<const N: usize>(key: &[u8]) -> Result<&[u8; N], StateError> {
    key.try_into().map_err(|_| corrupt("state"))
}

/// Findings that are kept; all are counted.
const MAX_FINDINGS: usize = 1_000;
/// Steps between two calls of who watches.
const WATCH_EVERY: u64 = 1_024;

/// How far a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyProgress {
    /// What is being looked at: `code`, `accounts`, `storage`, `legacy`, `blocks`, `commitment`,
    /// `trie`, `log`.
    pub phase: &'static str,
    /// Rows of it that are done.
    pub done: u64,
    /// About how many there are.
    pub total: u64,
}

/// Rows that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accounts.
    pub accounts: u64,
    /// Storage slots.
    pub slots: u64,
    /// Pieces of code.
    pub codes: u64,
    /// Rows of the data DB `legacy`.
    pub legacy: u64,
    /// Rows of history.
    pub history: u64,
    /// Blocks whose changes are kept.
    pub blocks: u64,
    /// Trie nodes below the root.
    pub trie_nodes: u64,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// RocksDB cannot read something; the rest of the phase was left out.
    Unreadable {
        /// The phase of the verification.
        phase: &'static str,
        /// What was said.
        error: String,
    },
    /// A row that does not decode.
    Undecodable {
        /// Its family.
        family: &'static str,
        /// Its key.
        key: Bytes,
    },
    /// Code that is not that of its hash.
    WrongCode {
        /// The hash it lies under.
        hash: B256,
        /// Its own hash.
        got: B256,
    },
    /// An account whose code is not there.
    MissingCode {
        /// The account.
        address: Address,
        /// Hash of the code.
        hash: B256,
    },
    /// A slot of an account that is not there.
    SlotWithoutAccount {
        /// The account.
        address: Address,
        /// The slot.
        slot: U256,
    },
    /// A latest row whose newest history row says something else.
    History {
        /// Family of the latest row.
        family: &'static str,
        /// Key of the latest row.
        key: Bytes,
        /// Height of the latest row; none where there is no row.
        latest: Option<Height>,
        /// Height of the newest history row; none where there is no row.
        history: Option<Height>,
    },
    /// A row that claims to be newer than the head.
    FutureStamp {
        /// Family of the row.
        family: &'static str,
        /// Its key.
        key: Bytes,
        /// Its height.
        stamp: Height,
    },
    /// The changes of a retained block are not there.
    MissingBlock {
        /// Its height.
        height: Height,
    },
    /// The head's row and the block at its height say different things.
    OtherHead {
        /// The head's row.
        head: Head,
        /// What the block's row says.
        block: Head,
    },
    /// The latest rows have another commitment than the head.
    Commitment {
        /// The head's.
        recorded: B256,
        /// That of the rows.
        computed: B256,
    },
    /// A trie node that is missing or damaged.
    TrieNode {
        /// Hash of the account's address; none in the accounts' trie.
        owner: Option<B256>,
        /// Nibbles from the root, one a byte.
        path: Bytes,
        /// Hash that it should have.
        hash: B256,
    },
    /// A segment of the log in which a record is not whole and sound. What RocksDB holds does not
    /// depend on it, but bringing a snapshot forward may.
    Log {
        /// Name of the segment's file.
        file: PathBuf,
        /// Where the first such record should stand, in bytes.
        offset: u64,
    },
    /// Trie nodes that do not hang below the root.
    StrayTrieNodes {
        /// How many.
        number: u64,
    },
}

impl Finding {
    /// Its name, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::Undecodable { .. } => "undecodable",
            Self::WrongCode { .. } => "wrong_code",
            Self::MissingCode { .. } => "missing_code",
            Self::SlotWithoutAccount { .. } => "slot_without_account",
            Self::History { .. } => "history",
            Self::FutureStamp { .. } => "future_stamp",
            Self::MissingBlock { .. } => "missing_block",
            Self::OtherHead { .. } => "other_head",
            Self::Commitment { .. } => "commitment",
            Self::TrieNode { .. } => "trie_node",
            Self::Log { .. } => "log",
            Self::StrayTrieNodes { .. } => "stray_trie_nodes",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let height = |height: &Option<Height>| height.map_or("none".to_owned(), |height| height.to_string());
        match self {
            Self::Unreadable { phase, error } => write!(f, "{phase}: {error}"),
            Self::Undecodable { family, key } => write!(f, "{family} row {key} does not decode"),
            Self::WrongCode { hash, got } => write!(f, "the code under {hash} has hash {got}"),
            Self::MissingCode { address, hash } => write!(f, "the code {hash} of {address} is missing"),
            Self::SlotWithoutAccount { address, slot } => {
                write!(f, "slot {slot:#x} of {address}, which does not exist")
            }
            Self::History { family, key, latest, history } => write!(
                f,
                "{family} row {key}: the latest row is of height {}, the newest in history of height {}, or their \
                 values differ",
                height(latest),
                height(history)
            ),
            Self::FutureStamp { family, key, stamp } => {
                write!(f, "{family} row {key} is of height {stamp}, above the head")
            }
            Self::MissingBlock { height } => write!(f, "the changes of block {height} are missing"),
            Self::OtherHead { head, block } => {
                write!(
                    f,
                    "the head {} is recorded as {}, its block as {}",
                    head.height, head.hash, block.hash
                )
            }
            Self::Commitment { recorded, computed } => {
                write!(f, "commitment: recorded {recorded}, computed {computed}")
            }
            Self::TrieNode { owner, path, hash } => match owner {
                Some(owner) => {
                    write!(f, "storage trie of {owner}: node {hash} at {path} is missing or damaged")
                }
                None => write!(f, "account trie: node {hash} at {path} is missing or damaged"),
            },
            Self::Log { file, offset } => {
                write!(f, "log: no sound record at offset {offset} of {}", file.display())
            }
            Self::StrayTrieNodes { number } => write!(f, "{number} trie nodes do not hang below the root"),
        }
    }
}

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    /// The head that was verified.
    pub head: Head,
    /// Oldest height with state.
    pub oldest: Height,
    /// What the commitment is. Under [`CommitmentKind::None`] nothing commits to the state, so none
    /// is computed.
    pub kind: CommitmentKind,
    /// Rows that were looked at.
    pub counts: Counts,
    /// What is wrong: the first thousand.
    pub findings: Vec<Finding>,
    /// How many there are in all.
    pub found: u64,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.found == 0
    }
}

/// Collects findings and reports progress.
pub(crate) struct Reporter<'a> {
    pub(crate) report: VerifyReport,
    progress: VerifyProgress,
    watch: ProgressFn<'a>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(head: Head, oldest: Height, kind: CommitmentKind, watch: ProgressFn<'a>) -> Self {
        let report =
            VerifyReport { head, oldest, kind, counts: Counts::default(), findings: Vec::new(), found: 0 };
        Self { report, progress: VerifyProgress { phase: "", done: 0, total: 0 }, watch }
    }

    /// Runs a phase. What cannot be read is a finding; the next phase continues.
    pub(crate) fn phase(
        &mut self,
        phase: &'static str,
        run: impl FnOnce(&mut Self) -> Result<(), FlatKvError>,
    ) -> Result<(), FlatKvError> {
        self.progress = VerifyProgress { phase, done: 0, total: 0 };
        match run(self) {
            Err(FlatKvError::State(error)) => {
                self.find(Finding::Unreadable { phase, error: error.to_string() });
                Ok(())
            }
            done => done,
        }
    }

    /// Says about how many steps the phase has.
    pub(crate) fn total(&mut self, total: u64) {
        self.progress.total = total;
    }

    /// One row is done.
    pub(crate) fn step(&mut self) -> Result<(), FlatKvError> {
        let done = self.progress.done;
        self.progress.done += 1;
        if done.is_multiple_of(WATCH_EVERY) && !(self.watch)(self.progress) {
            return Err(FlatKvError::Cancelled);
        }
        Ok(())
    }

    pub(crate) fn find(&mut self, finding: Finding) {
        self.report.found += 1;
        if self.report.findings.len() < MAX_FINDINGS {
            self.report.findings.push(finding);
        }
    }

    pub(crate) fn undecodable(&mut self, family: Family, key: &[u8]) {
        let key = Bytes::copy_from_slice(key);
        self.find(Finding::Undecodable { family: family.name(), key });
    }
}

//! Imports a recorded block: a home that begins with the state before one block of a chain and
//! contains that block.
//!
//! The block is executed and checked in memory first; only a block that passes makes or changes a
//! home.

use super::case_text;
use crate::home::{
    ChainFile, Commitment, DESCRIPTION_FORMAT, HomePaths, RulesFrom, parse_genesis, write_whole,
};
use crate::{Chain, ChainError, ChainOptions};
use alloy_consensus::EMPTY_OMMER_ROOT_HASH;
use alloy_primitives::{B256, Bytes, U256};
use hearth_evm::{
    AllocState, BlockEnvironment, BlockError, BlockExecutor, ChainSpec, Field, Fork, RecordedCase,
    check_output, check_without_receipts_root, recover_senders, validate_roots,
};
use hearth_flatkv::{Commit, IndexWrite, WitnessTrie};
use hearth_ledger::index::number_key;
use hearth_primitives::{
    AccountChange, Block, BlockOutput, Changeset, Height, RootTracker, SlotChange, StateError,
};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// What importing a recorded block did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// Number of the block.
    pub number: Height,
    /// Its hash.
    pub hash: B256,
    /// Number of its transactions.
    pub transactions: usize,
    /// Gas that they used.
    pub gas_used: u64,
    /// Checks that the recording has not enough for, each with the reason.
    pub skipped: Vec<&'static str>,
    /// Whether the home held the block before.
    pub known: bool,
    /// Time of recovering the senders and executing the block, without reading the file and writing
    /// the home.
    pub execution: Duration,
}

const NO_PARENT: &str = "header fields against the parent: there is no parent header";
const NO_OMMERS: &str = "ommers hash and the ommers' rewards: there are no ommer headers";
const NO_OMMERS_ROOT: &str = "state root: the ommers' rewards are not known";
const NO_TRIE: &str = "state root of the parent and of the block: there are no trie nodes";
const NO_PARENT_ROOT: &str = "state root of the parent and of the block: the parent's is not recorded";
const NO_RECEIPT_ROOTS: &str = "receipts root: before Byzantium it needs all trie nodes";
const NO_SIBLING: &str = "state root: a removal folds the trie around a node that is not recorded";
const NO_REQUESTS: &str = "requests hash: the system contracts' code is not in the pre-state";

impl Chain {
    /// Makes a home whose first state is the one before a recorded block and whose only block is
    /// that one. `genesis` is the text of a geth-format genesis file with the chain's rules;
    /// without it, mainnet's. Repeating the import is harmless.
    ///
    /// # Errors
    /// [`ChainError::BadCase`], [`ChainError::Refused`] with the field that differs,
    /// [`ChainError::ParentStateRoot`], [`ChainError::OtherChain`] if the home contains something
    /// else. Nothing is written then.
    pub fn import_case(
        home: &Path,
        case: &Path,
        genesis: Option<&str>,
        options: &ChainOptions,
    ) -> Result<(Self, CaseReport), ChainError> {
        let paths = HomePaths::new(home);
        let (spec, rules) = match genesis {
            Some(text) => (parse_genesis(&paths.genesis(), text)?.0, RulesFrom::Genesis),
            None => (ChainSpec::mainnet(), RulesFrom::Mainnet),
        };
        let recorded = read(case)?;
        let number = recorded.header.number;
        let bad = |why: &str| ChainError::BadCase { file: case.to_owned(), why: why.to_owned() };
        let base =
            number.checked_sub(1).ok_or_else(|| bad("block.number: the genesis cannot be executed"))?;
        let checked = Checked::new(&spec, &recorded)?;
        let file = ChainFile {
            format: DESCRIPTION_FORMAT,
            rules,
            chain_id: spec.chain_id(),
            commitment: Commitment::None,
            base,
            base_hash: recorded.header.parent_hash,
        };
        if let Some(there) = ChainFile::read(&paths)?
            && there != file
        {
            let (there, given) = (describe(&there), describe(&file));
            return Err(ChainError::OtherChain { home: home.to_owned(), what: "first state", there, given });
        }
        if let Some(text) = genesis {
            write_whole(&paths.genesis(), text.as_bytes())?;
        }
        file.write(&paths, options.fsync)?;
        let chain = Self::assemble(paths, spec, file, options)?;
        let known = chain.store_case(&recorded, &checked)?;
        let report = CaseReport {
            number,
            hash: recorded.hash,
            transactions: recorded.transactions.len(),
            gas_used: checked.output.gas_used,
            skipped: checked.skipped,
            known,
            execution: checked.execution,
        };
        Ok((chain, report))
    }

    /// Writes the missing parts of the state before the block and of the block. Returns whether
    /// both existed.
    fn store_case(&self, case: &RecordedCase, checked: &Checked) -> Result<bool, ChainError> {
        let _one_at_a_time = self.working.lock();
        let (base, parent) = (self.base(), case.header.parent_hash);
        if self.kv.head().is_none() {
            self.kv.init(Commit {
                height: base,
                hash: parent,
                parent: B256::ZERO,
                changes: &checked.pre_state,
                trie: None,
                state_root: None,
                index: hash_rows(case),
                positions: self.ledger.positions(),
            })?;
        }
        let head = self.head();
        if head.hash == case.hash {
            return Ok(true);
        }
        if head.hash != parent {
            let (there, given) = (head.hash.to_string(), case.hash.to_string());
            return Err(ChainError::OtherChain {
                home: self.paths.home.clone(),
                what: "block",
                there,
                given,
            });
        }
        // The total difficulty up to the block is not recorded; the block's own difficulty is a
        // lower bound.
        let (block, output) = (&checked.block, &checked.output);
        let total_difficulty = case.header.difficulty;
        self.commit_with(block, case.hash, total_difficulty, output, None, &case.ommer_hashes)?;
        Ok(false)
    }
}

/// Recorded hashes of ancestors as canonical rows, the parent's among them.
fn hash_rows(case: &RecordedCase) -> Vec<IndexWrite> {
    let mut hashes = case.block_hashes.clone();
    hashes.retain(|number, _| *number < case.header.number);
    hashes.entry(case.header.number - 1).or_insert(case.header.parent_hash);
    let row =
        |(number, hash): (Height, B256)| IndexWrite { key: number_key(number), value: Some(hash.to_vec()) };
    hashes.into_iter().map(row).collect()
}

fn describe(file: &ChainFile) -> String {
    format!("that of height {} of chain {} ({})", file.base, file.chain_id, file.base_hash)
}

fn read(path: &Path) -> Result<RecordedCase, ChainError> {
    let bad = |why: String| ChainError::BadCase { file: path.to_owned(), why };
    let text = case_text(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => bad(error.to_string()),
        _ => ChainError::io(path)(error),
    })?;
    RecordedCase::parse_json(&text).map_err(|error| bad(error.to_string()))
}

/// A recorded block that passed every check that it has enough for.
struct Checked {
    block: Block,
    pre_state: Changeset,
    output: BlockOutput,
    skipped: Vec<&'static str>,
    execution: Duration,
}

impl Checked {
    fn new(spec: &ChainSpec, case: &RecordedCase) -> Result<Self, ChainError> {
        let (number, hash) = (case.header.number, case.hash);
        let refused = |source| ChainError::Refused { number, hash, source };
        let mut skipped = vec![NO_PARENT];
        let block = case.block();
        check_body(spec, case, &block, &mut skipped).map_err(refused)?;
        let env = BlockEnvironment::from_header(spec, &case.header);
        let fork = env.fork;
        let parent = Parent::new(case, &mut skipped);
        let pre_state = existing(case, parent.as_ref(), fork);
        let trie = parent.map(|parent| parent.check(case, &pre_state)).transpose()?;
        let started = Instant::now();
        let senders = recover_senders(spec, &env, &case.transactions).map_err(refused)?;
        let state = AllocState::from_changes(pre_state.clone());
        let run = |roots: Option<&mut dyn RootTracker>| {
            let executor = BlockExecutor::new(spec, env.clone(), &state, case).on_partial_state().capturing();
            executor.run(&block, &senders, roots)
        };
        let (output, root) = with_roots(trie, run, &mut skipped).map_err(refused)?;
        let execution = started.elapsed();
        let mut header = case.header.clone();
        if fork >= Fork::Prague && output.requests.is_none() {
            header.requests_hash = None;
            skipped.push(NO_REQUESTS);
        }
        if fork >= Fork::Byzantium || root.is_some() {
            check_output(spec, &header, &output).map_err(refused)?;
        } else {
            check_without_receipts_root(spec, &header, &output).map_err(refused)?;
            skipped.push(NO_RECEIPT_ROOTS);
        }
        match root {
            None => {}
            Some(_) if !case.ommer_hashes.is_empty() => skipped.push(NO_OMMERS_ROOT),
            Some(root) if root == header.state_root => {}
            Some(root) => {
                let (expected, got) = (root.to_string(), header.state_root.to_string());
                return Err(refused(BlockError::Mismatch { field: Field::StateRoot, expected, got }));
            }
        }
        Ok(Self { block, pre_state, output, skipped, execution })
    }
}

/// Executes with the parent's trie, if there is one, and returns the state root after the block.
/// Proofs of the parent's state may lack a node that the block's removals need; then the block is
/// executed without the trie.
fn with_roots(
    trie: Option<WitnessTrie>,
    run: impl Fn(Option<&mut dyn RootTracker>) -> Result<BlockOutput, BlockError>,
    skipped: &mut Vec<&'static str>,
) -> Result<(BlockOutput, Option<B256>), BlockError> {
    let Some(mut trie) = trie else { return Ok((run(None)?, None)) };
    let traced = run(Some(&mut trie)).and_then(|output| Ok((output, Some(trie.root()?))));
    match traced {
        Err(BlockError::State(StateError::MissingNode { .. })) => {
            skipped.push(NO_SIBLING);
            Ok((run(None)?, None))
        }
        other => other,
    }
}

/// The accounts of a recorded pre-state that exist before its block, which runs under these rules.
/// A recording may list accounts without nonce, balance and code that were only read; its trie
/// nodes, if it has any, show which of them exist.
pub fn recorded_pre_state(case: &RecordedCase, fork: Fork) -> Changeset {
    existing(case, Parent::new(case, &mut Vec::new()).as_ref(), fork)
}

fn existing(case: &RecordedCase, parent: Option<&Parent<'_>>, fork: Fork) -> Changeset {
    let mut pre_state = case.pre_changes();
    pre_state.accounts.retain(|change| {
        let empty = change.new.is_none_or(|new| new.is_empty()) && change.storage.is_empty();
        !empty
            || match parent {
                // Under EIP-161 an empty account does not exist, but one may remain from before
                // until a transaction touches it.
                _ if fork >= Fork::SpuriousDragon => parent.is_some_and(|parent| parent.holds(change)),
                // Before EIP-161 an empty account may exist like any other.
                Some(parent) => !parent.lacks(change),
                None => true,
            }
    });
    pre_state
}

/// Checks the roots of the body. Ommers are known by their hashes alone.
fn check_body(
    spec: &ChainSpec,
    case: &RecordedCase,
    block: &Block,
    skipped: &mut Vec<&'static str>,
) -> Result<(), BlockError> {
    let mut known = block.clone();
    if !case.ommer_hashes.is_empty() {
        known.header.ommers_hash = EMPTY_OMMER_ROOT_HASH;
        skipped.push(NO_OMMERS);
    }
    validate_roots(spec, &known)
}

/// The parent's state trie, as far as its nodes are recorded.
struct Parent<'a> {
    root: B256,
    nodes: &'a [Bytes],
}

impl<'a> Parent<'a> {
    fn new(case: &'a RecordedCase, skipped: &mut Vec<&'static str>) -> Option<Self> {
        let Some(nodes) = &case.trie_nodes else {
            skipped.push(NO_TRIE);
            return None;
        };
        let Some(root) = case.parent_state_root else {
            skipped.push(NO_PARENT_ROOT);
            return None;
        };
        Some(Self { root, nodes })
    }

    fn trie(&self) -> WitnessTrie {
        WitnessTrie::new(self.root, self.nodes.iter().cloned())
    }

    /// Whether the trie's nodes prove that it has exactly this account.
    fn holds(&self, change: &AccountChange) -> bool {
        self.stays_with(change.clone())
    }

    /// Whether the trie's nodes prove that it does not have this account.
    fn lacks(&self, change: &AccountChange) -> bool {
        self.stays_with(AccountChange { new: None, ..change.clone() })
    }

    /// Whether writing or deleting this account leaves the root unchanged: it does only if the trie
    /// contains, or lacks, the account already. If a node on its path is not recorded, nothing is
    /// proven.
    fn stays_with(&self, change: AccountChange) -> bool {
        let mut trie = self.trie();
        let written = Changeset { accounts: vec![change], codes: Vec::new() };
        trie.apply(&written).and_then(|()| trie.root()).is_ok_and(|root| root == self.root)
    }

    /// The trie, if it matches the pre-state: accounts with all their slots, including those
    /// without a value.
    fn check(self, case: &RecordedCase, pre_state: &Changeset) -> Result<WitnessTrie, ChainError> {
        let mut written = pre_state.clone();
        for change in &mut written.accounts {
            let given = case.pre_state.get(&change.address).map(|account| &account.storage);
            let slot = |(slot, new): (&U256, &U256)| SlotChange { slot: *slot, old: *new, new: *new };
            change.storage = given.into_iter().flatten().map(slot).collect();
        }
        let mut trie = self.trie();
        trie.apply(&written)?;
        let (expected, got) = (self.root, trie.root()?);
        match got == expected {
            true => Ok(trie),
            false => Err(ChainError::ParentStateRoot { expected, got }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, KECCAK256_EMPTY, b256, keccak256};
    use hearth_primitives::Account;

    const EMPTY_STORAGE: B256 = b256!("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

    /// The RLP of a list of short items.
    fn list(items: &[Vec<u8>]) -> Vec<u8> {
        let payload = items.concat();
        let mut out = Vec::new();
        alloy_rlp::Header { list: true, payload_length: payload.len() }.encode(&mut out);
        out.extend(payload);
        out
    }

    fn item(bytes: &[u8]) -> Vec<u8> {
        alloy_rlp::encode(bytes)
    }

    /// A trie of two accounts whose hashed addresses begin with different nibbles: the root and
    /// their leaves.
    fn nodes(accounts: [(Address, u64); 2]) -> Vec<Bytes> {
        let mut children = vec![item(&[]); 17];
        let mut all = Vec::new();
        for (address, balance) in accounts {
            let key = keccak256(address);
            let words = [item(EMPTY_STORAGE.as_slice()), item(KECCAK256_EMPTY.as_slice())];
            let [storage, code] = words;
            let account = list(&[alloy_rlp::encode(0u64), alloy_rlp::encode(balance), storage, code]);
            // The path of a leaf: a nibble that marks an odd length, and the other 63 nibbles.
            let mut path = key.to_vec();
            path[0] = 0x30 | (path[0] & 0x0f);
            let leaf = list(&[item(&path), item(&account)]);
            children[usize::from(key[0] >> 4)] = item(keccak256(&leaf).as_slice());
            all.push(Bytes::from(leaf));
        }
        all.push(list(&children).into());
        all
    }

    fn change(address: Address, balance: u64) -> AccountChange {
        let account = Account { nonce: 0, balance: U256::from(balance), code_hash: KECCAK256_EMPTY };
        AccountChange { address, old: None, new: Some(account), wiped: false, storage: Vec::new() }
    }

    #[test]
    fn trie_nodes_prove_which_empty_accounts_exist() {
        let by_nibble = |nibble: u8| {
            let mut all = (0..=255u8).map(Address::with_last_byte);
            all.find(|address| keccak256(address)[0] >> 4 == nibble).expect("one of 256")
        };
        let [rich, empty, absent] = [1, 2, 3].map(by_nibble);
        let all = nodes([(rich, 7), (empty, 0)]);
        let root = keccak256(&all[2]);
        let parent = Parent { root, nodes: &all };
        let proven = |address, balance| {
            let change = change(address, balance);
            (parent.holds(&change), parent.lacks(&change))
        };
        assert_eq!(proven(rich, 7), (true, false));
        assert_eq!(proven(rich, 8), (false, false), "it has another balance");
        assert_eq!(proven(empty, 0), (true, false));
        assert_eq!(proven(absent, 0), (false, true));
        // Without the leaf on its way nothing is proven of an account.
        let parent = Parent { root, nodes: &all[2..] };
        let unknown = change(empty, 0);
        assert_eq!((parent.holds(&unknown), parent.lacks(&unknown)), (false, false));
        assert!(parent.lacks(&change(absent, 0)));
    }
}

//! A home's chain: rules, state and ledger, opened and created together.

use crate::ChainError;
use crate::branch::Finality;
use crate::edits::EditedState;
use crate::follow::Marks;
use crate::format;
use crate::home::{
    ChainFile, Commitment, DESCRIPTION_FORMAT, HomePaths, RulesFrom, parse_genesis, write_lasting,
};
use crate::next_chain_id::NextChainId;
use crate::operate::{described, state_options};
use crate::watch::Watchers;
use crate::working::WorkingLock;
use alloy_primitives::B256;
use hearth_evm::{ChainSpec, Genesis};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, Fsync, Head, LatticeRoots, StateSettings, WitnessTrie};
use hearth_ledger::{Ledger, LedgerOptions, StoredBlock};
use hearth_metrics::Registry;
use hearth_primitives::{Block, Header, Height, RemoteState, RootTracker};
use parking_lot::RwLock;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Hash of the block that a genesis (text of a geth-format file) makes.
///
/// # Errors
/// [`ChainError::Genesis`].
pub fn genesis_hash(genesis: &str) -> Result<B256, ChainError> {
    let (spec, genesis) = parse_genesis(Path::new("app_state"), genesis)?;
    Ok(build_genesis(&spec, &genesis)?.1)
}

/// How to open a home.
#[derive(Clone, Debug)]
pub struct ChainOptions {
    /// When WAL and tables are synced; [`Fsync::Never`] for a home that goes with its process.
    pub fsync: Fsync,
    /// How the state store is kept.
    pub state: StateSettings,
    /// The origin of a home that began as a fork. All of its history is kept: it records which
    /// values are no longer the origin's.
    pub origin: Option<Arc<dyn RemoteState>>,
    /// How the ledger's tables are kept.
    pub ledger: LedgerOptions,
    /// Where the metrics of the stores go.
    pub metrics: Registry,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            fsync: Fsync::Block,
            state: StateSettings::default(),
            origin: None,
            ledger: LedgerOptions::default(),
            metrics: Registry::new(),
        }
    }
}

/// A home's chain.
///
/// The state store's head is the *working head*: the block on whose state the next block is
/// executed. Fork choice determines the *chosen head*. They only differ during an import that works
/// on a competing branch; then a file has the chosen head's hash, and opening such a home moves
/// back to it.
///
/// All methods may be called from any thread; those that change the chain run one at a time.
pub struct Chain {
    pub(crate) paths: HomePaths,
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) next_chain_id: Arc<NextChainId>,
    pub(crate) kv: Arc<FlatKv>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) file: ChainFile,
    pub(crate) working: WorkingLock,
    pub(crate) watchers: Watchers,
    pub(crate) edited: EditedState,
    pub(crate) finality: RwLock<Finality>,
    pub(crate) marks: Marks,
}

impl Chain {
    /// Opens the home of an existing chain.
    ///
    /// # Errors
    /// [`ChainError::NotInitialised`] if the home has no chain, [`ChainError::NewerFormat`],
    /// [`ChainError::BadHome`], [`ChainError::Genesis`], and errors of the stores (locked, damaged,
    /// …).
    pub fn open(home: &Path, options: &ChainOptions) -> Result<Self, ChainError> {
        let (paths, file) = described(home)?;
        let spec = rules(&paths, &file)?;
        let chain = Self::assemble(paths, spec, file, options)?;
        if chain.kv.head().is_none() {
            return Err(ChainError::NotInitialised { home: home.to_owned() });
        }
        chain.recover()?;
        chain.open_edits()?;
        chain.resume_chain_id()?;
        Ok(chain)
    }

    /// Opens a home for reading: as [`Chain::open`] if no process has it open, as [`Chain::beside`]
    /// otherwise. The second value is the height of the snapshot that is read then.
    ///
    /// # Errors
    /// Those of [`Chain::open`]; [`hearth_flatkv::FlatKvError::NoSnapshot`] if a node has it open
    /// and took no snapshot so far.
    pub fn open_reading(home: &Path, options: &ChainOptions) -> Result<(Self, Option<Height>), ChainError> {
        match Self::open(home, options) {
            Err(error) if error.home_in_use().is_some() => {
                let chain = Self::beside(home, options, None)?;
                let height = chain.head().height;
                Ok((chain, Some(height)))
            }
            opened => opened.map(|chain| (chain, None)),
        }
    }

    /// Opens a home for reading that a node may have open: the newest snapshot that has `height`,
    /// or the newest of all, with the current ledger. Its head never moves, and every change is
    /// refused.
    ///
    /// # Errors
    /// Those of [`Chain::open`]; [`hearth_flatkv::FlatKvError::NoSnapshot`].
    pub fn beside(home: &Path, options: &ChainOptions, height: Option<Height>) -> Result<Self, ChainError> {
        let (paths, file) = described(home)?;
        let spec = Arc::new(rules(&paths, &file)?);
        let kv = FlatKv::open_snapshot(state_options(&paths, &file, options), height)?;
        let tables = Ledger::open_read_only(&paths.ledger(), &options.ledger)?;
        let ledger = Arc::new(Ledger::new(tables, kv.clone()));
        // A reader must not merge the index, which it may not write.
        ledger.close();
        let (working, watchers, edited, marks) = Default::default();
        let finality = RwLock::new(Finality::read(&paths));
        let next_chain_id = Arc::new(NextChainId::new(spec.clone()));
        Ok(Self { paths, spec, next_chain_id, kv, ledger, file, working, watchers, edited, finality, marks })
    }

    /// Opens the home of the chain with this genesis (the text of a geth-format file), making it if
    /// it is new.
    ///
    /// # Errors
    /// [`ChainError::Genesis`], [`ChainError::OtherChain`] if the home contains another chain;
    /// those of [`Chain::open`].
    pub fn create(home: &Path, genesis: &str, options: &ChainOptions) -> Result<Self, ChainError> {
        let paths = HomePaths::new(home);
        let (spec, genesis_block) = parse_genesis(&paths.genesis(), genesis)?;
        let (block, base_hash) = build_genesis(&spec, &genesis_block)?;
        if let Some(file) = ChainFile::read(&paths)? {
            let (there, given) = (file.base_hash.to_string(), base_hash.to_string());
            if there != given {
                return Err(ChainError::OtherChain { home: paths.home, what: "genesis hash", there, given });
            }
            if !paths.genesis().exists() {
                write_lasting(&paths.genesis(), genesis.as_bytes(), options.fsync)?;
            }
            match Self::open(home, options) {
                // The process died while the home was made; it is made again below.
                Err(ChainError::NotInitialised { .. }) => {}
                Ok(chain) if *chain.spec != spec => {
                    let (there, given) = (format!("{:?}", chain.spec), format!("{spec:?}"));
                    return Err(ChainError::OtherChain {
                        home: paths.home,
                        what: "fork rules",
                        there,
                        given,
                    });
                }
                opened => return opened,
            }
        }
        let chain_id = spec.chain_id();
        let (format, rules, commitment) = (DESCRIPTION_FORMAT, RulesFrom::Genesis, Commitment::of(&spec));
        let file = ChainFile { format, rules, chain_id, commitment, base: 0, base_hash };
        let describe = |paths: &HomePaths, file: &ChainFile| {
            write_lasting(&paths.genesis(), genesis.as_bytes(), options.fsync)?;
            file.write(paths, options.fsync)
        };
        let has_data = paths.has_data();
        if !has_data {
            describe(&paths, &file)?;
        }
        let chain = Self::assemble(paths, spec, file, options)?;
        if has_data {
            // The description was lost. It is written again where the data is that of this genesis.
            if chain.kv.head().is_some() {
                return chain.adopt(base_hash, describe);
            }
            describe(&chain.paths, &chain.file)?;
        }
        chain.init_genesis(&genesis_block, &block, base_hash)?;
        Ok(chain)
    }

    /// The chain of a home that has data but no description: `describe` writes one if the data has
    /// this genesis.
    fn adopt(
        self,
        base_hash: B256,
        describe: impl FnOnce(&HomePaths, &ChainFile) -> Result<(), ChainError>,
    ) -> Result<Self, ChainError> {
        let there = self.ledger.canonical_hash(0)?;
        if there != Some(base_hash) {
            self.close()?;
            return Err(ChainError::OtherChain {
                home: self.paths.home.clone(),
                what: "genesis hash",
                there: there.map_or_else(|| "unknown".to_owned(), |hash| hash.to_string()),
                given: base_hash.to_string(),
            });
        }
        describe(&self.paths, &self.file)?;
        self.recover()?;
        self.open_edits()?;
        self.resume_chain_id()?;
        Ok(self)
    }

    pub(crate) fn assemble(
        paths: HomePaths,
        spec: ChainSpec,
        file: ChainFile,
        options: &ChainOptions,
    ) -> Result<Self, ChainError> {
        if file.rules == RulesFrom::Fork && options.origin.is_none() {
            return Err(ChainError::ForkWithoutOrigin { home: paths.home });
        }
        format::check(&paths)?;
        let transient = options.fsync == Fsync::Never;
        let kept = LedgerOptions { transient, ..options.ledger.clone() };
        let tables = Ledger::open(&paths.ledger(), &kept, &options.metrics)?;
        let kv = FlatKv::open(state_options(&paths, &file, options), tables.clone())?;
        format::note(&paths, options.fsync)?;
        let ledger = Arc::new(Ledger::new(tables, kv.clone()));
        let (working, watchers, edited, marks) = Default::default();
        let finality = RwLock::new(Finality::read(&paths));
        let spec = Arc::new(spec);
        let next_chain_id = Arc::new(NextChainId::new(spec.clone()));
        Ok(Self { paths, spec, next_chain_id, kv, ledger, file, working, watchers, edited, finality, marks })
    }

    pub(crate) fn init_genesis(
        &self,
        genesis: &Genesis,
        block: &Block,
        hash: B256,
    ) -> Result<(), ChainError> {
        self.ledger.append(block, hash, block.header.difficulty, &[], &[])?;
        self.kv.init(Commit {
            height: 0,
            hash,
            parent: block.header.parent_hash,
            changes: &genesis.changes(),
            trie: None,
            state_root: Some(block.header.state_root),
            index: self.ledger.index_rows(block, hash, &[], None),
            positions: self.ledger.positions(),
        })?;
        Ok(())
    }

    /// The home's files.
    pub fn paths(&self) -> &HomePaths {
        &self.paths
    }

    /// The chain's rules.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// The chain id of the blocks to come.
    pub fn next_chain_id(&self) -> &Arc<NextChainId> {
        &self.next_chain_id
    }

    /// The state store.
    pub fn kv(&self) -> &Arc<FlatKv> {
        &self.kv
    }

    /// The ledger.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Height of the first state: 0, or N-1 in the home of a recorded block N (which has no block
    /// at that height).
    pub fn base(&self) -> Height {
        self.file.base
    }

    /// Hash of the block at [`Chain::base`].
    pub fn base_hash(&self) -> B256 {
        self.file.base_hash
    }

    /// Hash of the genesis block: that of [`Chain::base`], or that of the genesis file where the
    /// home began with a later block.
    ///
    /// # Errors
    /// [`ChainError::GenesisMissing`], [`ChainError::Genesis`].
    pub fn genesis_hash(&self) -> Result<B256, ChainError> {
        if self.file.base == 0 {
            return Ok(self.file.base_hash);
        }
        Ok(self.genesis()?.0)
    }

    /// Hash and time of the genesis block of the rules, whether the home has that block or not. The
    /// time is 0 for a built-in network, none of whose forks is before its genesis.
    ///
    /// # Errors
    /// As [`Self::genesis_hash`].
    pub fn genesis(&self) -> Result<(B256, u64), ChainError> {
        if let Some(network) = self.file.rules.network() {
            return Ok((network.genesis_hash(), 0));
        }
        let (spec, genesis) = read_genesis(&self.paths)?;
        let (block, hash) = build_genesis(&spec, &genesis)?;
        Ok((hash, block.header.timestamp))
    }

    /// The working head. An open chain always has one.
    pub fn head(&self) -> Head {
        self.kv.head().unwrap_or(Head {
            height: self.file.base,
            hash: self.file.base_hash,
            commitment: B256::ZERO,
        })
    }

    /// The block at the head; `None` where the head is the pre-state of a recorded block.
    ///
    /// # Errors
    /// The ledger's.
    pub fn head_block(&self) -> Result<Option<Arc<StoredBlock>>, ChainError> {
        Ok(self.ledger.block(&self.head().hash)?)
    }

    /// Continues with the chain id of the head, which may have been changed before the home was
    /// closed.
    fn resume_chain_id(&self) -> Result<(), ChainError> {
        // The block at the base of a fork is another chain's.
        if self.spec.chain_id_moves()
            && self.head().height > self.file.base
            && let Some(head) = self.head_block()?
        {
            self.next_chain_id.set(self.spec.chain_id_of(&head.block.header));
        }
        Ok(())
    }

    /// Takes a snapshot of the head where the newest one is of another block; whether it did.
    ///
    /// # Errors
    /// The state store's.
    pub fn snapshot_if_moved(&self) -> Result<bool, ChainError> {
        let newest = self.kv.snapshots().pop().map(|snapshot| snapshot.hash);
        if newest == Some(self.head().hash) {
            return Ok(false);
        }
        self.kv.snapshot()?;
        Ok(true)
    }

    /// Syncs and flushes the stores.
    ///
    /// # Errors
    /// The stores'.
    pub fn flush(&self) -> Result<(), ChainError> {
        // A flush records the ends of the tables, in which no block may be half-appended.
        let _no_change_meanwhile = self.working.lock();
        Ok(self.kv.flush()?)
    }

    /// Flushes and closes the stores. Idempotent.
    ///
    /// # Errors
    /// The stores'.
    pub fn close(&self) -> Result<(), ChainError> {
        let _no_change_meanwhile = self.working.lock();
        self.ledger.close();
        Ok(self.kv.close()?)
    }
}

/// The rules of a home's chain.
fn rules(paths: &HomePaths, file: &ChainFile) -> Result<ChainSpec, ChainError> {
    let spec = match file.rules.network() {
        Some(network) => network.spec(),
        None => read_genesis(paths)?.0,
    };
    if spec.chain_id() != file.chain_id {
        let (there, given) = (file.chain_id.to_string(), spec.chain_id().to_string());
        return Err(ChainError::OtherChain { home: paths.home.clone(), what: "chain id", there, given });
    }
    let given = Commitment::of(&spec);
    let has_own = !matches!(file.commitment, Commitment::None | Commitment::Elsewhere);
    if has_own && file.commitment != given {
        let [there, given] = [file.commitment, given].map(|kind| CommitmentKind::from(kind).to_string());
        return Err(ChainError::OtherChain { home: paths.home.clone(), what: "commitment", there, given });
    }
    Ok(spec)
}

fn read_genesis(paths: &HomePaths) -> Result<(ChainSpec, Genesis), ChainError> {
    let path: PathBuf = paths.genesis();
    let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            ChainError::GenesisMissing { path: path.clone(), home: paths.home.clone() }
        }
        _ => ChainError::io(&path)(error),
    })?;
    parse_genesis(&path, &text)
}

/// The genesis block with its state root, and its hash.
pub(crate) fn build_genesis(spec: &ChainSpec, genesis: &Genesis) -> Result<(Block, B256), ChainError> {
    let mut roots: Box<dyn RootTracker> = match spec.is_lthash() {
        true => Box::new(LatticeRoots::default()),
        false => Box::new(WitnessTrie::new(alloy_consensus::constants::EMPTY_ROOT_HASH, std::iter::empty())),
    };
    roots.apply(&genesis.changes())?;
    let header = genesis.header(roots.root()?);
    let hash = header.hash_slow();
    Ok((bare_block(header), hash))
}

/// A block without transactions and with this header.
pub(crate) fn bare_block(header: Header) -> Block {
    let mut block = Block::default();
    block.body.withdrawals = header.withdrawals_root.map(|_| Default::default());
    block.header = header;
    block
}

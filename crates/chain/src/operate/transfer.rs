//! A home's state of one height as a stream, with everything that a new home needs to continue from
//! there: the chain's description, the genesis file, the block with its receipts, and the hashes of
//! 256 blocks before.

use super::{Reading, described, state_options};
use crate::format;
use crate::home::{ChainFile, HomePaths, RulesFrom, parse_genesis, write_whole};
use crate::{ChainError, ChainOptions, Network};
use alloy_primitives::{Address, B256, U256};
use hearth_evm::{BlockEnvironment, ChainSpec, UNSIGNED_S, check_receipts, recover_sender, validate_roots};
use hearth_flatkv::{
    Attachment, CommitmentKind, Exported, FlatKv, FlatKvError, Head, ImportSource, Imported, IndexWrite,
    WatchTransfer,
};
use hearth_ledger::index::number_key;
use hearth_ledger::{Ledger, LedgerError, StoredBlock, StoredReceipts, StoredRows};
use hearth_primitives::{Block, Height, Transaction};
use std::io::{Read, Write};
use std::path::Path;

const CHAIN: &str = "chain.json";
const GENESIS: &str = "genesis.json";
const BLOCK: &str = "block";
const RECEIPTS: &str = "receipts";
/// The native sidecar of the block; absent if it has none.
const NATIVES: &str = "natives";
const ANCESTORS: &str = "ancestors";
/// The number of block hashes in the stream: those that BLOCKHASH can read.
const ANCESTOR_HASHES: u64 = 256;
/// Bytes of a height and a hash.
const ANCESTOR_BYTES: usize = 40;

/// Writes the state of a height as a stream; of the head if no height is given. While a node is
/// running, it is read from the newest snapshot that has the height.
///
/// # Errors
/// Those of [`Reading::open`] and [`FlatKv::export`].
pub fn export_state(
    home: &Path,
    options: &ChainOptions,
    height: Option<Height>,
    out: &mut dyn Write,
    watch: WatchTransfer<'_>,
) -> Result<(Exported, Option<Height>), ChainError> {
    if super::described(home)?.1.rules == RulesFrom::Fork {
        // Without the origin, a deleted slot could not be distinguished from one that was never
        // read.
        return Err(ChainError::ForkWithoutOrigin { home: home.to_owned() });
    }
    let reading = Reading::open(home, options, height)?;
    let height = height.or(reading.kv().head().map(|head| head.height)).ok_or(FlatKvError::Empty)?;
    let attachments = reading.attachments(height)?;
    let parent = reading.ledger().canonical_hash(height.wrapping_sub(1))?.unwrap_or_default();
    let done = reading.kv().export(height, parent, &attachments, out, watch);
    let snapshot = reading.snapshot();
    reading.close()?;
    Ok((done?, snapshot))
}

impl Reading {
    fn attachments(&self, height: Height) -> Result<Vec<Attachment>, ChainError> {
        let mut all = Vec::new();
        let hash = self.ledger().canonical_hash(height)?;
        // In the form of the home that reads the stream: homes that began with different blocks
        // give equal bytes.
        if let Some(file) = ChainFile::read(&self.paths)? {
            let base_hash = hash.unwrap_or(file.base_hash);
            let file = ChainFile { base: height, base_hash, ..file };
            all.push((CHAIN.to_owned(), file.to_text().into_bytes()));
        }
        let genesis = self.paths.genesis();
        if genesis.exists() {
            all.push((GENESIS.to_owned(), std::fs::read(&genesis).map_err(ChainError::io(&genesis))?));
        }
        if let Some(rows) = hash.map(|hash| self.ledger().rows(&hash)).transpose()?.flatten() {
            all.push((BLOCK.to_owned(), rows.block));
            all.push((RECEIPTS.to_owned(), rows.receipts));
            all.extend(rows.sidecar.map(|row| (NATIVES.to_owned(), row)));
        }
        let mut ancestors = Vec::new();
        for number in height.saturating_sub(ANCESTOR_HASHES)..height {
            if let Some(hash) = self.ledger().canonical_hash(number)? {
                ancestors.extend_from_slice(&number.to_be_bytes());
                ancestors.extend_from_slice(hash.as_slice());
            }
        }
        all.push((ANCESTORS.to_owned(), ancestors));
        Ok(all)
    }
}

/// Makes a new home from a stream. Everything is checked before any of it counts.
///
/// # Errors
/// [`ChainError::HomeNotEmpty`]; [`ChainError::BadStream`]; as [`FlatKv::import`].
pub fn import_state(
    home: &Path,
    options: &ChainOptions,
    input: &mut dyn Read,
    watch: WatchTransfer<'_>,
) -> Result<Imported, ChainError> {
    let paths = HomePaths::new(home);
    if described(home).is_ok() {
        return Err(ChainError::HomeNotEmpty { home: home.to_owned() });
    }
    let source = ImportSource::open(input)?;
    let given = Attachments::read(&source)?;
    format::check(&paths)?;
    let mut rules = given.file.rules.network().map(Network::spec);
    if let Some(genesis) = &given.genesis {
        let (spec, _) = parse_genesis(&paths.genesis(), genesis)?;
        check_id(&spec, &given.file)?;
        write_whole(&paths.genesis(), genesis.as_bytes())?;
        rules = rules.or(Some(spec));
    }
    let tables = Ledger::open(&paths.ledger(), &options.ledger, &options.metrics)?;
    let kv = state_options(&paths, &given.file, options);
    let anchor = |kv: &std::sync::Arc<FlatKv>| {
        let ledger = Ledger::new(tables.clone(), kv.clone());
        let anchored = given.anchor(&ledger, rules.as_ref());
        ledger.close();
        anchored
    };
    let (kv, imported) = FlatKv::import(&kv, tables.clone(), source, anchor, watch)?;
    kv.close()?;
    format::note(&paths, options.fsync)?;
    // Without this file there is no home: it comes last.
    given.file.write(&paths, options.fsync)?;
    Ok(imported)
}

fn check_id(spec: &ChainSpec, file: &ChainFile) -> Result<(), ChainError> {
    if spec.chain_id() == file.chain_id {
        return Ok(());
    }
    let why =
        format!("its genesis is of chain {}, its description of chain {}", spec.chain_id(), file.chain_id);
    Err(ChainError::BadStream { why })
}

fn bad(why: impl ToString) -> ChainError {
    ChainError::BadStream { why: why.to_string() }
}

/// The stream is at fault where its rows do not decode.
fn row_error(error: LedgerError) -> ChainError {
    match error {
        error @ LedgerError::Undecodable { .. } => bad(error),
        other => other.into(),
    }
}

/// Whether these are the senders of a block's transactions. A development chain executes
/// transactions without a signature: in its place they name their sender. A block that CometBFT
/// decided on has none of those, whatever its transactions look like.
fn are_senders(spec: &ChainSpec, block: &Block, senders: &[Address]) -> bool {
    let env = BlockEnvironment::from_header(spec, &block.header);
    let is_signed = spec.bft_start().is_some_and(|start| block.header.number >= start);
    let is_sender = |(tx, sender): (&Transaction, &Address)| {
        let signature = tx.signature();
        let is_named = signature.s() == UNSIGNED_S && signature.r() == U256::from_be_slice(sender.as_slice());
        (is_named && !is_signed) || recover_sender(spec, &env, tx).is_ok_and(|signer| signer == *sender)
    };
    let transactions = &block.body.transactions;
    transactions.len() == senders.len() && transactions.iter().zip(senders).all(is_sender)
}

/// What a stream brings beside the state.
struct Attachments {
    file: ChainFile,
    genesis: Option<String>,
    rows: Option<StoredRows>,
    ancestors: Vec<(Height, B256)>,
    head: Head,
}

impl Attachments {
    fn read(source: &ImportSource<'_>) -> Result<Self, ChainError> {
        let head = source.head().head;
        let text = |name: &str| {
            let bytes = source.attachment(name)?;
            String::from_utf8(bytes.to_vec()).ok()
        };
        let chain = text(CHAIN).ok_or_else(|| bad("it has no description of a chain"))?;
        let file: ChainFile =
            serde_json::from_str(&chain).map_err(|error| bad(format!("its chain description: {error}")))?;
        if CommitmentKind::from(file.commitment) != source.head().kind {
            return Err(bad("its chain has another commitment than its state"));
        }
        let genesis = text(GENESIS);
        if file.rules == RulesFrom::Genesis && genesis.is_none() {
            return Err(bad("it has no genesis file"));
        }
        let rows = match (source.attachment(BLOCK), source.attachment(RECEIPTS)) {
            (Some(block), Some(receipts)) => {
                let sidecar = source.attachment(NATIVES).map(<[u8]>::to_vec);
                Some(StoredRows { block: block.to_vec(), receipts: receipts.to_vec(), sidecar })
            }
            _ => None,
        };
        let bytes = source.attachment(ANCESTORS).unwrap_or_default();
        let ancestors = bytes.chunks(ANCESTOR_BYTES).map(|pair| {
            let (number, hash) = pair.split_first_chunk::<8>()?;
            Some((u64::from_be_bytes(*number), B256::try_from(hash).ok()?))
        });
        let ancestors =
            ancestors.collect::<Option<Vec<_>>>().ok_or_else(|| bad("its ancestors do not read"))?;
        if ancestors.iter().any(|(number, _)| *number >= head.height) {
            return Err(bad("an ancestor is not below its block"));
        }
        let file = ChainFile { base: head.height, base_hash: head.hash, ..file };
        Ok(Self { file, genesis, rows, ancestors, head })
    }

    /// Compares what surrounds the state with the header of its block. A light client knows the
    /// hash of that header alone, so that whatever is not compared is the word of a peer.
    fn check(
        &self,
        spec: &ChainSpec,
        block: &StoredBlock,
        receipts: &StoredReceipts,
    ) -> Result<(), ChainError> {
        let (block, header) = (&block.block, &block.block.header);
        if header.state_root != self.head.commitment {
            return Err(bad("its block has another state root than its state"));
        }
        validate_roots(spec, block).map_err(bad)?;
        check_receipts(header, &receipts.receipts).map_err(bad)?;
        if !are_senders(spec, block, &receipts.senders) {
            return Err(bad("its senders are not those of the transactions"));
        }
        let first = self.head.height.saturating_sub(ANCESTOR_HASHES);
        let numbers = self.ancestors.iter().map(|(number, _)| *number);
        if !numbers.eq(first..self.head.height) {
            return Err(bad(format!("its ancestors are not all of the last {ANCESTOR_HASHES}")));
        }
        Ok(())
    }

    /// Writes the block to the ledger: its index rows, and the end of the tables with it. `rules`
    /// are those of the chain, where they are known.
    fn anchor(
        &self,
        ledger: &Ledger,
        rules: Option<&ChainSpec>,
    ) -> Result<(Vec<IndexWrite>, Vec<u64>), ChainError> {
        let has_roots = CommitmentKind::from(self.file.commitment) != CommitmentKind::None;
        let row =
            |number: Height, hash: &B256| IndexWrite { key: number_key(number), value: Some(hash.to_vec()) };
        let mut index: Vec<_> = self.ancestors.iter().map(|(number, hash)| row(*number, hash)).collect();
        match &self.rows {
            Some(rows) => {
                let (block, receipts) =
                    ledger.append_rows(self.head.height, self.head.hash, rows).map_err(row_error)?;
                if self.ancestors.last().is_some_and(|(_, hash)| *hash != block.block.header.parent_hash) {
                    return Err(bad("the ancestors do not lead to its block"));
                }
                if has_roots {
                    let spec = rules.ok_or_else(|| bad("it has no rules of its chain"))?;
                    self.check(spec, &block, &receipts)?;
                }
                let (number, hash) = (self.head.height, self.head.hash);
                index.extend(ledger.index_rows(&block.block, hash, &receipts.receipts, None));
                let natives = ledger.sidecar(&hash).map_err(row_error)?.natives;
                let hashes = natives.iter().map(|native| hearth_cosmos::sha256(&native.bytes));
                index.extend(ledger.native_index_rows(number, hash, hashes));
            }
            // Nothing would say whether the state is that of the head.
            None if has_roots => return Err(bad("it has no block")),
            None => index.push(row(self.head.height, &self.head.hash)),
        }
        Ok((index, ledger.positions()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{BlockBody, SignableTransaction as _, TxLegacy};
    use alloy_primitives::Signature;
    use hearth_primitives::Header;

    #[test]
    fn a_placeholder_is_no_sender_in_a_network() {
        let spec = |bft: &str| {
            let forks = r#""homesteadBlock":0,"londonBlock":0,"terminalTotalDifficulty":0"#;
            ChainSpec::from_config_json(&format!(r#"{{"chainId":7,{forks}{bft}}}"#)).unwrap()
        };
        let account = Address::repeat_byte(7);
        let placeholder = Signature::new(U256::from_be_slice(account.as_slice()), UNSIGNED_S, false);
        let transaction: Transaction = TxLegacy::default().into_signed(placeholder).into();
        let is_sender = |spec: &ChainSpec, number| {
            let header = Header { number, base_fee_per_gas: Some(7), ..Header::default() };
            let body = BlockBody { transactions: vec![transaction.clone()], ..BlockBody::default() };
            are_senders(spec, &Block { header, body }, &[account])
        };
        // Blocks of a development chain, before it became a network too.
        let network = spec(r#","bft":{"engine":"cometbft","initialHeight":5}"#);
        assert!(is_sender(&spec(""), 5) && is_sender(&network, 4));
        assert!(!is_sender(&network, 5));
    }
}

//! A development chain that forks a block of another chain: its state is fetched from there on
//! first read.

use crate::home::{
    ChainFile, Commitment, DESCRIPTION_FORMAT, HomePaths, RulesFrom, parse_genesis, write_lasting,
};
use crate::{Chain, ChainError, ChainOptions};
use alloy_primitives::{B256, KECCAK256_EMPTY};
use hearth_evm::{Genesis, alloc_changes};
use hearth_flatkv::Commit;
use hearth_primitives::{Account, Block, Changeset, Header, RemoteState, StateError};
use std::path::Path;

/// The block that a fork begins after, without its transactions: those stay with the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkBlock {
    /// Its header.
    pub header: Header,
    /// Its hash, which follows from the header.
    pub hash: B256,
}

impl Chain {
    /// Opens the home of a fork after this block, making it if it is new. `genesis` is the text of
    /// a geth-format genesis file with the rules of future blocks. Accounts of its allocation get
    /// their balance in the first state, and their code if the origin has none at their address.
    /// All other state is that of `options.origin`.
    ///
    /// # Errors
    /// [`ChainError::OtherChain`] if the home contains anything else;
    /// [`ChainError::ForkWithoutOrigin`]; those of the origin; those of [`Chain::create`].
    pub fn fork(
        home: &Path,
        genesis: &str,
        fork: &ForkBlock,
        options: &ChainOptions,
    ) -> Result<Self, ChainError> {
        let paths = HomePaths::new(home);
        let Some(origin) = options.origin.clone() else {
            return Err(ChainError::ForkWithoutOrigin { home: home.to_owned() });
        };
        let (spec, rules) = parse_genesis(&paths.genesis(), genesis)?;
        let file = ChainFile {
            format: DESCRIPTION_FORMAT,
            rules: RulesFrom::Fork,
            chain_id: spec.chain_id(),
            commitment: Commitment::None,
            base: fork.header.number,
            base_hash: fork.hash,
        };
        if let Some(there) = ChainFile::read(&paths)? {
            file.same(&there, home)?;
            match Self::open(home, options) {
                // The process died while the home was made; it is made again below.
                Err(ChainError::NotInitialised { .. }) => {}
                opened => return opened,
            }
        }
        // The origin is read first: if it does not answer, no home is made.
        let changes = first_changes(&*origin, &rules)?;
        write_lasting(&paths.genesis(), genesis.as_bytes(), options.fsync)?;
        file.write(&paths, options.fsync)?;
        let chain = Self::assemble(paths, spec, file, options)?;
        chain.init_fork(fork, &changes)?;
        Ok(chain)
    }

    fn init_fork(&self, fork: &ForkBlock, changes: &Changeset) -> Result<(), ChainError> {
        let ForkBlock { header, hash } = fork;
        let mut block = Block { header: header.clone(), ..Block::default() };
        block.body.withdrawals = header.withdrawals_root.map(|_| Default::default());
        self.ledger.append(&block, *hash, header.difficulty, &[], &[])?;
        self.kv.init(Commit {
            height: header.number,
            hash: *hash,
            parent: header.parent_hash,
            changes,
            trie: None,
            state_root: None,
            index: self.ledger.index_rows(&block, *hash, &[], None),
            positions: self.ledger.positions(),
        })?;
        Ok(())
    }
}

impl ChainFile {
    /// Refuses a home that is no fork, or one of another block.
    fn same(&self, there: &Self, home: &Path) -> Result<(), ChainError> {
        let other = |what, there: String, given: String| ChainError::OtherChain {
            home: home.to_owned(),
            what,
            there,
            given,
        };
        let origin = |file: &Self| match file.rules {
            RulesFrom::Fork => "that of a fork".to_owned(),
            _ => "its own".to_owned(),
        };
        if there.rules != self.rules {
            return Err(other("first state", origin(there), origin(self)));
        }
        if there.base != self.base || there.base_hash != self.base_hash {
            let name = |file: &Self| format!("{} ({})", file.base, file.base_hash);
            return Err(other("fork block", name(there), name(self)));
        }
        Ok(())
    }
}

/// The difference of the first state from the origin's: balances, and code at addresses at which
/// the origin has none.
fn first_changes(origin: &dyn RemoteState, rules: &Genesis) -> Result<Changeset, StateError> {
    let mut changes = alloc_changes(rules.alloc());
    for change in &mut changes.accounts {
        let Some(wanted) = change.new else { continue };
        let there = origin.account(&change.address)?;
        let here = there.unwrap_or_default();
        change.old = there;
        change.new = match (wanted.has_code(), here.has_code()) {
            (true, true) => there,
            (true, false) => {
                Some(Account { code_hash: wanted.code_hash, nonce: here.nonce.max(wanted.nonce), ..here })
            }
            // Development accounts are funded. Code at their addresses on the remote chain is
            // removed, because it would receive the ether that is sent to them.
            (false, _) => {
                Some(Account { balance: wanted.balance, code_hash: KECCAK256_EMPTY, nonce: here.nonce })
            }
        };
        change.storage.clear();
    }
    let kept: Vec<_> = changes.accounts.iter().filter_map(|change| change.new).collect();
    changes.codes.retain(|(hash, _)| kept.iter().any(|account| account.code_hash == *hash));
    changes.accounts.retain(|change| change.old != change.new);
    Ok(changes)
}

//! The genesis block: header fields by fork and the allocation.

use crate::{
    error::SpecError,
    json::{Fields, parse_address, parse_u256, parse_word},
    spec::{ChainSpec, Fork},
};
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header};
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{Address, B64, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange};
use std::collections::BTreeMap;

/// Gas limit of a genesis that names none, as go-ethereum (core/genesis.go: toBlockWithRoot).
const DEFAULT_GAS_LIMIT: u64 = 4_712_388;
/// Difficulty of a genesis that names none, as go-ethereum.
const DEFAULT_DIFFICULTY: u64 = 131_072;
/// Base fee in wei of a genesis with London that names none (EIP-1559).
const INITIAL_BASE_FEE: u64 = 1_000_000_000;

/// One account of the allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisAccount {
    /// Balance in wei.
    pub balance: U256,
    /// Number of transactions sent or contracts made.
    pub nonce: u64,
    /// Code; empty without.
    pub code: Bytes,
    /// Storage; a zero value is no slot.
    pub storage: BTreeMap<U256, U256>,
}

/// The genesis block before its state root is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    header: Header,
    alloc: BTreeMap<Address, GenesisAccount>,
}

impl Genesis {
    /// A genesis with this header (its state root is replaced by [`Self::header`]) and allocation.
    pub fn new(header: Header, alloc: BTreeMap<Address, GenesisAccount>) -> Self {
        Self { header, alloc }
    }

    pub(crate) fn from_fields(root: &Fields, spec: &ChainSpec) -> Result<Self, SpecError> {
        let difficulty = root.u256("difficulty")?;
        let number = root.u64("number")?.unwrap_or(0);
        if number != 0 {
            return Err(SpecError::invalid("number", &number.to_string(), "0: this is the genesis block"));
        }
        let mut header = Header {
            parent_hash: root.b256("parentHash")?.unwrap_or_default(),
            beneficiary: root.address("coinbase")?.unwrap_or_default(),
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            difficulty: difficulty.unwrap_or(U256::from(DEFAULT_DIFFICULTY)),
            gas_limit: root.u64("gasLimit")?.filter(|limit| *limit != 0).unwrap_or(DEFAULT_GAS_LIMIT),
            gas_used: root.u64("gasUsed")?.unwrap_or(0),
            timestamp: root.u64("timestamp")?.unwrap_or(0),
            extra_data: root.bytes("extraData")?.unwrap_or_default(),
            mix_hash: root.b256("mixHash")?.or(root.b256("mixhash")?).unwrap_or_default(),
            nonce: B64::from(root.u64("nonce")?.unwrap_or(0)),
            ..Header::default()
        };
        Self::fork_fields(&mut header, root, spec)?;
        let alloc = match root.object("alloc")? {
            Some(alloc) => parse_alloc(&alloc)?,
            None => return Err(SpecError::missing("alloc", "an object of accounts by address")),
        };
        Ok(Self { header, alloc })
    }

    /// Fields that exist from a fork on take their defaults where the file has none.
    fn fork_fields(header: &mut Header, root: &Fields, spec: &ChainSpec) -> Result<(), SpecError> {
        // go-ethereum keeps a base fee that the file gives before London too.
        let base_fee = root.u64("baseFeePerGas")?;
        header.base_fee_per_gas = base_fee.or(spec.is_london(0).then_some(INITIAL_BASE_FEE));
        // The genesis counts as merged by its time forks, whatever its difficulty.
        let fork = spec.fork_with_merge(0, header.timestamp, spec.times.shanghai.is_some());
        if fork >= Fork::Shanghai {
            header.withdrawals_root = Some(EMPTY_ROOT_HASH);
        }
        if fork >= Fork::Cancun {
            header.excess_blob_gas = Some(root.u64("excessBlobGas")?.unwrap_or(0));
            header.blob_gas_used = Some(root.u64("blobGasUsed")?.unwrap_or(0));
            header.parent_beacon_block_root = Some(B256::ZERO);
        }
        if fork >= Fork::Prague {
            header.requests_hash = Some(EMPTY_REQUESTS_HASH);
        }
        Ok(())
    }

    /// The genesis header over a state root.
    pub fn header(&self, state_root: B256) -> Header {
        Header { state_root, ..self.header.clone() }
    }

    /// The allocation.
    pub fn alloc(&self) -> &BTreeMap<Address, GenesisAccount> {
        &self.alloc
    }

    /// The allocation as a changeset against nothing.
    pub fn changes(&self) -> Changeset {
        alloc_changes(&self.alloc)
    }
}

/// An allocation as a changeset against nothing.
pub fn alloc_changes(alloc: &BTreeMap<Address, GenesisAccount>) -> Changeset {
    let mut codes = BTreeMap::new();
    let accounts = alloc.iter().map(|(address, account)| {
        let code_hash = if account.code.is_empty() { KECCAK256_EMPTY } else { keccak256(&account.code) };
        if !account.code.is_empty() {
            codes.insert(code_hash, account.code.clone());
        }
        let storage = account.storage.iter().filter(|(_, value)| !value.is_zero());
        AccountChange {
            address: *address,
            old: None,
            new: Some(Account { nonce: account.nonce, balance: account.balance, code_hash }),
            wiped: false,
            storage: storage
                .map(|(slot, value)| SlotChange { slot: *slot, old: U256::ZERO, new: *value })
                .collect(),
        }
    });
    let accounts = accounts.collect();
    Changeset { accounts, codes: codes.into_iter().collect() }
}

/// Reads an allocation: accounts by address, each with balance, nonce, code and storage.
pub(crate) fn parse_alloc(alloc: &Fields) -> Result<BTreeMap<Address, GenesisAccount>, SpecError> {
    let mut accounts = BTreeMap::new();
    for (name, text) in alloc.iter() {
        let address = parse_address(name).ok_or_else(|| {
            SpecError::invalid(&alloc.path(name), name, "a key of 40 hexadecimal digits, with or without 0x")
        })?;
        let fields =
            alloc.object(name)?.ok_or_else(|| SpecError::invalid(&alloc.path(name), text, "an object"))?;
        let mut account = GenesisAccount {
            balance: fields.u256("balance")?.unwrap_or_default(),
            nonce: fields.u64("nonce")?.unwrap_or(0),
            code: fields.bytes("code")?.unwrap_or_default(),
            storage: BTreeMap::new(),
        };
        if let Some(storage) = fields.object("storage")? {
            for (slot, _) in storage.iter() {
                let key = parse_word(slot).or_else(|| parse_u256(slot).map(B256::from)).ok_or_else(|| {
                    SpecError::invalid(&storage.path(slot), slot, "a key of at most 64 hexadecimal digits")
                })?;
                let value = storage.b256(slot)?.unwrap_or_default();
                account.storage.insert(key.into(), value.into());
            }
        }
        if accounts.insert(address, account).is_some() {
            return Err(SpecError::invalid(&alloc.path(name), name, "each address once"));
        }
    }
    Ok(accounts)
}

//! The staking contract in a genesis: its code, and the storage of the first validators.
//!
//! The slots are those of `contract/Staking.sol`; a test executes the contract on this storage.

use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use hearth_evm::GenesisAccount;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The contract's code, in hexadecimal digits.
const CODE: &str = include_str!("../contract/Staking.bin-runtime");

/// Most validators that take part.
const ACTIVE_MAX: u64 = 100;
/// Highest power of a validator, as the contract has it.
const POWER_MAX: u64 = 10u64.pow(16);
/// Wei of a unit of power.
const WEI_PER_POWER: u64 = 10u64.pow(18);

/// Slots of the contract's variables.
mod slot {
    pub const SETTINGS: u64 = 0;
    pub const TOTALS: u64 = 1;
    pub const RECORDS: u64 = 2;
    pub const OPERATOR_BY_CONSENSUS: u64 = 3;
    pub const OPERATORS: u64 = 4;
    pub const ACTIVE: u64 = 5;
    pub const STAKES: u64 = 8;
    pub const DELEGATED: u64 = 9;
    pub const DELEGATORS: u64 = 10;
}

/// Validators of a genesis.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenesisStaking {
    /// The validators, in the order in which they are listed.
    pub validators: Vec<GenesisValidator>,
    /// How long unbonding takes, in seconds.
    pub unbonding_seconds: u64,
    /// Time of the genesis, in seconds.
    #[serde(default)]
    pub time: u64,
}

/// A validator of a genesis. Its operator has delegated its power to it, an ether a unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenesisValidator {
    /// The operator's account.
    pub operator: Address,
    /// Its ed25519 key.
    pub key: B256,
    /// Its power in CometBFT's votes.
    pub power: u64,
    /// Its name.
    pub moniker: String,
}

/// Validators that a genesis cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenesisStakingError {
    /// There are none, or too many.
    #[error("a genesis has 1 to {ACTIVE_MAX} validators, and not {0}")]
    Count(usize),
    /// An operator or a key is there twice.
    #[error("two validators have the same {0}")]
    Twice(&'static str),
    /// No power, or too much.
    #[error("a validator has a power of 1 to {POWER_MAX}, and not {0}")]
    Power(u64),
    /// A name that is too long.
    #[error("a moniker has 1 to 31 bytes here: {0:?}")]
    Moniker(String),
    /// The code of the contract is not there.
    #[error("the code of the staking contract does not read")]
    Code,
}

/// CometBFT's address of a validator.
pub fn consensus_address(key: &B256) -> Address {
    let hash = Sha256::digest(key);
    Address::from_slice(&hash[..20])
}

/// An entry of a mapping.
fn entry(key: U256, slot: U256) -> U256 {
    keccak256([key.to_be_bytes::<32>(), slot.to_be_bytes::<32>()].concat()).into()
}

fn word(address: Address) -> U256 {
    address.into_word().into()
}

/// Storage in the making.
#[derive(Default)]
struct Storage(BTreeMap<U256, U256>);

impl Storage {
    fn set(&mut self, slot: U256, value: U256) {
        if !value.is_zero() {
            self.0.insert(slot, value);
        }
    }

    /// A dynamic array of addresses.
    fn array(&mut self, slot: U256, items: &[Address]) {
        self.set(slot, U256::from(items.len()));
        let first = U256::from_be_bytes(*keccak256(slot.to_be_bytes::<32>()));
        for (place, item) in items.iter().enumerate() {
            self.set(first.wrapping_add(U256::from(place)), word(*item));
        }
    }
}

/// Slot of the length of the list of validators that take part.
pub const ACTIVE_SLOT: u64 = slot::ACTIVE;

/// Slot of the operator of the validator with a consensus address.
pub fn operator_slot(consensus: Address) -> U256 {
    entry(word(consensus), U256::from(slot::OPERATOR_BY_CONSENSUS))
}

/// Slot of an operator's validator that has its power, see [`power_of`].
pub fn record_slot(operator: Address) -> U256 {
    entry(word(operator), U256::from(slot::RECORDS)).wrapping_add(U256::from(2))
}

/// The power in a slot of [`record_slot`].
pub fn power_of(word: U256) -> u64 {
    word.as_limbs()[0]
}

/// The contract's account in a genesis with these validators.
///
/// # Errors
/// [`GenesisStakingError`].
pub fn staking_account(given: &GenesisStaking) -> Result<GenesisAccount, GenesisStakingError> {
    check(given)?;
    let code = hex::decode(CODE.trim()).map_err(|_| GenesisStakingError::Code)?;
    let all = &given.validators;
    let tokens = |power: u64| U256::from(power) * U256::from(WEI_PER_POWER);
    let total: U256 = all.iter().fold(U256::ZERO, |sum, it| sum + tokens(it.power));
    // A sorted array is a heap: the one that goes first when another one comes is at its root.
    let mut active: Vec<&GenesisValidator> = all.iter().collect();
    active.sort_by(|a, b| a.power.cmp(&b.power).then(b.operator.cmp(&a.operator)));
    let active: Vec<Address> = active.iter().map(|it| it.operator).collect();

    let mut storage = Storage::default();
    let at = |slot: u64| U256::from(slot);
    storage.set(at(slot::SETTINGS), U256::from(given.unbonding_seconds) | (U256::from(ACTIVE_MAX) << 64));
    storage.set(at(slot::TOTALS), total);
    storage.array(at(slot::OPERATORS), &all.iter().map(|it| it.operator).collect::<Vec<_>>());
    storage.array(at(slot::ACTIVE), &active);
    for it in all {
        let place = active.iter().position(|operator| *operator == it.operator).unwrap_or_default() + 1;
        let record = entry(word(it.operator), at(slot::RECORDS));
        let field = |n: u64| record.wrapping_add(U256::from(n));
        storage.set(field(0), it.key.into());
        storage.set(field(1), tokens(it.power) | (tokens(it.power) << 128));
        storage.set(field(2), U256::from(it.power) | (U256::from(place) << 64) | (U256::ONE << 96));
        storage.set(field(4), U256::from(given.time));
        storage.set(field(5), short_text(&it.moniker));
        let consensus = word(consensus_address(&it.key));
        storage.set(entry(consensus, at(slot::OPERATOR_BY_CONSENSUS)), word(it.operator));
        let stake = entry(word(it.operator), entry(word(it.operator), at(slot::STAKES)));
        storage.set(stake, tokens(it.power) | (U256::ONE << 128) | (U256::ONE << 184));
        storage.array(entry(word(it.operator), at(slot::DELEGATED)), &[it.operator]);
        storage.array(entry(word(it.operator), at(slot::DELEGATORS)), &[it.operator]);
    }
    Ok(GenesisAccount { balance: total, nonce: 1, code: code.into(), storage: storage.0 })
}

/// A text of at most 31 bytes, as Solidity keeps it.
fn short_text(text: &str) -> U256 {
    let mut bytes = [0; 32];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes[31] = 2 * text.len() as u8;
    U256::from_be_bytes(bytes)
}

fn check(given: &GenesisStaking) -> Result<(), GenesisStakingError> {
    let all = &given.validators;
    if all.is_empty() || all.len() as u64 > ACTIVE_MAX {
        return Err(GenesisStakingError::Count(all.len()));
    }
    let (mut operators, mut keys) = (BTreeMap::new(), BTreeMap::new());
    for it in all {
        if operators.insert(it.operator, ()).is_some() {
            return Err(GenesisStakingError::Twice("operator"));
        }
        if keys.insert(it.key, ()).is_some() {
            return Err(GenesisStakingError::Twice("key"));
        }
        if it.power == 0 || it.power > POWER_MAX {
            return Err(GenesisStakingError::Power(it.power));
        }
        if it.moniker.is_empty() || it.moniker.len() > 31 {
            return Err(GenesisStakingError::Moniker(it.moniker.clone()));
        }
    }
    Ok(())
}

/// An account as a genesis file has it.
#[derive(Serialize)]
struct Shown {
    nonce: String,
    balance: String,
    code: Bytes,
    storage: BTreeMap<B256, B256>,
}

/// As [`staking_account`], from JSON to the JSON of an entry of a genesis file's `alloc`.
///
/// # Errors
/// What is wrong with the JSON or the validators, as text.
pub fn staking_account_json(given: &str) -> Result<String, String> {
    let given: GenesisStaking = serde_json::from_str(given).map_err(|error| error.to_string())?;
    let account = staking_account(&given).map_err(|error| error.to_string())?;
    let shown = Shown {
        nonce: format!("{:#x}", account.nonce),
        balance: format!("{:#x}", account.balance),
        code: account.code,
        storage: account.storage.into_iter().map(|(slot, value)| (slot.into(), value.into())).collect(),
    };
    serde_json::to_string(&shown).map_err(|error| error.to_string())
}

//! The origin of a fork: a remote node, which a callback reads for values that are not cached.
//!
//! A thread that needs a value waits for it, with a deadline. If two threads need the same value,
//! it is fetched once. Only answers that match their request are kept; any other answer is an error
//! for the waiting threads, and the next read fetches again.

mod answers;
mod cache;
mod file;
mod proof;
mod single_flight;

pub use proof::proves_account;

use crate::{ForkConfig, Verification};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use answers::KeyQuery;
use cache::Cache;
use hearth_chain::ForkBlock;
use hearth_primitives::{Account, BlockHashes, Height, OriginWaits, RemoteState, StateError, StateReader};
use parking_lot::Mutex;
use single_flight::SingleFlight;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Fetches from a remote node.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Sends JSON-RPC requests, given as `[[METHOD,PARAMS],…]`, and returns their results in order,
    /// as JSON; a failed request fails all. Blocks until then, or until the time is over.
    ///
    /// # Errors
    /// Why there is no answer, as a sentence.
    fn fetch(&self, requests: String, timeout: Duration) -> Result<String, String>;
}

/// Something of the origin's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
    BlockHash(Height),
}

/// What the origin says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `None`: it does not exist.
    Account(Option<Account>),
    Word(U256),
    Code(Bytes),
}

/// The state of another node after one block.
pub struct ForkOrigin {
    fetch: Arc<dyn Fetch>,
    block: ForkBlock,
    /// The state root that accounts and slots are verified against; `None` where they are not.
    root: Option<B256>,
    /// Whether nothing is read without a proof.
    is_strict: bool,
    timeout: Duration,
    cache: Mutex<Cache>,
    single_flight: SingleFlight,
}

/// Where a home keeps what it read of a block of a chain: apart where all of it is verified.
fn folder(home: &Path, config: &ForkConfig, block: Height) -> PathBuf {
    let folder = home.join("data/fork").join(config.chain_id.to_string()).join(block.to_string());
    if config.verify == Verification::On { folder.join("verified") } else { folder }
}

impl ForkOrigin {
    /// The origin of a home, with what that home has read of it before.
    pub fn new(home: &Path, config: &ForkConfig, fetch: Arc<dyn Fetch>, block: ForkBlock) -> Self {
        let dir = folder(home, config, block.header.number);
        let cache = Cache::open(&dir, block.hash, config.cache_bytes).into();
        let timeout = Duration::from_millis(config.timeout_ms);
        let root = (config.verify != Verification::Off).then_some(block.header.state_root);
        let is_strict = config.verify == Verification::On;
        Self { fetch, block, root, is_strict, timeout, cache, single_flight: SingleFlight::default() }
    }

    /// What is kept, or what the origin says.
    fn get(&self, key: Key) -> Result<Value, StateError> {
        if let Some(value) = self.cache.lock().get(&key) {
            return Ok(value);
        }
        if OriginWaits::are_spent() {
            return Err(StateError::Origin(
                "its answers to one request took as long as they may together (dev.fork_timeout); those are kept".to_owned(),
            ));
        }
        let began = Instant::now();
        let value = self.single_flight.join(key, || {
            // An earlier flight may have landed meanwhile.
            let kept = self.cache.lock().get(&key);
            match kept {
                Some(value) => Ok(value),
                None => self.query(key),
            }
        });
        OriginWaits::count(began.elapsed());
        value
    }

    fn query(&self, key: Key) -> Result<Value, StateError> {
        let address = match key {
            Key::Code(hash) => self.cache.lock().address_of(&hash).ok_or(StateError::MissingCode(hash))?,
            Key::Account(address) | Key::Slot(address, _) => address,
            Key::BlockHash(_) => Address::ZERO,
        };
        let ask = |root| {
            let query = KeyQuery::of(&key, address, self.block.header.number, root);
            let answer = self.fetch.fetch(query.requests(), self.timeout)?;
            query.read(&answer)
        };
        let read = match ask(self.root) {
            Ok(answers::Read::NoProof) if self.is_strict => Err(format!("it gives no proof of {address}")),
            // The fetcher has reported it.
            Ok(answers::Read::NoProof) => ask(None),
            read => read,
        };
        let read = read.map_err(StateError::Origin)?;
        let mut cache = self.cache.lock();
        match (&key, read) {
            (Key::Account(address), answers::Read::Account(account, code)) => {
                if let Some(account) = account.filter(Account::has_code) {
                    cache.put_code(account.code_hash, *address, code);
                }
                cache.put(key, Value::Account(account));
                Ok(Value::Account(account))
            }
            (Key::Code(hash), answers::Read::Code(code)) if keccak256(&code) == *hash => {
                cache.put_code(*hash, address, code.clone());
                Ok(Value::Code(code))
            }
            (_, answers::Read::Word(word)) => {
                cache.put(key, Value::Word(word));
                Ok(Value::Word(word))
            }
            _ => Err(StateError::Origin(format!("the code of {address} is another one now"))),
        }
    }
}

impl StateReader for ForkOrigin {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.get(Key::Account(*address))? {
            Value::Account(account) => Ok(account),
            _ => Err(mixed_up()),
        }
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        // A contract has a nonce from its creation on (EIP-161), as has an account that ever was
        // delegated.
        let account = self.account(address)?;
        if account.is_none_or(|account| account.nonce == 0 && !account.has_code()) {
            return Ok(U256::ZERO);
        }
        match self.get(Key::Slot(*address, *slot))? {
            Value::Word(value) => Ok(value),
            _ => Err(mixed_up()),
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if *hash == KECCAK256_EMPTY {
            return Ok(Bytes::new());
        }
        match self.get(Key::Code(*hash))? {
            Value::Code(code) => Ok(code),
            _ => Err(mixed_up()),
        }
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Err(StateError::Origin(format!("the storage of {address} cannot be listed")))
    }
}

impl BlockHashes for ForkOrigin {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        let newest = self.block.header.number;
        if number >= newest {
            return Ok(if number == newest { self.block.hash } else { B256::ZERO });
        }
        match self.get(Key::BlockHash(number))? {
            Value::Word(hash) => Ok(hash.into()),
            _ => Err(mixed_up()),
        }
    }
}

impl RemoteState for ForkOrigin {}

impl fmt::Debug for ForkOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForkOrigin(block {} {})", self.block.header.number, self.block.hash)
    }
}

/// No key has a value of another kind: a record of the cache that says otherwise is not served.
fn mixed_up() -> StateError {
    StateError::Origin("the stored value has another kind than the requested one".to_owned())
}

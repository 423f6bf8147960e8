//! prestateTracer's results.

use crate::prestate_tracer::{PreAccount, PrestateTracer};
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use hearth_primitives::{AccountChange, Changeset};
use hearth_recorder::json::JsonWriter;

/// A changed account: what is shown of it before and after.
#[derive(Debug)]
pub(crate) struct Diff {
    /// Before; `None` where there was nothing.
    pre: Option<PreAccount>,
    /// After; `None` where it was deleted.
    post: Option<Post>,
    address: Address,
}

/// What is new of an account.
#[derive(Debug, Default)]
struct Post {
    balance: Option<U256>,
    nonce: u64,
    code_hash: Option<B256>,
    code: Bytes,
    storage: HashMap<U256, U256>,
}

/// The changed accounts among those that the transaction looked at, in order of address.
pub(crate) fn differences(tracer: &PrestateTracer, writes: &Changeset) -> Vec<Diff> {
    let mut all: Vec<Diff> =
        tracer.accounts.iter().filter_map(|account| difference(tracer, account, writes)).collect();
    all.sort_unstable_by_key(|diff| diff.address);
    all
}

fn difference(tracer: &PrestateTracer, account: &PreAccount, writes: &Changeset) -> Option<Diff> {
    let address = account.address;
    let existed = !account.is_empty();
    if tracer.deleted.contains(&address) {
        return existed.then(|| Diff { pre: Some(account.clone()), post: None, address });
    }
    let index = writes.accounts.binary_search_by_key(&address, |change| change.address).ok()?;
    let change = &writes.accounts[index];
    let (mut post, mut modified) = fields(tracer, account, change, writes);
    let mut pre = account.clone();
    pre.storage.retain(|slot, value| {
        let found = change.storage.binary_search_by_key(slot, |change| change.slot);
        let new = found.map_or(*value, |index| change.storage[index].new);
        if new == *value {
            return false;
        }
        modified = true;
        if !new.is_zero() {
            post.storage.insert(*slot, new);
        }
        !value.is_zero()
    });
    modified.then_some(Diff { pre: existed.then_some(pre), post: Some(post), address })
}

/// What changed but storage, and whether anything did.
fn fields(
    tracer: &PrestateTracer,
    account: &PreAccount,
    change: &AccountChange,
    writes: &Changeset,
) -> (Post, bool) {
    let new = change.new.unwrap_or_default();
    let mut post = Post::default();
    let mut modified = false;
    if new.balance != account.balance {
        modified = true;
        post.balance = Some(new.balance);
    }
    if new.nonce != account.nonce {
        modified = true;
        post.nonce = new.nonce;
    }
    let code_hash = if new.code_hash == KECCAK256_EMPTY { B256::ZERO } else { new.code_hash };
    if code_hash != account.code_hash.unwrap_or_default() {
        modified = true;
        post.code_hash = Some(code_hash);
        if !tracer.config.disable_code
            && let Ok(index) = writes.codes.binary_search_by_key(&code_hash, |(hash, _)| *hash)
        {
            post.code = writes.codes[index].1.clone();
        }
    }
    (post, modified)
}

/// Writes the result.
pub(crate) fn write(tracer: &PrestateTracer, json: &mut JsonWriter<'_>) {
    if !tracer.config.diff_mode {
        let shown = tracer.accounts.iter().filter(|a| tracer.config.include_empty || !a.is_empty());
        return object(json, shown, write_pre);
    }
    json.raw(b"{\"post\":");
    object(json, tracer.diff.iter().filter_map(|d| Some((d.address, d.post.as_ref()?))), write_post);
    json.raw(b",\"pre\":");
    object(json, tracer.diff.iter().filter_map(|d| d.pre.as_ref()), write_pre);
    json.raw(b"}");
}

fn object<T>(
    json: &mut JsonWriter<'_>,
    entries: impl Iterator<Item = T>,
    write: impl Fn(&mut JsonWriter<'_>, T),
) {
    json.raw(b"{");
    for (i, entry) in entries.enumerate() {
        if json.is_closed() {
            return;
        }
        if i > 0 {
            json.raw(b",");
        }
        write(json, entry);
    }
    json.raw(b"}");
}

fn write_pre(json: &mut JsonWriter<'_>, account: &PreAccount) {
    let fields = AccountFields {
        balance: Some(&account.balance),
        nonce: account.nonce,
        code_hash: account.code_hash.as_ref(),
        code: &account.code,
        storage: &account.storage,
    };
    fields.write(json, &account.address);
}

fn write_post(json: &mut JsonWriter<'_>, (address, post): (Address, &Post)) {
    let fields = AccountFields {
        balance: post.balance.as_ref(),
        nonce: post.nonce,
        code_hash: post.code_hash.as_ref(),
        code: &post.code,
        storage: &post.storage,
    };
    fields.write(json, &address);
}

/// One account's members; what is absent, zero (but balance and hash) or empty is left out.
struct AccountFields<'a> {
    balance: Option<&'a U256>,
    nonce: u64,
    code_hash: Option<&'a B256>,
    code: &'a Bytes,
    storage: &'a HashMap<U256, U256>,
}

impl AccountFields<'_> {
    fn write(&self, json: &mut JsonWriter<'_>, address: &Address) {
        json.hex_bytes(address.as_slice());
        json.raw(b":{");
        let mut first = true;
        let mut key = |json: &mut JsonWriter<'_>, key: &[u8]| {
            if !std::mem::replace(&mut first, false) {
                json.raw(b",");
            }
            json.raw(key);
        };
        if let Some(balance) = self.balance {
            key(json, b"\"balance\":");
            json.hex_u256(balance);
        }
        if !self.code.is_empty() {
            key(json, b"\"code\":");
            json.hex_bytes(self.code);
        }
        if let Some(hash) = self.code_hash {
            key(json, b"\"codeHash\":");
            json.hex_bytes(hash.as_slice());
        }
        if self.nonce != 0 {
            key(json, b"\"nonce\":");
            json.raw(self.nonce.to_string().as_bytes());
        }
        if !self.storage.is_empty() {
            key(json, b"\"storage\":{");
            let mut slots: Vec<_> = self.storage.iter().collect();
            slots.sort_unstable();
            for (i, (slot, value)) in slots.into_iter().enumerate() {
                json.raw(if i > 0 { b"," } else { b"" });
                json.hex_bytes(&slot.to_be_bytes::<32>());
                json.raw(b":");
                json.hex_bytes(&value.to_be_bytes::<32>());
            }
            json.raw(b"}");
        }
        json.raw(b"}");
    }
}

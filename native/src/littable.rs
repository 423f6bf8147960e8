//! Littable for scripts: stores, tables, iterators. Work runs on the threads of the store.

use crate::answer::{Answer, Deferred, guarded, on_thread, promise};
use hearth_node::NodeError;
use hearth_node::scripts::{Direction, OwnedGroup, ScriptError, ScriptIter, ScriptStore, ScriptTable};
use napi::bindgen_prelude::{BigInt, Either, Object, Uint8Array};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;
use std::sync::Arc;
use std::time::Duration;

/// A store that is open.
#[napi]
pub struct NativeLittable {
    store: Arc<ScriptStore>,
}

/// A table that is open.
#[napi]
pub struct NativeLittTable {
    table: Arc<ScriptTable>,
}

/// An iterator over a table.
#[napi]
pub struct NativeLittIter {
    iter: Arc<ScriptIter>,
}

/// A value with its keys.
#[napi(object)]
pub struct NativeLittGroup {
    /// Primary key.
    pub key: Uint8Array,
    /// The value.
    pub value: Uint8Array,
    /// Further keys on parts of the value.
    pub secondary: Option<Vec<NativeLittSecondary>>,
    /// What retention goes by.
    pub number: Option<BigInt>,
}

/// A key on a part of a value.
#[napi(object)]
pub struct NativeLittSecondary {
    /// The key.
    pub key: Uint8Array,
    /// First byte of the part.
    pub start: u32,
    /// Byte behind the part.
    pub end: u32,
}

type Outcome<T> = std::result::Result<T, ScriptError>;

fn failed(error: ScriptError) -> Answer {
    Answer::failed(error.to_json())
}

/// Settles with the bytes of a result, or with an error value.
fn bytes<T>(deferred: Deferred<Answer>, of: impl FnOnce(T) -> Vec<u8>) -> impl FnOnce(Outcome<T>) {
    move |result| deferred.resolve(result.map_or_else(failed, |value| Answer::ok(of(value))))
}

/// For results of which only that they came counts.
fn nothing(_: ()) -> Vec<u8> {
    Vec::new()
}

fn found(value: Outcome<Option<impl AsRef<[u8]>>>) -> Option<Answer> {
    value.map_or_else(
        |error| Some(failed(error)),
        |value| value.map(|value| Answer::ok(value.as_ref().to_vec())),
    )
}

/// A whole number of 64 bits without sign.
fn whole(number: &BigInt) -> Result<u64> {
    match number.get_u64() {
        (false, number, true) => Ok(number),
        _ => Err(Error::new(Status::InvalidArg, "a number is not between 0 and 2^64-1")),
    }
}

fn owned(group: NativeLittGroup) -> Result<OwnedGroup> {
    let secondary =
        group.secondary.unwrap_or_default().into_iter().map(|s| (s.key.to_vec(), s.start..s.end)).collect();
    let number = group.number.as_ref().map(whole).transpose()?;
    Ok(OwnedGroup { key: group.key.to_vec(), value: group.value.to_vec(), secondary, number })
}

/// Opens a store, or makes it, on its own thread. Resolves to the store or to an error value.
#[napi(catch_unwind, ts_return_type = "Promise<NativeLittable | Buffer>")]
pub fn open_littable(env: &Env, options: String) -> Result<Object<'_>> {
    let (deferred, promise) = promise::<Either<NativeLittable, Answer>>(env)?;
    let wrong = |error: NodeError| Either::B(failed(error.into()));
    on_thread("hearth-litt-open", deferred, wrong, move || {
        match guarded(|| Ok(ScriptStore::open(&options))) {
            Ok(Ok(store)) => Either::A(NativeLittable { store: Arc::new(store) }),
            Ok(Err(error)) => Either::B(failed(error)),
            Err(panic) => wrong(panic),
        }
    });
    Ok(promise)
}

#[napi]
impl NativeLittable {
    /// Opens a table, or makes it. Resolves to the table or to an error value.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeLittTable | Buffer>")]
    pub fn table<'env>(&self, env: &'env Env, options: String) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Either<NativeLittTable, Answer>>(env)?;
        self.store.spawn(
            move |store| store.table(&options),
            |table| {
                deferred.resolve(match table {
                    Ok(table) => Either::A(NativeLittTable { table }),
                    Err(error) => Either::B(failed(error)),
                });
            },
        );
        Ok(promise)
    }

    /// Names of the tables, as a JSON array.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn table_names<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        let json = |names: Vec<String>| serde_json::json!(names).to_string().into_bytes();
        self.store.spawn(|store| store.table_names(), bytes(deferred, json));
        Ok(promise)
    }

    /// Removes a table that is not open.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn drop_table<'env>(&self, env: &'env Env, name: String) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.store.spawn(move |store| store.drop_table(&name), bytes(deferred, nothing));
        Ok(promise)
    }

    /// Makes all writes to all tables durable.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.store.spawn(ScriptStore::flush, bytes(deferred, nothing));
        Ok(promise)
    }

    /// The values of the store's instruments: `[{"name":…,"series":[…]}]`.
    #[napi(catch_unwind)]
    pub fn metrics_snapshot(&self) -> String {
        self.store.metrics_snapshot()
    }

    /// Lets calls under way finish, flushes and closes the store, on a thread of its own.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        let store = self.store.clone();
        let wrong = |error: NodeError| failed(error.into());
        on_thread("hearth-litt-close", deferred, wrong, move || match guarded(|| Ok(store.close())) {
            Ok(closed) => closed.map_or_else(failed, |()| Answer::ok(Vec::new())),
            Err(panic) => wrong(panic),
        });
        Ok(promise)
    }
}

#[napi]
impl NativeLittTable {
    /// Puts groups in their order, each whole or not at all.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn put<'env>(&self, env: &'env Env, groups: Vec<NativeLittGroup>) -> Result<Object<'env>> {
        let groups = groups.into_iter().map(owned).collect::<Result<Vec<_>>>()?;
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table.spawn(move |table| table.put(&groups), bytes(deferred, nothing));
        Ok(promise)
    }

    /// The bytes under a key, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn get<'env>(&self, env: &'env Env, key: Uint8Array) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Option<Answer>>(env)?;
        let key = key.to_vec();
        self.table.spawn(move |table| table.get(&key, None), |value| deferred.resolve(found(value)));
        Ok(promise)
    }

    /// A range of the bytes under a key, or null.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn get_range<'env>(
        &self,
        env: &'env Env,
        key: Uint8Array,
        start: u32,
        end: u32,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Option<Answer>>(env)?;
        let key = key.to_vec();
        self.table
            .spawn(move |table| table.get(&key, Some(start..end)), |value| deferred.resolve(found(value)));
        Ok(promise)
    }

    /// The bytes under each of several keys, null for an absent key; or an error value for all.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<Buffer | null> | Buffer>")]
    pub fn multi_get<'env>(&self, env: &'env Env, keys: Vec<Uint8Array>) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Either<Vec<Option<Answer>>, Answer>>(env)?;
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
        self.table.spawn(
            move |table| table.multi_get(&keys),
            |values| {
                deferred.resolve(match values {
                    Ok(values) => Either::A(values.into_iter().map(found).collect()),
                    Err(error) => Either::B(failed(error)),
                });
            },
        );
        Ok(promise)
    }

    /// One byte: 1 where the key is there.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn exists<'env>(&self, env: &'env Env, key: Uint8Array) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        let key = key.to_vec();
        self.table.spawn(move |table| table.exists(&key), bytes(deferred, |there| vec![u8::from(there)]));
        Ok(promise)
    }

    /// Makes durable what was put before the call.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table.spawn(ScriptTable::flush, bytes(deferred, nothing));
        Ok(promise)
    }

    /// Sees what a writer has done meanwhile.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn refresh<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table.spawn(ScriptTable::refresh, bytes(deferred, nothing));
        Ok(promise)
    }

    /// Raises the lowest number that is kept.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn set_floor<'env>(&self, env: &'env Env, floor: BigInt) -> Result<Object<'env>> {
        let floor = whole(&floor)?;
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table.spawn(move |table| table.set_floor(floor), bytes(deferred, nothing));
        Ok(promise)
    }

    /// Sets how many milliseconds records are kept at least; null for no bound.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn set_ttl<'env>(&self, env: &'env Env, ms: Option<u32>) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        let ttl = ms.map(|ms| Duration::from_millis(ms.into()));
        self.table.spawn(move |table| table.set_ttl(ttl), bytes(deferred, nothing));
        Ok(promise)
    }

    /// Removes the segments that retention lets go; four bytes, little-endian: how many.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn collect<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table
            .spawn(ScriptTable::collect, bytes(deferred, |removed: u32| removed.to_le_bytes().to_vec()));
        Ok(promise)
    }

    /// Where the last group ends; eight bytes, little-endian.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn position<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table
            .spawn(ScriptTable::position, bytes(deferred, |position: u64| position.to_le_bytes().to_vec()));
        Ok(promise)
    }

    /// Takes away everything behind a position.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn cut<'env>(&self, env: &'env Env, position: BigInt) -> Result<Object<'env>> {
        let position = whole(&position)?;
        let (deferred, promise) = promise::<Answer>(env)?;
        self.table.spawn(move |table| table.truncate(position), bytes(deferred, nothing));
        Ok(promise)
    }

    /// Keys, bytes and floor; or an error value.
    #[napi(catch_unwind, ts_return_type = "Array<bigint> | Buffer")]
    pub fn totals(&self) -> Either<Vec<BigInt>, Answer> {
        match self.table.totals() {
            Ok((keys, bytes, floor)) => Either::A([keys, bytes, floor].map(BigInt::from).to_vec()),
            Err(error) => Either::B(failed(error)),
        }
    }

    /// Iterates, from a key on if one is given. Resolves to the iterator, to null if that key is
    /// absent, or to an error value.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeLittIter | Buffer | null>")]
    pub fn iterate<'env>(
        &self,
        env: &'env Env,
        reverse: bool,
        from: Option<Uint8Array>,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Option<Either<NativeLittIter, Answer>>>(env)?;
        let from = from.map(|key| key.to_vec());
        let direction = if reverse { Direction::Reverse } else { Direction::Forward };
        self.table.spawn(
            move |table| table.iterate(direction, from.as_deref()),
            |iter| {
                deferred.resolve(match iter {
                    Ok(iter) => iter.map(|iter| Either::A(NativeLittIter { iter })),
                    Err(error) => Some(Either::B(failed(error))),
                });
            },
        );
        Ok(promise)
    }

    /// Lets go of the table.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.table.close();
    }
}

#[napi]
impl NativeLittIter {
    /// The next records, at most so many, one after the other; empty at the end.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn next<'env>(&self, env: &'env Env, records: u32) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.iter.next_with(records, bytes(deferred, |batch| batch));
        Ok(promise)
    }

    /// Lets go of what the iterator holds back.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.iter.close();
    }
}

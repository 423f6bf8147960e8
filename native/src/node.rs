//! An open node: requests, streams, close.

use crate::{
    NativeOrigin,
    answer::{Answer, guarded, on_thread, promise},
    ready::{NativeSharedAnswer, NativeTraceOf, write_ready},
    text::{JsonText, ShortText},
};
use hearth_node::{
    ByteStream, Caller, Envelope, NamedTrace, Node, NodeConfig, NodeError, NodeLease, Replay, Request,
    TraceRequest, TraceSourceKind,
};
use napi::bindgen_prelude::{BufferSlice, Either, Object};
use napi::{Env, Result};
use napi_derive::napi;
use parking_lot::Mutex;
use std::sync::Arc;

/// An open node.
#[napi]
pub struct NativeNode {
    node: Arc<Node>,
    /// Let go when the object is collected, or its thread ends.
    lease: Arc<NodeLease>,
}

/// The JSON bytes of one result, in chunks.
#[napi]
pub struct NativeStream {
    source: Arc<Source>,
}

/// What stands around a result that is to come in gzip.
#[napi(object)]
pub struct NativeEnvelope {
    /// Text before the result.
    pub head: String,
    /// Text behind it.
    pub tail: String,
    /// Results of more bytes, envelope included, are wanted in gzip.
    pub over_bytes: f64,
}

impl From<NativeEnvelope> for Envelope {
    fn from(envelope: NativeEnvelope) -> Self {
        let NativeEnvelope { head, tail, over_bytes } = envelope;
        Self { head: head.into_bytes(), tail: tail.into_bytes(), over_bytes: over_bytes as u64 }
    }
}

impl NativeStream {
    /// An open stream, or the error that its first `ready` returns.
    pub(crate) fn over(stream: std::result::Result<ByteStream, NodeError>) -> Self {
        let source = match stream {
            Ok(stream) => Source::Stream(stream),
            Err(error) => Source::Refused(Mutex::new(Some(error))),
        };
        Self { source: Arc::new(source) }
    }
}

impl NativeNode {
    /// The node.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }
}

/// A stream, or the error of an invalid request, which the first `next` returns.
enum Source {
    Stream(ByteStream),
    Refused(Mutex<Option<NodeError>>),
}

/// Opens a home on its own thread: replaying a log may take a while. A fork reads its remote node
/// through `origin`. A home that this process has open with an equal configuration is shared.
/// Resolves to the node or to an error value.
#[napi(catch_unwind, ts_return_type = "Promise<NativeNode | Buffer>")]
pub fn open_node<'env>(
    env: &'env Env,
    config: String,
    origin: Option<&NativeOrigin>,
) -> Result<Object<'env>> {
    let fetcher = origin.map(NativeOrigin::fetcher);
    let read = move || {
        let mut config = NodeConfig::from_json(&config)?;
        if let Some(fork) = &mut config.fork {
            fork.fetch = fetcher;
        }
        Ok(config)
    };
    let (deferred, promise) = promise::<Either<NativeNode, Answer>>(env)?;
    let failed = |error: NodeError| Either::B(Answer::from(Err(error)));
    on_thread("hearth-open", deferred, failed, move || match guarded(|| read().and_then(NodeLease::open)) {
        Ok(lease) => Either::A(NativeNode { node: lease.node().clone(), lease: Arc::new(lease) }),
        Err(error) => failed(error),
    });
    Ok(promise)
}

#[napi]
impl NativeNode {
    /// Answers `{"op":…,"args":…}`: with the text of the result if that needs neither the disk nor
    /// another thread, otherwise on one of the node's threads.
    #[napi(catch_unwind, ts_return_type = "string | Promise<Buffer>")]
    pub fn request<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "string | Uint8Array")] json: JsonText<'_>,
    ) -> Result<Either<String, Object<'env>>> {
        let request = Request::from_json(&json);
        let ready = request.as_ref().ok().and_then(|request| self.node.at_once(request));
        if let Some(text) = ready.and_then(|bytes| String::from_utf8(bytes).ok()) {
            return Ok(Either::A(text));
        }
        let (deferred, promise) = promise::<Answer>(env)?;
        match request {
            Ok(request) => self.node.spawn(request, move |result| deferred.resolve(result.into())),
            Err(error) => deferred.resolve(Err(error).into()),
        }
        Ok(Either::B(promise))
    }

    /// Answers long work, `{"op":…,"args":…}`, on one of the node's threads, for a client that is
    /// known by its address: clients take turns. [`cancel_call`](Self::cancel_call) ends it by its
    /// ticket, a whole number that no other request in progress has.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "string | Uint8Array")] json: JsonText<'_>,
        client: String,
        ticket: f64,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        match Request::from_json(&json) {
            Ok(request) => {
                let caller = Caller { client: client.into(), ..Caller::default() };
                self.node.spawn_for(request, &caller, Some(ticket as u64), move |result| {
                    deferred.resolve(result.into())
                });
            }
            Err(error) => deferred.resolve(Err(error).into()),
        }
        Ok(promise)
    }

    /// Answers long requests one after the other, each at once when it is done: as one job, so that
    /// none waits for the way of another one's answer. [`cancel_call`](Self::cancel_call) ends what
    /// is left of them by their ticket.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>[]")]
    pub fn call_in_order<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "(string | Uint8Array)[]")] requests: Vec<JsonText<'_>>,
        client: String,
        ticket: f64,
    ) -> Result<Vec<Object<'env>>> {
        let (mut calls, mut promises) = (Vec::new(), Vec::new());
        for json in requests {
            let (deferred, promise) = promise::<Answer>(env)?;
            let done = move |result: std::result::Result<Vec<u8>, NodeError>| deferred.resolve(result.into());
            calls.push((Request::from_json(&json), done));
            promises.push(promise);
        }
        let caller = Caller { client: client.into(), ..Caller::default() };
        self.node.spawn_in_order(calls, &caller, ticket as u64);
        Ok(promises)
    }

    /// Cancels a call, whose answer is no longer needed.
    #[napi(catch_unwind)]
    pub fn cancel_call(&self, ticket: f64) {
        self.node.cancel(ticket as u64);
    }

    /// The values of all native instruments: `[{"name":…,"series":[…]}]`.
    #[napi(catch_unwind)]
    pub fn metrics_snapshot(&self) -> String {
        self.node.metrics_snapshot()
    }

    /// Takes the log entries for operators since the last call:
    /// `[{"level":…,"room":…,"message":…}]`.
    #[napi(catch_unwind)]
    pub fn take_log(&self) -> String {
        serde_json::to_string(&self.node.take_log()).unwrap_or_else(|_| "[]".to_owned())
    }

    /// Resolves to what happened to chain and pool after the first `after` events:
    /// `{"next":…,"missed":…,"events":[…]}`. Where nothing did yet, waits if `wait` is set.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn events<'env>(&self, env: &'env Env, after: f64, wait: bool) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.node.events(after as u64, wait, move |result| deferred.resolve(result.into()));
        Ok(promise)
    }

    /// Looks up the answer to a baked trace, and writes it between `head` and `tail` if it is ready
    /// in the memory of this process or of the system; false otherwise. The buffer begins with the
    /// result struct (`NativeReadyWord`), behind which is the answer; where there is too little
    /// room for that, only the struct is written, and an object that shares the bytes is returned.
    /// `named` is a hash, height or tag, as `of` says, and `config` the configuration as JSON.
    /// Answers of more than `gzip_over` bytes are in gzip if the cache has them so; never where
    /// that is absent.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "an object would cost more than the answer")]
    pub fn ready(
        &self,
        of: NativeTraceOf,
        #[napi(ts_arg_type = "string")] named: ShortText,
        #[napi(ts_arg_type = "string")] config: ShortText,
        #[napi(ts_arg_type = "string")] head: ShortText,
        #[napi(ts_arg_type = "string")] tail: ShortText,
        mut into: BufferSlice<'_>,
        gzip_over: Option<f64>,
    ) -> Either<bool, NativeSharedAnswer> {
        let over_bytes = gzip_over.map_or(u64::MAX, |bytes| bytes as u64);
        let envelope =
            Envelope { head: head.as_bytes().to_vec(), tail: tail.as_bytes().to_vec(), over_bytes };
        let trace = NamedTrace { of: of.into(), named: &named, config: &config };
        write_ready(&mut into, self.node.ready(&trace, envelope))
    }

    /// Starts work whose result may be large, for a client that is known by its address. With an
    /// envelope, a result that is stored in gzip is sent as one member with it.
    #[napi(catch_unwind)]
    pub fn stream(
        &self,
        #[napi(ts_arg_type = "string | Uint8Array")] json: JsonText<'_>,
        envelope: Option<NativeEnvelope>,
        client: Option<String>,
    ) -> NativeStream {
        let source = match TraceRequest::from_json(&json) {
            Ok(request) => {
                let caller = Caller::now(client.as_deref());
                Source::Stream(self.node.stream(request, &caller, envelope.map(Into::into)))
            }
            Err(error) => Source::Refused(Mutex::new(Some(error))),
        };
        NativeStream { source: Arc::new(source) }
    }

    /// What the home holds, as JSON; null once the node is closed.
    #[napi(catch_unwind)]
    pub fn status(&self) -> Option<String> {
        self.node.status().ok().and_then(|status| serde_json::to_string(&status).ok())
    }

    /// Releases the node. The last lease of this process lets running requests finish, flushes and
    /// closes the stores, on its own thread.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        let lease = self.lease.clone();
        on_thread(
            "hearth-close",
            deferred,
            |error| Answer::from(Err(error)),
            move || guarded(|| lease.close().map(|()| Vec::new())).into(),
        );
        Ok(promise)
    }
}

#[napi]
impl NativeStream {
    /// Bytes that can be read now: 0 if [`ready`](Self::ready) has to be called, -1 once all was
    /// read.
    #[napi(catch_unwind)]
    pub fn waiting(&self) -> i64 {
        match self.source.as_ref() {
            Source::Stream(stream) => stream.waiting().map_or(-1, |bytes| bytes as i64),
            Source::Refused(error) => {
                if error.lock().is_some() {
                    0
                } else {
                    -1
                }
            }
        }
    }

    /// Bytes that can be read now, where nothing comes after them; else -1.
    #[napi(catch_unwind)]
    pub fn rest(&self) -> i64 {
        match self.source.as_ref() {
            Source::Stream(stream) => stream.rest().map_or(-1, |bytes| bytes as i64),
            Source::Refused(_) => -1,
        }
    }

    /// What the result is made from: `baked`, `capsule` or `history`; known once bytes wait.
    #[napi(catch_unwind)]
    pub fn origin(&self) -> Option<&'static str> {
        match self.source.as_ref() {
            Source::Stream(stream) => stream.origin().map(TraceSourceKind::name),
            Source::Refused(_) => None,
        }
    }

    /// Whether the block is further below the head than the lookback; known once bytes or an error
    /// are available.
    #[napi(catch_unwind)]
    pub fn is_historical(&self) -> bool {
        matches!(self.source.as_ref(), Source::Stream(stream) if stream.is_historical())
    }

    /// Milliseconds that the work waited for its thread; negative if it needed none. Known once
    /// bytes or an error are available.
    #[napi(catch_unwind)]
    pub fn waited(&self) -> f64 {
        match self.source.as_ref() {
            Source::Stream(stream) => stream.waited().map_or(-1.0, |waited| waited.as_secs_f64() * 1000.0),
            Source::Refused(_) => -1.0,
        }
    }

    /// Bytes of the whole stream if it is one gzip member with its envelope; otherwise -1. Known
    /// once bytes are available.
    #[napi(catch_unwind)]
    pub fn packed_bytes(&self) -> i64 {
        match self.source.as_ref() {
            Source::Stream(stream) => stream.packed_bytes().map_or(-1, |bytes| bytes as i64),
            Source::Refused(_) => -1,
        }
    }

    /// Reads what waits, as much as the buffer holds; the number of bytes.
    #[napi(catch_unwind)]
    pub fn read(&self, mut into: BufferSlice<'_>) -> u32 {
        match self.source.as_ref() {
            // A buffer of Node holds less than 2^32 bytes here: the caller's are a few chunks long.
            Source::Stream(stream) => stream.read(&mut into) as u32,
            Source::Refused(_) => 0,
        }
    }

    /// Resolves to the number of available bytes once there are some; to 0 at the end; to an error
    /// value, which ends the stream. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<number | Buffer>")]
    pub fn ready<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Either<u32, Answer>>(env)?;
        let callback = move |ready: std::result::Result<usize, NodeError>| {
            deferred.resolve(match ready {
                Ok(bytes) => Either::A(bytes as u32),
                Err(error) => Either::B(Answer::from(Err(error))),
            });
        };
        match self.source.as_ref() {
            Source::Stream(stream) => stream.ready_with(callback),
            Source::Refused(error) => callback(error.lock().take().map_or(Ok(0), Err)),
        }
        Ok(promise)
    }

    /// Cancels the stream; the rest is not needed.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        if let Source::Stream(stream) = self.source.as_ref() {
            stream.cancel();
        }
    }
}

/// Starts traces of files without a home; the stream gives lines of JSON.
#[napi(catch_unwind)]
pub fn start_replay(json: String) -> NativeStream {
    let source = match Replay::from_json(json.as_bytes()) {
        Ok(replay) => Source::Stream(replay.start()),
        Err(error) => Source::Refused(Mutex::new(Some(error))),
    };
    NativeStream { source: Arc::new(source) }
}

/// The table of tracers: `[{"name":…,"options":[…],"baked":…}]`.
#[napi(catch_unwind)]
pub fn tracer_table() -> String {
    hearth_node::tracer_table()
}

/// The table of native instruments:
/// `[{"name":…,"kind":…,"unit":…,"help":…,"labels":[…],"buckets":[…]}]`.
#[napi(catch_unwind)]
pub fn metrics_catalog() -> String {
    hearth_node::metrics_catalog()
}

/// The entry of a genesis file's `alloc` for the staking contract with its first validators, as
/// JSON. The input is
/// `{"validators":[{"operator","key","power","moniker"}],"unbondingSeconds","time"}`, with `time`
/// in seconds. Throws if the validators are invalid.
#[napi(catch_unwind)]
pub fn staking_account(json: String) -> Result<String> {
    hearth_node::staking_account_json(&json).map_err(napi::Error::from_reason)
}

/// The funded accounts of a dev chain with this phrase, so many of them:
/// `[{"address":…,"privateKey":…}]`; without both, those of a default chain. Throws if the phrase
/// is invalid.
#[napi(catch_unwind)]
pub fn dev_accounts(mnemonic: Option<String>, count: Option<u32>) -> Result<String> {
    let accounts = match (mnemonic, count) {
        (Some(phrase), Some(count)) => hearth_node::dev_accounts_of(&phrase, count as usize)
            .map_err(|error| napi::Error::from_reason(error.to_string()))?,
        _ => hearth_node::dev_accounts(),
    };
    let json = |a: &hearth_node::DevAccount| serde_json::json!({ "address": a.address.to_string(), "privateKey": a.private_key.to_string() });
    Ok(serde_json::Value::from(accounts.iter().map(json).collect::<Vec<_>>()).to_string())
}

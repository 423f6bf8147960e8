//! An open node: requests, streams, close.

use crate::answer::{Answer, Settle, guarded, on_thread, promise};
use hearth_node::{ByteStream, Node, NodeConfig, NodeError, Replay, Request, TraceRequest};
use napi::bindgen_prelude::{Either, Object};
use napi::{Env, Result};
use napi_derive::napi;
use parking_lot::Mutex;
use std::sync::Arc;

/// An open node.
#[napi]
pub struct NativeNode {
    node: Arc<Node>,
}

/// The JSON bytes of one result, in chunks.
#[napi]
pub struct NativeStream {
    source: Arc<Source>,
}

/// A stream, or the error of a request that does not read, which the first `next` tells.
enum Source {
    Stream(ByteStream),
    Refused(Mutex<Option<NodeError>>),
}

/// Opens a home on a thread of its own: replaying a log may take a while. Resolves to the node or to an error value.
#[napi(catch_unwind, ts_return_type = "Promise<NativeNode | Buffer>")]
pub fn open_node(env: &Env, config: String) -> Result<Object<'_>> {
    let (settle, promise) = promise::<Either<NativeNode, Answer>>(env)?;
    let failed = |error: NodeError| Either::B(Answer::from(Err(error)));
    on_thread("hearth-open", settle, failed, move || {
        match guarded(|| NodeConfig::from_json(&config).and_then(Node::open)) {
            Ok(node) => Either::A(NativeNode { node }),
            Err(error) => failed(error),
        }
    });
    Ok(promise)
}

#[napi]
impl NativeNode {
    /// Answers `{"op":…,"args":…}` on one of the node's threads.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn request<'env>(&self, env: &'env Env, json: String) -> Result<Object<'env>> {
        let (settle, promise) = promise::<Answer>(env)?;
        match Request::from_json(json.as_bytes()) {
            Ok(request) => self.node.spawn(request, move |result| settle.with(result.into())),
            Err(error) => settle.with(Err(error).into()),
        }
        Ok(promise)
    }

    /// The values of all native instruments: `[{"name":…,"series":[…]}]`.
    #[napi(catch_unwind)]
    pub fn metrics_snapshot(&self) -> String {
        self.node.metrics_snapshot()
    }

    /// Starts work whose result may be large.
    #[napi(catch_unwind)]
    pub fn stream(&self, json: String) -> NativeStream {
        let source = match TraceRequest::from_json(json.as_bytes()) {
            Ok(request) => Source::Stream(self.node.stream(request)),
            Err(error) => Source::Refused(Mutex::new(Some(error))),
        };
        NativeStream { source: Arc::new(source) }
    }

    /// Lets running requests finish, flushes and closes the stores, on a thread of its own.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (settle, promise) = promise::<Answer>(env)?;
        let node = self.node.clone();
        on_thread(
            "hearth-close",
            settle,
            |error| Answer::from(Err(error)),
            move || guarded(|| node.close().map(|()| Vec::new())).into(),
        );
        Ok(promise)
    }
}

#[napi]
impl NativeStream {
    /// The next chunk, or null at the end. An error ends the stream. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn next<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (settle, promise) = promise::<Option<Answer>>(env)?;
        match self.source.as_ref() {
            Source::Stream(stream) => stream.next_with(move |next| tell(settle, next)),
            Source::Refused(error) => tell(settle, error.lock().take().map_or(Ok(None), Err)),
        }
        Ok(promise)
    }

    /// Says that nobody wants the rest.
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

fn tell(settle: Settle<Option<Answer>>, next: hearth_node::NextChunk) {
    settle.with(match next {
        Ok(chunk) => chunk.map(Answer::ok),
        Err(error) => Some(Answer::from(Err(error))),
    });
}

/// The table of native instruments: `[{"name":…,"kind":…,"unit":…,"help":…,"labels":[…],"buckets":[…]}]`.
#[napi(catch_unwind)]
pub fn metrics_catalog() -> String {
    hearth_node::metrics_catalog()
}

/// The funded accounts of the dev chain: `[{"address":…,"privateKey":…}]`.
#[napi(catch_unwind)]
pub fn dev_accounts() -> String {
    let accounts = hearth_node::dev_accounts();
    let json = |a: &hearth_node::DevAccount| serde_json::json!({ "address": a.address.to_string(), "privateKey": a.private_key.to_string() });
    serde_json::Value::from(accounts.iter().map(json).collect::<Vec<_>>()).to_string()
}

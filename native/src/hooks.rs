//! Traces under hooks of this process: recorded steps arrive as messages, and the answers of the
//! hooks go back.

use crate::answer::promise;
use crate::node::{NativeNode, NativeStream};
use hearth_node::{ByteStream, HookLink, NodeError, TraceRequest};
use napi::bindgen_prelude::{BufferSlice, Object};
use napi::{Env, Result};
use napi_derive::napi;
use parking_lot::Mutex;

/// A trace under hooks.
#[napi]
pub struct NativeHooks {
    link: Option<HookLink>,
    stream: Mutex<Option<std::result::Result<ByteStream, NodeError>>>,
}

#[napi]
impl NativeNode {
    /// Starts a trace whose script is hooks of this process, as `{"op":…,"args":…}`.
    #[napi(catch_unwind)]
    pub fn trace_hooked(&self, json: String) -> NativeHooks {
        match TraceRequest::from_json(json.as_bytes()) {
            Ok(request) => {
                let (link, stream) = self.node().trace_hooked(request);
                NativeHooks { link: Some(link), stream: Mutex::new(Some(Ok(stream))) }
            }
            Err(error) => NativeHooks { link: None, stream: Mutex::new(Some(Err(error))) },
        }
    }
}

#[napi]
impl NativeHooks {
    /// The results, in which the hooks' answer to each transaction replaces its result. Can be
    /// taken once; the trace ends when it is cancelled or dropped.
    #[napi(catch_unwind)]
    pub fn stream(&self) -> Option<NativeStream> {
        self.stream.lock().take().map(NativeStream::over)
    }

    /// Kind of the next message; 0 where none waits yet, -1 where none will come.
    #[napi(catch_unwind)]
    pub fn kind(&self) -> i32 {
        let Some(link) = &self.link else { return -1 };
        match link.next() {
            Some((kind, _)) => i32::from(kind),
            None if link.is_over() => -1,
            None => 0,
        }
    }

    /// Bytes of the next message.
    #[napi(catch_unwind)]
    pub fn bytes(&self) -> u32 {
        let next = self.link.as_ref().and_then(HookLink::next);
        next.map_or(0, |(_, bytes)| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Takes the next message into a buffer that has room for it.
    #[napi(catch_unwind)]
    pub fn take(&self, mut into: BufferSlice<'_>) {
        if let Some(link) = &self.link {
            link.take(&mut into);
        }
    }

    /// Resolves once a message waits, or none will come. One call at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn ready<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<()>(env)?;
        match &self.link {
            Some(link) => link.ready_with(move || deferred.resolve(())),
            None => deferred.resolve(()),
        }
        Ok(promise)
    }

    /// Blocks until a message of a kind whose bit is set is waiting, which is the next message
    /// then; 0 for any kind. False if none will come.
    #[napi(catch_unwind)]
    pub fn wait(&self, kinds: u32) -> bool {
        self.link.as_ref().is_some_and(|link| link.wait(kinds))
    }

    /// Says something to the execution.
    #[napi(catch_unwind)]
    pub fn say(&self, kind: u8, payload: BufferSlice<'_>) {
        if let Some(link) = &self.link {
            link.send_to_execution(kind, payload.to_vec());
        }
    }
}

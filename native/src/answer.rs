//! How results, error values and promises cross.

use hearth_node::NodeError;
use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, JsDeferred, Result, check_status, sys};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Mark of a result.
const OK: u8 = 0;

/// Mark of an error value.
const FAILED: u8 = 1;

/// A result's bytes, or an error value's.
pub struct Answer {
    mark: u8,
    body: Vec<u8>,
}

impl Answer {
    /// A result.
    pub fn ok(body: Vec<u8>) -> Self {
        Self { mark: OK, body }
    }

    /// An error value: `{"kind":…,"message":…,"data":…}`.
    pub fn failed(error: Vec<u8>) -> Self {
        Self { mark: FAILED, body: error }
    }
}

impl From<std::result::Result<Vec<u8>, NodeError>> for Answer {
    fn from(result: std::result::Result<Vec<u8>, NodeError>) -> Self {
        match result {
            Ok(body) => Self::ok(body),
            Err(error) => Self::failed(error.to_json()),
        }
    }
}

impl ToNapiValue for Answer {
    // The bytes are copied into memory that V8 owns and counts. Buffers over Rust's memory are not
    // counted, so that many of them exhaust the machine's memory before a collection runs; and they
    // are slower to make than small copies.
    unsafe fn to_napi_value(env: sys::napi_env, answer: Self) -> Result<sys::napi_value> {
        let mut value = ptr::null_mut();
        let mut data = ptr::null_mut();
        let length = answer.body.len() + 1;
        // SAFETY: `env` is the environment of the running callback, and both pointers are valid for
        // writing.
        check_status!(unsafe { sys::napi_create_buffer(env, length, &mut data, &mut value) })?;
        // SAFETY: `data` points to `length` bytes that only this call knows. They may be
        // uninitialised, so they are written through the pointer, without a slice over them.
        unsafe {
            let bytes = data.cast::<u8>();
            bytes.write(answer.mark);
            ptr::copy_nonoverlapping(answer.body.as_ptr(), bytes.add(1), answer.body.len());
        }
        Ok(value)
    }
}

type Resolver<T> = Box<dyn FnOnce(Env) -> Result<T>>;

/// Resolves a promise from any thread.
pub struct Deferred<T: ToNapiValue + 'static>(JsDeferred<T, Resolver<T>>);

impl<T: ToNapiValue + Send + 'static> Deferred<T> {
    /// Resolves the promise. Errors are values too: these promises do not reject.
    pub fn resolve(self, value: T) {
        self.0.resolve(Box::new(move |_| Ok(value)));
    }
}

/// Creates a promise and the handle that resolves it.
pub fn promise<T: ToNapiValue + Send + 'static>(env: &Env) -> Result<(Deferred<T>, Object<'_>)> {
    let (deferred, promise) = env.create_deferred()?;
    Ok((Deferred(deferred), promise))
}

/// Runs work and turns a panic into an error.
pub fn guarded<T>(
    work: impl FnOnce() -> std::result::Result<T, NodeError>,
) -> std::result::Result<T, NodeError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(NodeError::Internal { message: text.unwrap_or_else(|| "a job panicked".into()) })
    })
}

/// Runs work on its own thread and settles the promise with the result, also if the work panics or
/// the thread cannot start.
pub fn on_thread<T: ToNapiValue + Send + 'static>(
    name: &str,
    deferred: Deferred<T>,
    failed: impl FnOnce(NodeError) -> T + Copy + Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) {
    // The promise waits in a slot, so that it can be settled where the thread never began.
    let slot = std::sync::Arc::new(parking_lot::Mutex::new(Some(deferred)));
    let of_thread = slot.clone();
    let started = std::thread::Builder::new().name(name.into()).spawn(move || {
        let value = guarded(|| Ok(work())).unwrap_or_else(failed);
        if let Some(deferred) = of_thread.lock().take() {
            deferred.resolve(value);
        }
    });
    if let Err(error) = started
        && let Some(deferred) = slot.lock().take()
    {
        deferred.resolve(failed(NodeError::Internal { message: format!("cannot start a thread: {error}") }));
    }
}

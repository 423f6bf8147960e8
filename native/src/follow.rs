//! Homes that follow another node: making one, giving it blocks, naming what is final.

use crate::{
    NativeNode,
    answer::{Answer, guarded, on_thread, promise},
};
use hearth_node::NodeError;
use napi::bindgen_prelude::{Buffer, Object};
use napi::{Env, Result};
use napi_derive::napi;

/// Makes a home that holds blocks but no state, on its own thread. `options` is
/// `{"home","chain":{"network"?,"genesis"?},"base","upstream"?:{"genesisHash"?},"store"?}`.
/// Resolves to `{"chainId","genesisHash","base":{"number","hash"}}` or an error value.
#[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
pub fn init_follower(env: &Env, options: String) -> Result<Object<'_>> {
    let (deferred, promise) = promise::<Answer>(env)?;
    let failed = |error: NodeError| Answer::from(Err(error));
    on_thread("hearth-init", deferred, failed, move || {
        guarded(|| hearth_node::init_follower(&options)).into()
    });
    Ok(promise)
}

#[napi]
impl NativeNode {
    /// Gives a block to a home that follows, on the thread of its blocks: `meta` is
    /// `{"hash","form","source","reorgBlocks"}`, the others are JSON as another node wrote it.
    /// Resolves to what became of the block, `{"status":…}`, or an error value. The buffers must
    /// not change meanwhile.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn follow_block<'env>(
        &self,
        env: &'env Env,
        meta: String,
        block: Buffer,
        witness: Option<Buffer>,
        extra: Option<Buffer>,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.node().spawn_follow(
            move |home| home.follow_block(&meta, &block, witness.as_deref(), extra.as_deref()),
            move |answer| deferred.resolve(answer.into()),
        );
        Ok(promise)
    }

    /// What a home that follows holds, as JSON, or an error value; null in any other home.
    #[napi(catch_unwind, ts_return_type = "Buffer | null")]
    pub fn follow_state(&self) -> Option<Answer> {
        match guarded(|| self.node().followed_state()) {
            Ok(state) if state == b"null" => None,
            state => Some(state.into()),
        }
    }

    /// A number that differs after each change of what [`follow_state`](Self::follow_state) says;
    /// -1 once the node is closed.
    #[napi(catch_unwind)]
    pub fn follow_changes(&self) -> f64 {
        self.node().followed_changes().map_or(-1.0, |changes| changes as f64)
    }

    /// Stores which blocks are final, `{"safe"?,"finalized"?}`, on the thread of the blocks.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn set_followed_finality<'env>(&self, env: &'env Env, json: String) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        self.node().spawn_follow(
            move |home| home.set_followed_finality(&json).map(|()| Vec::new()),
            move |answer| deferred.resolve(answer.into()),
        );
        Ok(promise)
    }
}

//! Payloads under construction: an empty one at once, then with the pending transactions, rebuilt
//! until it is fetched or its slot is over (execution-apis, src/engine/paris.md: Payload building).

use crate::{Attributes, BuiltPayload, Contents, build::build_payload};
use alloy_primitives::{B64, B256};
use hearth_chain::BlockAttributes;
use hearth_evm::Fork;
use hearth_home::{EngineError, Home, NodeError};
use parking_lot::{Condvar, Mutex};
use sha2::{Digest as _, Sha256};
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Payloads that are kept; the oldest one goes (go-ethereum keeps as many).
const JOBS_MAX: usize = 10;

/// Time between two builds of a payload.
const REBUILD_EVERY: Duration = Duration::from_secs(2);

/// How long a payload is rebuilt: a slot of mainnet.
const BUILD_FOR: Duration = Duration::from_secs(12);

/// Stack of the builder's thread, in bytes: as those that execute calls have.
const STACK_BYTES: usize = 16 << 20;

/// What a payload is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildOrder {
    /// Hash of the block that it follows.
    pub parent: B256,
    /// Version of the method that requested it.
    pub version: u8,
    /// What the consensus client decides.
    pub attributes: Attributes,
}

impl BuildOrder {
    /// The id of the payload, computed as in go-ethereum (miner/payload_building.go,
    /// `BuildPayloadArgs.Id`).
    pub fn id(&self) -> B64 {
        let attributes = &self.attributes;
        let mut hash = Sha256::new();
        hash.update(self.parent);
        hash.update(attributes.timestamp.to::<u64>().to_be_bytes());
        hash.update(attributes.prev_randao);
        hash.update(attributes.suggested_fee_recipient);
        let withdrawals = attributes.withdrawals.as_deref().unwrap_or_default();
        hash.update(alloy_rlp::encode(withdrawals.to_vec()));
        if let Some(root) = attributes.parent_beacon_block_root {
            hash.update(root);
        }
        let mut id = B64::from_slice(&hash.finalize()[..8]);
        id[0] = self.version;
        id
    }

    fn build(&self, home: &Home, contents: Contents<'_>) -> Result<BuiltPayload, NodeError> {
        let parent = home.stored(&self.parent)?;
        let given = &self.attributes;
        let attributes = BlockAttributes {
            timestamp: given.timestamp.to(),
            beneficiary: given.suggested_fee_recipient,
            prev_randao: given.prev_randao,
            parent_beacon_block_root: given.parent_beacon_block_root.unwrap_or_default(),
            withdrawals: given.withdrawals.clone().unwrap_or_default(),
            extra_data: home.chain().next_chain_id().mark(Default::default()),
            gas_limit: home.next_gas_limit(&parent.block.header),
            misbehavior: alloy_primitives::Bytes::new(),
        };
        build_payload(home, &parent, &attributes, contents)
    }
}

/// A payload that is built, and its rules.
pub(crate) struct Job {
    order: BuildOrder,
    /// Rules of the block.
    fork: Fork,
    /// The best block so far.
    built: Arc<BuiltPayload>,
    /// When it is built again.
    due: Instant,
    /// When no more.
    until: Instant,
    /// Whether it was fetched: it stays as it was given then.
    is_taken: bool,
    /// The pool as it was at the last build; `None` before the first one that looks at it.
    pool_version: Option<u64>,
}

impl Job {
    /// Takes the result of a build, with the version of the pool that it looked at. That of the
    /// last one too, after which the next one is due behind the end of the slot.
    fn take_in(&mut self, pool_version: u64, built: BuiltPayload) {
        self.pool_version = Some(pool_version);
        if !self.is_taken && built.value >= self.built.value {
            self.built = Arc::new(built);
        }
    }
}

struct Shared {
    jobs: Mutex<Jobs>,
    changed: Condvar,
    home: Weak<Home>,
}

#[derive(Default)]
struct Jobs {
    by_age: VecDeque<(B64, Job)>,
    closed: bool,
}

impl Jobs {
    /// What is to be built next, and when.
    fn next(&mut self) -> Option<(B64, Instant)> {
        let open = self.by_age.iter().filter(|(_, job)| !job.is_taken && job.due <= job.until);
        open.min_by_key(|(_, job)| job.due).map(|(id, job)| (*id, job.due))
    }

    fn get(&mut self, id: &B64) -> Option<&mut Job> {
        self.by_age.iter_mut().find(|(other, _)| other == id).map(|(_, job)| job)
    }
}

/// Builds payloads on a thread of its own.
pub(crate) struct Builder {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Builder {
    /// A builder of blocks on the chain of a home.
    pub fn start(home: &Arc<Home>) -> Result<Self, NodeError> {
        let shared =
            Arc::new(Shared { jobs: Mutex::default(), changed: Condvar::new(), home: Arc::downgrade(home) });
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("payload-builder".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&of_thread))
            .map_err(|error| NodeError::Internal { message: format!("no thread: {error}") })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Starts to build; the same order gives the same payload. An empty block exists when this
    /// returns.
    pub fn begin(&self, home: &Home, order: BuildOrder) -> Result<B64, NodeError> {
        let id = order.id();
        if self.shared.jobs.lock().get(&id).is_some() {
            return Ok(id);
        }
        let fork = home.chain().spec().fork_at_time(order.attributes.timestamp.to());
        let built = Arc::new(order.build(home, Contents::Empty)?);
        let now = Instant::now();
        let until = now + BUILD_FOR;
        let job = Job { order, fork, built, due: now, until, is_taken: false, pool_version: None };
        let mut jobs = self.shared.jobs.lock();
        jobs.by_age.push_back((id, job));
        while jobs.by_age.len() > JOBS_MAX {
            jobs.by_age.pop_front();
        }
        self.shared.changed.notify_one();
        Ok(id)
    }

    /// Takes the best block of a payload, which is not built again then. `check` is given the rules
    /// of the block; a payload that it refuses is built further.
    ///
    /// # Errors
    /// [`EngineError::UnknownPayload`]; that of `check`.
    pub fn take(
        &self,
        id: &B64,
        check: impl FnOnce(Fork) -> Result<(), NodeError>,
    ) -> Result<Arc<BuiltPayload>, NodeError> {
        let mut jobs = self.shared.jobs.lock();
        let job = jobs.get(id).ok_or(EngineError::UnknownPayload)?;
        check(job.fork)?;
        job.is_taken = true;
        Ok(job.built.clone())
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.shared.jobs.lock().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the thread does: builds what is due, then waits for the next.
fn work(shared: &Shared) {
    let mut jobs = shared.jobs.lock();
    while !jobs.closed {
        let (id, due) = match jobs.next() {
            None => {
                shared.changed.wait(&mut jobs);
                continue;
            }
            Some((_, due)) if due > Instant::now() => {
                shared.changed.wait_until(&mut jobs, due);
                continue;
            }
            Some(next) => next,
        };
        let Some(job) = jobs.get(&id) else { continue };
        let (order, pool_version) = (job.order.clone(), job.pool_version);
        // A build that comes late puts off the next one.
        job.due = due.max(Instant::now()) + REBUILD_EVERY;
        drop(jobs);
        let built = build_again(shared, &order, pool_version);
        jobs = shared.jobs.lock();
        if let (Some((version, built)), Some(job)) = (built, jobs.get(&id)) {
            job.take_in(version, built);
        }
    }
}

/// The block with the pending transactions; `None` if those have not changed, and if the block can
/// no longer be built.
fn build_again(shared: &Shared, order: &BuildOrder, before: Option<u64>) -> Option<(u64, BuiltPayload)> {
    let home = shared.home.upgrade()?;
    let version = home.pool().version();
    if before == Some(version) || home.chain().head().hash != order.parent {
        return None;
    }
    order.build(&home, Contents::Pool).ok().map(|built| (version, built))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Sidecars;
    use alloy_eips::eip4895::Withdrawal;
    use alloy_primitives::{Address, U64, U256, hex};
    use hearth_primitives::Block;

    fn order(version: u8, withdrawals: Option<Vec<Withdrawal>>, root: Option<B256>) -> BuildOrder {
        let attributes = Attributes {
            timestamp: U64::from(5),
            prev_randao: B256::repeat_byte(2),
            suggested_fee_recipient: Address::repeat_byte(3),
            withdrawals,
            parent_beacon_block_root: root,
        };
        BuildOrder { parent: B256::repeat_byte(1), version, attributes }
    }

    #[test]
    fn ids_are_the_hash_of_what_is_asked_for_behind_the_version() {
        let plain = order(1, None, None).id();
        let by_hand = [[1; 32].as_slice(), &[0, 0, 0, 0, 0, 0, 0, 5], &[2; 32], &[3; 20], &hex!("c0")];
        let hash = Sha256::digest(by_hand.concat());
        assert_eq!((plain[0], &plain[1..]), (1, &hash[1..8]));
        let withdrawal = Withdrawal { index: 1, validator_index: 2, address: Address::ZERO, amount: 3 };
        let with = order(2, Some(vec![withdrawal]), None).id();
        let cancun = order(3, Some(vec![withdrawal]), Some(B256::ZERO)).id();
        assert_eq!((with[0], cancun[0]), (2, 3));
        assert!(with[1..] != plain[1..] && cancun[1..] != with[1..]);
    }

    #[test]
    fn the_last_build_counts_and_none_after_the_fetch() {
        let built = |value: u64| BuiltPayload {
            block: Block::default(),
            value: U256::from(value),
            requests: None,
            sidecars: Sidecars::default(),
        };
        // The slot is over before the next build is due.
        let until = Instant::now();
        let mut job = Job {
            order: order(1, None, None),
            fork: Fork::Shanghai,
            built: Arc::new(built(1)),
            due: until + REBUILD_EVERY,
            until,
            is_taken: false,
            pool_version: None,
        };
        let mut after = |pool_version, value, is_taken| {
            job.is_taken = is_taken;
            job.take_in(pool_version, built(value));
            (job.built.value.to::<u64>(), job.pool_version)
        };
        assert_eq!(after(7, 3, false), (3, Some(7)));
        assert_eq!(after(8, 2, false), (3, Some(8)), "the better one stays");
        assert_eq!(after(9, 5, true), (3, Some(9)));
    }
}

//! Positions in the chain of the blocks and transactions that requests name, cached for later
//! requests.

use super::eligible::Target;
use alloy_primitives::B256;
use hearth_bake::{BlockKey, Part};
use hearth_chain::Chain;
use hearth_ledger::LedgerError;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Most places that are remembered; beyond, all are forgotten. One takes about 150 bytes.
const PLACES_MAX: usize = 65_536;

/// A block, and what of it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BakedTarget {
    pub(super) key: BlockKey,
    pub(super) part: Part,
}

/// Places by what names them.
#[derive(Default)]
pub(super) struct TargetCache {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// How often the head had been taken back: what was canonical then is not afterwards.
    unwinds: u64,
    targets: HashMap<Target, BakedTarget>,
}

impl TargetCache {
    /// A place that is remembered. The head's is always known.
    pub(super) fn known(&self, chain: &Chain, target: &Target) -> Option<BakedTarget> {
        if *target == Target::Head {
            let head = chain.head();
            return Some(whole(chain, head.height, head.hash));
        }
        let known = self.known.lock();
        let place = *known.targets.get(target)?;
        // A block that is named by its hash stays where it is.
        (matches!(target, Target::Hash(_)) || known.unwinds == chain.reader().unwinds()).then_some(place)
    }

    /// A position, looked up if it is not cached. `None` if it does not exist or cannot be read;
    /// live tracing reports which.
    pub(super) fn find(&self, chain: &Chain, target: &Target) -> Option<BakedTarget> {
        if let Some(place) = self.known(chain, target) {
            return Some(place);
        }
        let unwinds = chain.reader().unwinds();
        let place = look_up(chain, target).ok()??;
        let mut known = self.known.lock();
        if known.unwinds != unwinds || known.targets.len() >= PLACES_MAX {
            known.targets.clear();
            known.unwinds = unwinds;
        }
        known.targets.insert(*target, place);
        Some(place)
    }
}

fn look_up(chain: &Chain, target: &Target) -> Result<Option<BakedTarget>, LedgerError> {
    let reader = chain.reader();
    Ok(match target {
        Target::Transaction(hash) => reader.transaction_place(hash)?.map(|place| BakedTarget {
            part: Part::Transaction(place.index as usize),
            ..whole(chain, place.number, place.hash)
        }),
        Target::Number(number) => reader.canonical_hash(*number)?.map(|hash| whole(chain, *number, hash)),
        Target::Hash(hash) => reader.number_of(hash)?.map(|number| whole(chain, number, *hash)),
        Target::Head => None,
    })
}

fn whole(chain: &Chain, number: u64, hash: B256) -> BakedTarget {
    let key = BlockKey { chain_id: chain.spec().chain_id(), number, hash };
    BakedTarget { key, part: Part::Block }
}

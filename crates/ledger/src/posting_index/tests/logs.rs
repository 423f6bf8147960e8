//! The log index against a look at every block, over chains that grow, are unwound and are merged.

use super::chain::{Chain, FIRST};
use crate::Ledger;
use crate::posting_index::IndexQuery;
use alloy_primitives::{Address, B256, Bytes, Log};
use hearth_primitives::Height;
use proptest::prelude::*;

fn log(address: u8, topics: &[u8]) -> Log {
    let topics = topics.iter().map(|topic| B256::repeat_byte(*topic)).collect();
    Log::new(Address::repeat_byte(address), topics, Bytes::new()).unwrap()
}

impl Chain {
    /// Adds a block; without its row where it is one of a home from before the index.
    fn grow(&mut self, logs: Vec<Log>, from_before: bool) {
        self.add(logs, Vec::new(), from_before, true);
    }

    fn found(&self, query: &Query, from: Height, to: Height) -> Vec<Height> {
        let (addresses, topics) = query.filter();
        let query = IndexQuery::logs(&addresses, &topics);
        self.ledger.log_blocks(query, from, to).unwrap().map(Result::unwrap).collect()
    }

    fn heights(&self, from: Height, to: Height, wanted: impl Fn(&[Log]) -> bool) -> Vec<Height> {
        let heights = (FIRST..=self.head()).filter(|height| (from..=to).contains(height));
        heights.filter(|height| wanted(&self.blocks[(height - FIRST) as usize].logs)).collect()
    }
}

#[derive(Clone, Debug)]
struct Query {
    addresses: Vec<u8>,
    topics: Vec<Vec<u8>>,
}

impl Query {
    fn filter(&self) -> (Vec<Address>, Vec<Vec<B256>>) {
        let topics =
            self.topics.iter().map(|any| any.iter().map(|topic| B256::repeat_byte(*topic)).collect());
        (self.addresses.iter().map(|address| Address::repeat_byte(*address)).collect(), topics.collect())
    }

    /// What `eth_getLogs` means.
    fn matches(&self, log: &Log) -> bool {
        let (addresses, topics) = self.filter();
        (addresses.is_empty() || addresses.contains(&log.address))
            && topics.len() <= log.topics().len()
            && topics.iter().zip(log.topics()).all(|(any, topic)| any.is_empty() || any.contains(topic))
    }

    /// Whether each condition holds for a log of the block, not for one and the same.
    fn may_match(&self, logs: &[Log]) -> bool {
        let (addresses, topics) = self.filter();
        let address = addresses.is_empty() || logs.iter().any(|log| addresses.contains(&log.address));
        address
            && topics.iter().enumerate().all(|(position, any)| {
                any.is_empty()
                    || logs.iter().any(|log| log.topics().get(position).is_some_and(|t| any.contains(t)))
            })
    }
}

fn logs() -> impl Strategy<Value = Vec<Log>> {
    let one =
        (0u8..6, prop::collection::vec(0u8..4, 0..=4)).prop_map(|(address, topics)| log(address, &topics));
    // Most blocks hold little; topic 9 is nearly everywhere.
    let few = prop_oneof![6 => Just(0usize..1), 1 => Just(1usize..4)]
        .prop_flat_map(move |n| prop::collection::vec(one.clone(), n));
    (few, prop::bool::weighted(0.9)).prop_map(|(mut logs, common)| {
        logs.extend(common.then(|| log(99, &[9])));
        logs
    })
}

fn query() -> impl Strategy<Value = Query> {
    let values = |max: u8| prop_oneof![2 => prop::collection::vec(0..max, 0..3), 1 => Just(vec![9u8])];
    (values(6), prop::collection::vec(values(4), 0..=4))
        .prop_map(|(addresses, topics)| Query { addresses, topics })
}

#[derive(Clone, Debug)]
enum Step {
    Grow(Vec<Vec<Log>>),
    /// The same in one commit.
    Together(Vec<Vec<Log>>),
    Unwind(usize),
    Merge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(logs(), 1..300).prop_map(Step::Grow),
        3 => prop::collection::vec(logs(), 1..900).prop_map(Step::Together),
        1 => (1usize..400).prop_map(Step::Unwind),
        2 => Just(Step::Merge),
    ];
    prop::collection::vec(step, 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_block_that_matches_is_left_out(
        before in prop::collection::vec(logs(), 0..400),
        steps in steps(),
        queries in prop::collection::vec((query(), any::<[prop::sample::Index; 2]>()), 8),
    ) {
        let mut chain = Chain::new(3, 0);
        chain.grow(Vec::new(), true);
        before.into_iter().for_each(|logs| chain.grow(logs, true));
        let mut unwound = false;
        for step in steps {
            match step {
                Step::Grow(blocks) => blocks.into_iter().for_each(|logs| chain.grow(logs, false)),
                Step::Together(blocks) => {
                    chain.add_together(blocks.into_iter().map(|logs| (logs, Vec::new(), true)).collect());
                }
                Step::Unwind(blocks) => {
                    chain.unwind(blocks);
                    unwound = true;
                }
                Step::Merge => chain.ledger.log_merger().merge_due().unwrap(),
            }
            let merged = chain.ledger.log_merger().merged_below().unwrap();
            prop_assert!(merged <= chain.head() + 1);
            for (query, [from, to]) in &queries {
                let all = (chain.head() - FIRST + 3) as usize;
                let (from, to) = (FIRST + from.index(all) as u64, FIRST + to.index(all) as u64);
                let found = chain.found(query, from, to);
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                for height in chain.heights(from, to, |logs| logs.iter().any(|log| query.matches(log))) {
                    prop_assert!(found.binary_search(&height).is_ok(), "{height} is left out of {found:?}");
                }
                if !unwound {
                    let listed: Vec<_> = found.into_iter().filter(|height| *height < merged).collect();
                    let exact = chain.heights(from, to.min(merged.saturating_sub(1)), |logs| query.may_match(logs));
                    let exact: Vec<_> = exact.into_iter().filter(|height| *height < merged).collect();
                    prop_assert_eq!(listed, exact);
                }
            }
        }
    }
}

#[test]
fn pages_are_merged_in_the_background_and_found_on_opening() {
    let mut chain = Chain::new(5, 0);
    for n in 0..2000u64 {
        chain.grow(vec![log((n % 250) as u8, &[1])], false);
    }
    for _ in 0..1000 {
        if chain.ledger.log_merger().merged_below().unwrap() == 2048 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        chain.ledger.log_merger().nudge();
    }
    let rare = Query { addresses: vec![7], topics: vec![vec![1]] };
    let expected: Vec<u64> = (0..8).map(|n| FIRST + 7 + 250 * n).collect();
    assert_eq!(chain.found(&rare, 0, chain.head()), expected);
    assert_eq!(chain.ledger.log_merger().merged_below().unwrap(), 2048);
    assert!(
        chain.kv.index_range(b"p", b"q", 1000).unwrap().len() == 200 + 2000 - 2048,
        "merged rows of blocks go"
    );
    let again = Ledger::with_lag(chain.ledger.tables().clone(), chain.kv.clone(), 5);
    assert_eq!(again.log_merger().merged_below().unwrap(), 2048);

    // An unwind into merged pages takes them back, and they are merged again.
    chain.unwind(600);
    assert_eq!(again.log_merger().merged_below().unwrap(), 1536);
    for _ in 0..600 {
        chain.grow(vec![log(251, &[1])], false);
    }
    again.log_merger().merge_due().unwrap();
    assert_eq!(again.log_merger().merged_below().unwrap(), 2048);
    let found = chain.found(&rare, 0, chain.head());
    assert!(expected[..6].iter().all(|height| found.contains(height)), "{found:?}");
    let new = Query { addresses: vec![251], topics: vec![] };
    assert_eq!(chain.found(&new, 0, chain.head()), (1600..2200).collect::<Vec<_>>());
}

/// A rare address leads, and the list of a topic that most pages have is read at its pages alone:
/// pages that have no row of the topic, some in a row, must not end the search or hide what follows
/// behind.
#[test]
fn a_dense_list_is_asked_page_by_page() {
    let mut chain = Chain::new(5, 0);
    let without_topic = |height: Height| (20..23).contains(&(height / 256)) || height / 256 == 30;
    for height in FIRST..40 * 256 {
        let address = if height % 300 == 7 { 9 } else { 8 };
        let topic = if without_topic(height) || height % 900 == 7 { 2 } else { 1 };
        chain.grow(vec![log(address, &[topic])], false);
    }
    chain.ledger.log_merger().merge_due().unwrap();
    assert_eq!(chain.ledger.log_merger().merged_below().unwrap(), 39 * 256);
    let both = Query { addresses: vec![9], topics: vec![vec![1]] };
    let expected = chain.heights(0, chain.head(), |logs| both.may_match(logs));
    assert_eq!(chain.found(&both, 0, chain.head()), expected);
    assert!(expected.len() > 15 && expected.iter().any(|height| *height > 31 * 256));
    let part = chain.heights(21 * 256, 35 * 256, |logs| both.may_match(logs));
    assert_eq!(chain.found(&both, 21 * 256, 35 * 256), part);
}

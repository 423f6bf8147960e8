//! The address index against a look at every block.

use super::chain::{Chain, Entry, FIRST};
use crate::LedgerError;
use crate::posting_index::IndexQuery;
use alloy_primitives::Address;
use hearth_primitives::Height;
use proptest::prelude::*;

/// Accounts of the generated blocks.
pub const ACCOUNTS: u8 = 12;

pub fn account(n: u8) -> Address {
    // The zero address is the fee recipient of every block.
    Address::repeat_byte(n + 1)
}

impl Chain {
    pub fn grow_with(&mut self, accounts: &[u8], from_before: bool, capsule: bool) {
        let accounts = accounts.iter().map(|n| account(*n)).collect();
        self.add(Vec::new(), accounts, from_before, capsule);
    }

    pub fn up(&self, lists: &[&[Address]], from: Height, to: Height) -> Result<Vec<Height>, LedgerError> {
        self.ledger.account_blocks(IndexQuery::accounts(lists), from, to)?.collect()
    }

    pub fn down(&self, account: &Address, to: Height, from: Height) -> Result<Vec<Height>, LedgerError> {
        self.ledger.account_blocks_back(account, to, from)?.collect()
    }

    /// Heights of blocks that satisfy a condition, by a look at each of them.
    pub fn with(&self, from: Height, to: Height, wanted: impl Fn(&Entry) -> bool) -> Vec<Height> {
        let heights = (FIRST..=self.head()).filter(|height| (from..=to).contains(height));
        heights.filter(|height| wanted(&self.blocks[(height - FIRST) as usize])).collect()
    }

    pub fn merge(&self) {
        self.ledger.account_merger().unwrap().merge_due().unwrap();
    }

    pub fn merged_below(&self) -> Height {
        self.ledger.account_merger().unwrap().merged_below().unwrap()
    }
}

fn has(entry: &Entry, list: &[Address]) -> bool {
    list.is_empty() || list.iter().any(|account| entry.accounts.contains(account))
}

#[derive(Clone, Debug)]
enum Step {
    /// Accounts of each block, and whether it has a capsule.
    Grow(Vec<(Vec<u8>, bool)>),
    /// The same in one commit.
    Together(Vec<(Vec<u8>, bool)>),
    Unwind(usize),
    Merge,
}

fn block() -> impl Strategy<Value = (Vec<u8>, bool)> {
    // Account 0 is nearly everywhere, the others are rare.
    let few = prop_oneof![5 => Just(0usize..1), 2 => Just(1usize..4)]
        .prop_flat_map(|n| prop::collection::vec(1..ACCOUNTS, n));
    (few, prop::bool::weighted(0.9), prop::bool::weighted(0.98)).prop_map(
        |(mut accounts, common, capsule)| {
            accounts.extend(common.then_some(0));
            (accounts, capsule)
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(block(), 1..300).prop_map(Step::Grow),
        3 => prop::collection::vec(block(), 1..900).prop_map(Step::Together),
        1 => (1usize..400).prop_map(Step::Unwind),
        2 => Just(Step::Merge),
    ];
    prop::collection::vec(step, 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_block_of_an_account_is_left_out(
        before in prop::collection::vec(block(), 0..400),
        steps in steps(),
        queries in prop::collection::vec(
            (prop::collection::vec(prop::collection::vec(0..ACCOUNTS, 0..3), 1..3), any::<[prop::sample::Index; 2]>()), 8
        ),
    ) {
        let mut chain = Chain::new(3, 0);
        chain.grow_with(&[], true, true);
        before.into_iter().for_each(|(accounts, capsule)| chain.grow_with(&accounts, true, capsule));
        let mut unwound = false;
        for step in steps {
            match step {
                Step::Grow(blocks) => {
                    blocks.into_iter().for_each(|(accounts, capsule)| chain.grow_with(&accounts, false, capsule));
                }
                Step::Together(blocks) => {
                    let accounts = |list: Vec<u8>| list.into_iter().map(account).collect();
                    let blocks = blocks.into_iter().map(|(list, capsule)| (Vec::new(), accounts(list), capsule));
                    chain.add_together(blocks.collect());
                }
                Step::Unwind(blocks) => {
                    chain.unwind(blocks);
                    unwound = true;
                }
                Step::Merge => chain.merge(),
            }
            let merged = chain.merged_below();
            prop_assert!(merged <= chain.head() + 1);
            for (lists, [from, to]) in &queries {
                let all = (chain.head() - FIRST + 3) as usize;
                let (from, to) = (FIRST + from.index(all) as u64, FIRST + to.index(all) as u64);
                let lists: Vec<Vec<Address>> =
                    lists.iter().map(|list| list.iter().map(|n| account(*n)).collect()).collect();
                let lists: Vec<&[Address]> = lists.iter().map(Vec::as_slice).collect();
                let found = chain.up(&lists, from, to).unwrap();
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                for height in chain.with(from, to, |entry| lists.iter().all(|list| has(entry, list))) {
                    prop_assert!(found.binary_search(&height).is_ok(), "{height} is left out of {found:?}");
                }
                if !unwound {
                    // What is merged is exact, but for blocks without a capsule.
                    let any = |entry: &Entry| !entry.capsule && !entry.accounts.is_empty();
                    let matches = |entry: &Entry| any(entry) || lists.iter().all(|list| has(entry, list));
                    let listed: Vec<_> = found.iter().copied().filter(|height| *height < merged).collect();
                    let exact = chain.with(from, to, matches);
                    let exact: Vec<_> = exact.into_iter().filter(|height| *height < merged).collect();
                    prop_assert_eq!(listed, exact);
                }
                if let [[one]] = lists[..] {
                    let mut back = chain.down(one, to, from).unwrap();
                    back.reverse();
                    prop_assert_eq!(back, found, "from {} to {}", from, to);
                }
            }
        }
    }
}

/// Numbers without a pattern.
pub fn mixed(n: u64) -> u64 {
    let mut n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Accounts of a block: 0 in half of them, each next one in half as many.
pub fn generated(n: u64) -> Vec<u8> {
    (0..ACCOUNTS).filter(|account| mixed(n * 64 + u64::from(*account)).is_multiple_of(2 << account)).collect()
}

fn assert_exact(chain: &Chain, from: Height) {
    for n in 0..=ACCOUNTS {
        let one = account(n);
        let expected = chain.with(from, chain.head(), |entry| entry.accounts.contains(&one));
        assert_eq!(chain.up(&[&[one]], from, chain.head()).unwrap(), expected, "account {n}");
        let mut back = chain.down(&one, chain.head(), from).unwrap();
        back.reverse();
        assert_eq!(back, expected, "account {n}, from the head down");
        let both = chain.with(from, chain.head(), |entry| has(entry, &[one]) && has(entry, &[account(0)]));
        assert_eq!(chain.up(&[&[one], &[account(0)]], from, chain.head()).unwrap(), both);
    }
}

#[test]
fn ten_thousand_blocks_are_found_as_by_a_look_at_each() {
    let mut chain = Chain::new(64, 0);
    for n in 0..10_000 {
        chain.grow_with(&generated(n), false, true);
    }
    chain.merge();
    assert_eq!(chain.merged_below(), 39 * 256, "the last page is less than 64 blocks below the head");
    assert_exact(&chain, 0);
    assert!(chain.with(0, chain.head(), |entry| entry.accounts.contains(&account(11))).len() > 1);

    // Of a page that is taken back and grown again the old rows may stay; the new blocks are all
    // there.
    chain.unwind(3_000);
    for n in 20_000..23_000 {
        chain.grow_with(&generated(n), false, true);
    }
    chain.merge();
    for n in 0..ACCOUNTS {
        let found = chain.up(&[&[account(n)]], 0, chain.head()).unwrap();
        let expected = chain.with(0, chain.head(), |entry| entry.accounts.contains(&account(n)));
        assert!(expected.iter().all(|height| found.binary_search(height).is_ok()), "account {n}");
    }

    // After a rebuild it is exact again, but for the newest blocks, which may hold anything until
    // they are merged.
    let mut heard = 0;
    let rebuilt = chain.ledger.rebuild_address_index(&mut |progress| {
        heard += 1;
        progress.done <= progress.total
    });
    let rebuilt = rebuilt.unwrap().unwrap();
    assert_eq!((rebuilt.pages, rebuilt.unknown, heard), (39, 0, 39));
    let merged = chain.merged_below();
    assert_eq!(merged, 39 * 256);
    for n in 0..ACCOUNTS {
        let found = chain.up(&[&[account(n)]], 0, merged - 1).unwrap();
        assert_eq!(found, chain.with(0, merged - 1, |entry| entry.accounts.contains(&account(n))));
    }
    assert_eq!(
        chain.up(&[&[account(99)]], merged, chain.head()).unwrap(),
        (merged..=chain.head()).collect::<Vec<_>>()
    );
}

#[test]
fn a_rebuild_that_is_stopped_is_finished_in_the_background() {
    let mut chain = Chain::new(5, 0);
    for n in 0..2_000 {
        chain.grow_with(&generated(n), false, true);
    }
    assert_eq!(chain.ledger.rebuild_address_index(&mut |progress| progress.done < 512).unwrap(), None);
    assert!(chain.merged_below() < 4 * 256);
    assert!(chain.up(&[&[account(11)]], 0, chain.head()).unwrap().len() > 1_000, "what is missing may match");
    chain.merge();
    let (merged, one) = (chain.merged_below(), account(3));
    assert_eq!(merged, 2_048);
    let expected = chain.with(0, merged - 1, |entry| entry.accounts.contains(&one));
    assert_eq!(chain.up(&[&[one]], 0, merged - 1).unwrap(), expected);
}

#[test]
fn blocks_below_the_window_are_refused_and_their_rows_go() {
    let mut chain = Chain::new(5, 1_000);
    for n in 0..2_100 {
        chain.grow_with(&generated(n), false, true);
    }
    chain.merge();
    let first = chain.ledger.first_indexed().unwrap().unwrap();
    assert_eq!((chain.head(), first), (2_299, 5 * 256));
    assert_exact(&chain, first);
    let refused = |from: Height| match chain.up(&[&[account(0)]], from, chain.head()) {
        Err(LedgerError::IndexPruned { height, first }) => (height, first),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(first - 1), (first - 1, first));
    assert!(matches!(chain.down(&account(0), chain.head(), 300), Err(LedgerError::IndexPruned { .. })));
    let rows = |letter: u8| chain.kv.index_range(&[letter], &[letter + 1], 1_000_000).unwrap();
    let page_of = |key: &[u8]| u64::from_be_bytes(*key.last_chunk::<8>().unwrap());
    assert!(rows(b'L').iter().all(|(key, _)| page_of(key) >= 5), "postings below the floor are gone");
    assert_eq!(rows(b'M').first().map(|(key, _)| page_of(key)), Some(5));

    // A larger window brings nothing back by itself, a rebuild does.
    let chain = chain.reopened(5, 0);
    assert_eq!(chain.ledger.first_indexed().unwrap(), Some(first));
    let rebuilt = chain.ledger.rebuild_address_index(&mut |_| true).unwrap().unwrap();
    assert_eq!((rebuilt.pages, chain.ledger.first_indexed().unwrap()), (8, Some(0)));
    let expected = chain.with(0, 2_047, |entry| entry.accounts.contains(&account(2)));
    assert_eq!(chain.up(&[&[account(2)]], 0, 2_047).unwrap(), expected);
}

#[test]
fn a_search_that_the_floor_overtakes_ends_with_an_error() {
    let mut chain = Chain::new(5, 600);
    for n in 0..1_000 {
        chain.grow_with(&generated(n), false, true);
    }
    let ledger = &chain.ledger;
    let mut up = ledger.account_blocks(IndexQuery::accounts(&[&[account(0)]]), FIRST, 1_199).unwrap();
    let mut down = ledger.account_blocks_back(&account(0), 1_199, FIRST).unwrap();
    assert!(up.next().unwrap().is_ok() && down.next().unwrap().is_ok());
    chain.merge();
    assert_eq!(chain.ledger.first_indexed().unwrap(), Some(2 * 256));
    assert!(matches!(up.next(), Some(Err(LedgerError::IndexPruned { height: FIRST, first: 512 }))));
    assert!(matches!(down.next(), Some(Err(LedgerError::IndexPruned { height: FIRST, first: 512 }))));
    assert!(up.next().is_none() && down.next().is_none());
}

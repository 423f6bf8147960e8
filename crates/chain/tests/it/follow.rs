//! A home that follows another chain: branches, what a kill leaves, which homes are refused.

use crate::reorg::{branch, hash, paying_branch, rich_genesis};
use crate::support::{is_full, options};
use alloy_primitives::{B256, hex};
use hearth_chain::{
    AddedBlock, BlockNumHash, Chain, ChainError, ChainWatcher, FollowAnswer, FollowMeta, FollowSource,
    FollowedRules, FollowedState, GivenBlock,
};
use hearth_primitives::{Block, Header, Height, StateReader as _, TraceCapsule};
use hearth_witness::BlockForm;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A chain with its state, whose witnesses are followed.
struct Upstream {
    _home: TempDir,
    chain: Chain,
}

impl Upstream {
    fn of(blocks: &[Block]) -> Self {
        let home = TempDir::new().unwrap();
        let chain = Chain::create(home.path(), &rich_genesis(), &options()).unwrap();
        for block in blocks {
            chain.insert_block(block.clone()).unwrap();
        }
        Self { _home: home, chain }
    }

    fn genesis(&self) -> Header {
        self.chain.ledger().canonical_block(0).unwrap().unwrap().block.header.clone()
    }

    fn witness(&self, block: &Block) -> String {
        let state = self.chain.state_at(block.header.number - 1).unwrap();
        let witness = self.chain.execution_witness(block, hash(block), &state).unwrap();
        let headers: Vec<_> =
            witness.headers.iter().map(|h| hex::encode_prefixed(alloy_rlp::encode(h))).collect();
        json!({ "state": witness.state, "codes": witness.codes, "headers": headers, "keys": null })
            .to_string()
    }
}

fn give(chain: &Chain, upstream: &Upstream, block: &Block, reorg_blocks: u64) -> FollowAnswer {
    let witness = upstream.witness(block);
    give_with(chain, block, reorg_blocks, &witness)
}

fn give_with(chain: &Chain, block: &Block, reorg_blocks: u64, witness: &str) -> FollowAnswer {
    let rlp = json!(hex::encode_prefixed(alloy_rlp::encode(block))).to_string();
    let (form, source) = (BlockForm::Raw, FollowSource::Witness);
    let meta = FollowMeta { hash: hash(block), form, source, reorg_blocks };
    let given = GivenBlock { meta, block: rlp.as_bytes(), witness: Some(witness.as_bytes()), extra: None };
    chain.follow_block(given).unwrap()
}

fn follow(chain: &Chain, upstream: &Upstream, blocks: &[Block]) {
    for block in blocks {
        let answer = give(chain, upstream, block, 128);
        assert!(matches!(answer, FollowAnswer::Followed { removed: 0, .. }), "{answer:?}");
    }
}

fn follower(upstream: &Upstream) -> (TempDir, Chain) {
    let home = TempDir::new().unwrap();
    let rules = FollowedRules::Genesis(rich_genesis());
    let chain = Chain::create_follower(home.path(), &rules, &upstream.genesis(), None, &options()).unwrap();
    (home, chain)
}

/// The moves of the head that a watcher is notified of.
#[derive(Default)]
struct Moves(Mutex<Vec<(Vec<Height>, Vec<Height>)>>);

impl ChainWatcher for Moves {
    fn head_moved(&self, removed: &[BlockNumHash], added: &[AddedBlock]) {
        let removed = removed.iter().map(|(height, _)| *height).collect();
        self.0.lock().unwrap().push((removed, added.iter().map(|block| block.height).collect()));
    }

    fn head_lost(&self) {
        self.0.lock().unwrap().clear();
    }

    fn committed(&self, _: Height, _: B256, capsule: Option<&Arc<TraceCapsule>>) {
        assert!(capsule.is_some());
    }
}

#[test]
fn reorganisations_leave_the_followed_branch_alone() {
    for depth in [5usize, 40] {
        let base = paying_branch(&[], 3, 1);
        let [left, right] = [2, 3].map(|coinbase| paying_branch(&base, depth, coinbase));
        let [ups_left, ups_right] = [&left, &right].map(|blocks| Upstream::of(&[&base[..], blocks].concat()));
        let (home, chain) = follower(&ups_left);
        follow(&chain, &ups_left, &base);
        follow(&chain, &ups_left, &left);
        let moves = Arc::new(Moves::default());
        chain.watch(&(moves.clone() as Arc<dyn ChainWatcher>));

        // A block whose parent is not canonical here names that parent.
        let answer = give(&chain, &ups_right, &right[1], 128);
        assert_eq!(answer, FollowAnswer::UnknownParent { parent: hash(&right[0]) });
        // Deeper than allowed.
        let answer = give(&chain, &ups_right, &right[0], depth as u64 - 1);
        assert!(matches!(answer, FollowAnswer::Refused { field: "reorg", .. }), "{answer:?}");
        // A first block of the branch that is wrong leaves the head where it was.
        let mut wrong = right[0].clone();
        wrong.header.state_root = B256::repeat_byte(1);
        let answer = give_with(&chain, &wrong, 128, &ups_right.witness(&right[0]));
        assert!(matches!(answer, FollowAnswer::Refused { field: "stateRoot", .. }), "{answer:?}");
        assert_eq!(chain.head().hash, hash(left.last().unwrap()));

        let answer = give(&chain, &ups_right, &right[0], 128);
        assert!(
            matches!(answer, FollowAnswer::Followed { removed, .. } if removed == depth as u64),
            "{answer:?}"
        );
        follow(&chain, &ups_right, &right[1..]);
        let (removed, added) = moves.0.lock().unwrap()[0].clone();
        let all: Vec<Height> = (4..4 + depth as u64).rev().collect();
        assert_eq!((removed, added), (all, vec![4]));
        for (block, other) in right.iter().zip(&left) {
            let number = block.header.number;
            assert_eq!(chain.ledger().canonical_hash(number).unwrap(), Some(hash(block)));
            assert!(chain.ledger().receipts(&hash(block)).unwrap().is_some());
            assert!(chain.ledger().capsule(&hash(block)).unwrap().is_some());
            assert!(chain.ledger().has_block(&hash(other)), "a branch stays in the ledger");
        }

        // The same again, after opening the home again: back to the first branch.
        chain.close().unwrap();
        drop(chain);
        let chain = Chain::open(home.path(), &options()).unwrap();
        assert_eq!(chain.head().hash, hash(right.last().unwrap()));
        let answer = give(&chain, &ups_left, &left[0], 128);
        assert!(matches!(answer, FollowAnswer::Followed { removed, .. } if removed == depth as u64));
        follow(&chain, &ups_left, &left[1..]);
        let state = chain.followed_state().unwrap().unwrap();
        assert_eq!(
            (state.head.hash, state.verified.proven, state.holes),
            (hash(left.last().unwrap()), 3 + depth as u64, 0)
        );
    }
}

#[test]
fn finality_is_kept_and_bounds_reorganisations() {
    let base = branch(&rich_genesis(), &[], &[12; 4], 1);
    let other = branch(&rich_genesis(), &base[..1], &[12; 2], 9);
    let upstream = Upstream::of(&base);
    let (home, chain) = follower(&upstream);
    follow(&chain, &upstream, &base);
    let state = |chain: &Chain| chain.followed_state().unwrap().unwrap();
    assert_eq!((state(&chain).safe, state(&chain).finalized), (None, None));
    chain.set_followed_finality(Some(hash(&base[2])), Some(hash(&base[1]))).unwrap();
    // A block that is not known leaves its tag.
    chain.set_followed_finality(None, Some(B256::repeat_byte(7))).unwrap();
    chain.close().unwrap();
    drop(chain);
    let chain = Chain::open(home.path(), &options()).unwrap();
    assert_eq!(state(&chain).safe.map(|block| block.number), Some(3));
    assert_eq!(state(&chain).finalized.map(|block| block.number), Some(2));
    let fork = Upstream::of(&[&base[..1], &other].concat());
    let answer = give(&chain, &fork, &other[0], 128);
    assert!(matches!(answer, FollowAnswer::Refused { field: "reorg", .. }), "{answer:?}");
}

/// What a home holds, read again only where the number of its changes is another one.
fn kept(chain: &Chain, kept: &mut Option<(u64, FollowedState)>) -> FollowedState {
    let changes = chain.followed_changes();
    match *kept {
        Some((at, state)) if at == changes => state,
        _ => kept.insert((changes, chain.followed_state().unwrap().unwrap())).1,
    }
}

#[test]
fn a_state_kept_until_it_changes_is_never_old() {
    let base = branch(&rich_genesis(), &[], &[12; 4], 1);
    let other = branch(&rich_genesis(), &base[..2], &[12; 2], 9);
    let upstream = Upstream::of(&base);
    let fork = Upstream::of(&[&base[..2], &other].concat());
    let (_home, chain) = follower(&upstream);
    let mut before = None;
    let mut is_new = |what: &str, changed: bool| {
        let fresh = chain.followed_state().unwrap().unwrap();
        let old = before.map(|(_, state)| state);
        assert_eq!(kept(&chain, &mut before), fresh, "{what}");
        assert_eq!(old != Some(fresh), changed, "{what}");
    };
    is_new("a home without blocks", true);
    for block in &base {
        follow(&chain, &upstream, std::slice::from_ref(block));
        is_new("a block", true);
    }
    assert_eq!(give(&chain, &upstream, &base[3], 128), FollowAnswer::Known);
    is_new("a block that is held", false);
    assert!(matches!(give_with(&chain, &other[0], 128, "[]"), FollowAnswer::Refused { .. }));
    is_new("a block that is refused", false);
    chain.set_followed_finality(Some(hash(&base[1])), Some(hash(&base[0]))).unwrap();
    is_new("finality", true);
    assert!(matches!(give(&chain, &fork, &other[0], 128), FollowAnswer::Followed { removed: 2, .. }));
    is_new("another branch", true);
    let meta = FollowMeta {
        hash: hash(&other[1]),
        form: BlockForm::Raw,
        source: FollowSource::None,
        reorg_blocks: 128,
    };
    let rlp = json!(hex::encode_prefixed(alloy_rlp::encode(&other[1]))).to_string();
    let given = GivenBlock { meta, block: rlp.as_bytes(), witness: None, extra: None };
    assert!(matches!(chain.follow_block(given).unwrap(), FollowAnswer::Hole { .. }));
    is_new("a hole", true);
    assert!(matches!(give(&chain, &upstream, &base[2], 128), FollowAnswer::Followed { removed: 2, .. }));
    is_new("a hole that has left", true);
}

#[test]
fn a_reader_beside_the_follower_sees_each_head() {
    let blocks = branch(&rich_genesis(), &[], &[12; 60], 1);
    let upstream = Upstream::of(&blocks);
    let (_home, chain) = follower(&upstream);
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for block in &blocks {
                follow(&chain, &upstream, std::slice::from_ref(block));
                acknowledged.store(block.header.number, Ordering::Release);
            }
        });
        let mut before = None;
        while acknowledged.load(Ordering::Acquire) < 60 {
            let least = acknowledged.load(Ordering::Acquire);
            let head = kept(&chain, &mut before).head.number;
            assert!(head >= least, "{head} after {least}");
        }
        assert_eq!(kept(&chain, &mut before).head.number, 60);
    });
}

#[test]
fn a_home_is_what_it_was_made_to_be() {
    let blocks = branch(&rich_genesis(), &[], &[12; 2], 1);
    let upstream = Upstream::of(&blocks);
    let (home, chain) = follower(&upstream);
    follow(&chain, &upstream, &blocks);
    let state = chain.kv().latest().unwrap();
    let read = state.account(&Default::default());
    assert!(matches!(read, Err(hearth_primitives::StateError::NotHere(_))), "{read:?}");
    assert!(state.storage_of(&Default::default()).is_err());
    let inserted = chain.insert_block(branch(&rich_genesis(), &blocks, &[12], 1).remove(0));
    assert!(
        matches!(inserted, Err(ChainError::State(hearth_primitives::StateError::NotHere(_)))),
        "{inserted:?}"
    );
    chain.close().unwrap();
    drop((state, chain));

    let rules = FollowedRules::Genesis(rich_genesis());
    let make = |home: &TempDir, base: &Header, said| {
        Chain::create_follower(home.path(), &rules, base, said, &options()).map(|chain| chain.head().height)
    };
    assert_eq!(make(&home, &upstream.genesis(), None).unwrap(), 2, "the same again is fine");
    let elsewhere = make(&home, &blocks[0].header, None);
    assert!(matches!(elsewhere, Err(ChainError::OtherChain { what: "chain", .. })), "{elsewhere:?}");
    let empty = TempDir::new().unwrap();
    let foreign = make(&empty, &blocks[0].header, Some(B256::repeat_byte(1)));
    assert!(matches!(foreign, Err(ChainError::OtherChain { what: "genesis hash", .. })), "{foreign:?}");
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0, "nothing was written");
    // A home with its own state follows nothing, and is not turned into one that does.
    let refused = upstream.chain.follow_block(GivenBlock {
        meta: FollowMeta {
            hash: B256::ZERO,
            form: BlockForm::Raw,
            source: FollowSource::None,
            reorg_blocks: 1,
        },
        block: b"",
        witness: None,
        extra: None,
    });
    assert!(matches!(refused, Err(ChainError::NoFollower { .. })));
    // Versions that know no such homes refuse the description.
    let text = std::fs::read_to_string(home.path().join("config/chain.json")).unwrap();
    assert!(text.contains("\"format\": 2") && text.contains("\"elsewhere\""), "{text}");
}

/// Where the process that is killed finds what it follows; set in that process alone.
const CHILD: &str = "HEARTH_FOLLOW_CHILD";
/// Kills of the test, and of the full run.
const KILLS: [u64; 2] = [12, 50];
/// Longest time that a process lives, in milliseconds.
const LIFE_MS: u64 = 120;

/// A base and two branches on it, between which a process moves until it is killed.
struct Branches {
    base: Vec<Block>,
    sides: [Vec<Block>; 2],
    /// The chains of the base with each side.
    upstreams: [Upstream; 2],
}

impl Branches {
    fn new() -> Self {
        let base = paying_branch(&[], 3, 1);
        let sides = [2, 3].map(|coinbase| paying_branch(&base, 6, coinbase));
        let upstreams = [0, 1].map(|side| Upstream::of(&[base.as_slice(), &sides[side]].concat()));
        Self { base, sides, upstreams }
    }

    fn give(&self, chain: &Chain, block: &Block) -> FollowAnswer {
        give(chain, &self.upstreams[usize::from(self.sides[1].contains(block))], block, 128)
    }

    /// The block that is given after the head; the first of the other branch at the end of one.
    fn next(&self, head: B256) -> &Block {
        let after = |list: &[Block]| list.iter().position(|block| hash(block) == head).map(|index| index + 1);
        if let Some(index) = after(&self.base) {
            return self.base.get(index).unwrap_or(&self.sides[0][0]);
        }
        for (side, other) in [(0, 1), (1, 0)] {
            if let Some(index) = after(&self.sides[side]) {
                return self.sides[side].get(index).unwrap_or(&self.sides[other][0]);
            }
        }
        &self.base[0]
    }
}

/// Follows until it is killed: each acknowledged head is a line of a file.
#[test]
fn follows_until_it_is_killed() {
    use std::io::Write;
    let Some(dir) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else { return };
    let branches = Branches::new();
    let chain = Chain::open(&dir.join("home"), &options()).unwrap();
    let mut acknowledged = std::fs::File::options().append(true).open(dir.join("heads")).unwrap();
    loop {
        let block = branches.next(chain.head().hash);
        let answer = branches.give(&chain, block);
        assert!(matches!(answer, FollowAnswer::Followed { .. }), "{answer:?}");
        acknowledged.write_all(format!("{}\n", hash(block)).as_bytes()).unwrap();
    }
}

#[test]
fn a_kill_leaves_the_acknowledged_head_or_the_next() {
    let branches = Branches::new();
    let upstream = &branches.upstreams[0];
    let dir = TempDir::new().unwrap();
    let (home, heads) = (dir.path().join("home"), dir.path().join("heads"));
    let rules = FollowedRules::Genesis(rich_genesis());
    let made = Chain::create_follower(&home, &rules, &upstream.genesis(), None, &options()).unwrap();
    let mut head = made.head().hash;
    made.close().unwrap();
    drop(made);
    std::fs::write(&heads, format!("{head}\n")).unwrap();
    let fork = hash(branches.base.last().unwrap());
    let (mut seed, mut moved, mut lines) = (17u64, 0, 1);
    let kills = KILLS[usize::from(is_full())];
    for kill in 0..kills {
        let arguments = ["follow::follows_until_it_is_killed", "--exact", "--nocapture"];
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .env(CHILD, dir.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // It makes its branches first, and then opens the home.
        let begun = std::time::Instant::now();
        while std::fs::read_to_string(&heads).unwrap().lines().count() == lines
            && begun.elapsed().as_secs() < 60
        {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(std::time::Duration::from_millis((seed >> 33) % LIFE_MS));
        child.kill().unwrap();
        child.wait().unwrap();

        let text = std::fs::read_to_string(&heads).unwrap();
        let acknowledged: B256 = text.lines().last().unwrap().parse().unwrap();
        let chain = Chain::open(&home, &options()).unwrap();
        let now = chain.head();
        let next = branches.next(acknowledged);
        let in_between = next.header.parent_hash == fork && acknowledged != fork;
        let allowed = now.hash == acknowledged || now.hash == hash(next) || (in_between && now.hash == fork);
        assert!(allowed, "kill {kill}: {now:?} after {acknowledged}");
        let state = chain.followed_state().unwrap().unwrap();
        assert_eq!((state.verified.proven, state.holes), (now.height, 0));
        for number in 1..=now.height {
            let canonical = chain.ledger().canonical_hash(number).unwrap().unwrap();
            assert!(chain.ledger().receipts(&canonical).unwrap().is_some(), "kill {kill}: block {number}");
            assert!(chain.ledger().capsule(&canonical).unwrap().is_some(), "kill {kill}: block {number}");
        }
        moved += u64::from(now.hash != head);
        head = now.hash;
        chain.close().unwrap();
        drop(chain);
        // What was committed and not acknowledged counts from here on.
        std::fs::write(&heads, format!("{text}{head}\n")).unwrap();
        lines = text.lines().count() + 1;
    }
    println!("{kills} kills, {lines} heads, {moved} times another one than after the kill before");
    assert!(moved > kills / 2 && lines > kills as usize * 2, "{moved} {lines}");
}

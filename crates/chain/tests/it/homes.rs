//! Homes: made, opened, refused.

use crate::support::{import, options, rpc_chain};
use hearth_chain::{Chain, ChainError, ChainOptions, HomePaths};
use hearth_flatkv::{Fsync, Holder};
use std::fs;
use tempfile::TempDir;

fn genesis(balance: u64, london: u64) -> String {
    let account = format!(r#""0x00000000000000000000000000000000000000aa": {{"balance": "{balance}"}}"#);
    let config = format!(
        r#"{{"chainId": 77, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
            "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0,
            "berlinBlock": 0, "londonBlock": {london}}}"#
    );
    format!(
        r#"{{"config": {config}, "difficulty": "0x20000", "gasLimit": "0x1000000", "alloc": {{{account}}}}}"#
    )
}

#[test]
fn a_home_is_made_once_and_opened_again() {
    let home = TempDir::new().unwrap();
    let none = Chain::open(home.path(), &options()).err().unwrap();
    assert!(matches!(none, ChainError::NotInitialised { .. }), "{none}");
    let chain = Chain::create(home.path(), &genesis(5, 100), &options()).unwrap();
    let head = chain.head();
    assert_eq!(
        (head.height, head.hash, chain.base(), chain.spec().chain_id()),
        (0, chain.base_hash(), 0, 77)
    );
    let block = chain.head_block().unwrap().unwrap();
    assert_eq!((block.hash, block.block.header.state_root), (head.hash, head.commitment));
    chain.close().unwrap();
    drop(chain);
    let opened = Chain::open(home.path(), &options()).unwrap();
    assert_eq!(opened.head(), head);
    drop(opened);
    let created = Chain::create(home.path(), &genesis(5, 100), &options()).unwrap();
    assert_eq!(created.head(), head);
}

#[test]
fn another_chain_is_refused() {
    let home = TempDir::new().unwrap();
    Chain::create(home.path(), &genesis(5, 100), &options()).unwrap();
    let before = fs::read(HomePaths::new(home.path()).genesis()).unwrap();
    for (other, what) in [(genesis(6, 100), "genesis hash"), (genesis(5, 101), "fork rules")] {
        let refused = Chain::create(home.path(), &other, &options()).err().unwrap();
        assert!(refused.to_string().contains("holds another chain"), "{refused}");
        let ChainError::OtherChain { what: named, .. } = refused else { panic!("{refused}") };
        assert_eq!(named, what);
    }
    assert_eq!(fs::read(HomePaths::new(home.path()).genesis()).unwrap(), before);
    Chain::open(home.path(), &options()).unwrap();
}

#[test]
fn a_file_of_another_chain_is_refused() {
    let Some((rpc, file)) = rpc_chain() else { return };
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let chain = Chain::create(one.path(), &rpc, &options()).unwrap();
    let mut bytes = Vec::new();
    alloy_rlp::Encodable::encode(&chain.head_block().unwrap().unwrap().block, &mut bytes);
    bytes.extend(fs::read(&file).unwrap());
    let with_genesis = one.path().join("all.rlp");
    fs::write(&with_genesis, bytes).unwrap();
    let other = Chain::create(two.path(), &genesis(5, 100), &options()).unwrap();
    let refused = import(&other, &[&with_genesis]).unwrap_err();
    assert!(matches!(refused, ChainError::OtherGenesis { .. }), "{refused}");
    assert_eq!(import(&chain, &[&with_genesis]).unwrap().head.height, 54);
}

#[test]
fn bad_descriptions_are_refused() {
    let home = TempDir::new().unwrap();
    Chain::create(home.path(), &genesis(5, 100), &options()).unwrap();
    let paths = HomePaths::new(home.path());
    let good = fs::read_to_string(paths.chain()).unwrap();
    fs::write(paths.chain(), good.replace("\"format\": 1", "\"format\": 3")).unwrap();
    let newer = Chain::open(home.path(), &options()).err().unwrap();
    assert!(matches!(newer, ChainError::NewerFormat { found: 3, known: 2, .. }), "{newer}");
    fs::write(paths.chain(), &good[..20]).unwrap();
    let bad = Chain::open(home.path(), &options()).err().unwrap();
    assert!(matches!(bad, ChainError::DescriptionDamaged { .. }), "{bad}");
    fs::write(paths.chain(), &good).unwrap();
    fs::write(paths.genesis(), genesis(5, 100).replace("0x20000", "0xzz")).unwrap();
    let bad = Chain::open(home.path(), &options()).err().unwrap();
    assert!(matches!(bad, ChainError::Genesis { .. }) && bad.to_string().contains("difficulty"), "{bad}");
    let bad = Chain::create(home.path(), "{", &options()).err().unwrap();
    assert!(matches!(bad, ChainError::Genesis { .. }), "{bad}");
}

#[test]
fn a_home_is_open_once() {
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), &genesis(5, 100), &options()).unwrap();
    let second = Chain::open(home.path(), &options()).err().unwrap();
    assert!(second.home_in_use().is_some(), "{second}");
    assert_eq!(second.holder(), Some(&Holder::this_process()));
    assert!(second.to_string().contains(&format!("process {}", std::process::id())), "{second}");
    chain.close().unwrap();
    drop(chain);
    Chain::open(home.path(), &options()).unwrap();
}

/// The process may die at any point while a home is made; making it again succeeds.
#[test]
fn half_made_homes_are_made_again() {
    let home = TempDir::new().unwrap();
    Chain::create(home.path(), &genesis(5, 100), &options()).unwrap();
    for gone in ["data", "data/state", "data/wal", "config/genesis.json", "config/chain.json"] {
        let half = TempDir::new().unwrap();
        fs::create_dir(half.path().join("config")).unwrap();
        for file in ["config/genesis.json", "config/chain.json"] {
            if file != gone {
                fs::copy(home.path().join(file), half.path().join(file)).unwrap();
            }
        }
        let chain = Chain::create(half.path(), &genesis(5, 100), &options()).unwrap();
        assert_eq!(chain.head().height, 0);
        drop(chain);
        Chain::open(half.path(), &options()).unwrap();
    }
}

#[test]
fn every_fsync_mode_keeps_what_it_has() {
    let Some((rpc, file)) = rpc_chain() else { return };
    let interval = Fsync::Interval(std::time::Duration::from_millis(5));
    for fsync in [Fsync::Block, interval, Fsync::None, Fsync::Never] {
        let home = TempDir::new().unwrap();
        let options = ChainOptions { fsync, ..options() };
        let chain = Chain::create(home.path(), &rpc, &options).unwrap();
        import(&chain, &[&file]).unwrap();
        drop(chain);
        assert_eq!(Chain::open(home.path(), &options).unwrap().head().height, 54);
    }
}

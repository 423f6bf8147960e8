//! Homes of every earlier format, kept next to the tests: each opens, has its content, and can
//! continue.

use crate::support::options;
use alloy_primitives::{Address, B256, U256, b256};
use hearth_chain::{Chain, ChainError, HOME_FORMAT, HomePaths, home_format};
use hearth_primitives::StateReader;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Formats of which a home is kept.
const KEPT: [u32; 2] = [1, 2];

/// Head of the homes: a development chain of three blocks, with two transfers, and a contract with
/// three slots.
const HEAD: B256 = b256!("0x6642abecd4ff2f731478ba53a7694e2eafc8036a027fb840e3df859d3da54aa5");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn home(format: u32) -> TempDir {
    let dir = TempDir::new().unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/homes/format-{format}"));
    copy(&kept, dir.path());
    dir
}

fn check(chain: &Chain) {
    assert_eq!((chain.head().height, chain.head().hash), (3, HEAD));
    let balance = |height, byte| {
        let account = chain.kv().at(height).unwrap().account(&Address::with_last_byte(byte)).unwrap();
        account.map_or(U256::ZERO, |account| account.balance)
    };
    assert_eq!([0, 1, 2, 3].map(|height| balance(height, 0xaa)), [0, 5, 5, 5].map(U256::from));
    assert_eq!([0, 1, 2, 3].map(|height| balance(height, 0xbb)), [0, 0, 0, 7].map(U256::from));
    assert_eq!(chain.head_block().unwrap().unwrap().hash, HEAD);
}

#[test]
fn a_home_of_every_format_opens_and_becomes_one_of_this_version() {
    for format in KEPT {
        let home = home(format);
        assert_eq!(home_format(home.path()).unwrap(), Some(format));
        // Twice: what the first opening made of it is good as well.
        for _ in 0..2 {
            let chain = Chain::open(home.path(), &options()).unwrap();
            check(&chain);
            assert_eq!(home_format(home.path()).unwrap(), Some(HOME_FORMAT));
            chain.close().unwrap();
        }
        let chain = Chain::open(home.path(), &options()).unwrap();
        chain.kv().unwind(1).unwrap();
        assert_eq!(chain.kv().head().unwrap().height, 1);
    }
}

#[test]
fn other_formats_are_refused_with_what_to_do() {
    let home = home(1);
    let path = HomePaths::new(home.path()).format();
    let before = fs::read(home.path().join("data/wal/00000000000000000001.wal")).unwrap();
    let open = |text: &str| {
        fs::write(&path, text).unwrap();
        Chain::open(home.path(), &options()).err().unwrap()
    };
    let newer = open("9\n");
    assert!(matches!(newer, ChainError::NewerFormat { found: 9, known: HOME_FORMAT, .. }), "{newer}");
    assert!(newer.to_string().contains("use a newer hearth"), "{newer}");
    for bad in ["", "0\n", "x", "1 2", "11111111111111111111111111111"] {
        let error = open(bad);
        assert!(
            matches!(&error, ChainError::BadHome { path: named, .. } if *named == path),
            "{bad:?}: {error}"
        );
    }
    assert_eq!(fs::read(home.path().join("data/wal/00000000000000000001.wal")).unwrap(), before);
    fs::remove_file(&path).unwrap();
    check(&Chain::open(home.path(), &options()).unwrap());
}

//! Bytes of the address index that are damaged: every answer is right or an error, `hearth db
//! verify` has the page, and a rebuild makes the index right again.

use super::accounts::{ACCOUNTS, account, generated, mixed};
use super::chain::{Chain, Closed};
use crate::Ledger;
use crate::posting_index::{IndexProblem, IndexQuery};
use hearth_flatkv::IndexWrite;
use hearth_primitives::Height;
use std::fs;
use std::path::{Path, PathBuf};

const BLOCKS: u64 = 1_400;
const LAG: u64 = 5;

fn merged_chain() -> Chain {
    let mut chain = Chain::new(LAG, 0);
    for n in 0..BLOCKS {
        chain.grow_with(&generated(n), false, true);
    }
    chain.merge();
    chain
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Sorted tables of RocksDB below a folder, by name.
fn tables(dir: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            tables(&path, found);
        } else if path.extension().is_some_and(|of| of == "sst") {
            found.push(path);
        }
    }
    found.sort();
}

/// What a search for an account finds, if no read fails.
fn search(ledger: &Ledger, n: u8, to: Height) -> Result<Vec<Height>, crate::LedgerError> {
    ledger.account_blocks(IndexQuery::accounts(&[&[account(n)]]), 0, to)?.collect()
}

/// Damages a copy of the stores and searches for every account: answers that are right, errors, and
/// whether the stores did not open.
fn ask(
    closed: &Closed,
    expected: &[Vec<Height>],
    head: Height,
    damage: impl Fn(&mut Vec<u8>, &Path),
) -> (u64, u64, bool) {
    let copied = tempfile::tempdir().unwrap();
    copy(closed.path(), copied.path());
    let mut files = Vec::new();
    tables(copied.path(), &mut files);
    for file in files {
        let mut bytes = fs::read(&file).unwrap();
        let before = bytes.clone();
        damage(&mut bytes, file.strip_prefix(copied.path()).unwrap());
        if bytes != before {
            fs::write(&file, bytes).unwrap();
        }
    }
    let Ok((ledger, kv)) = closed.try_open(copied.path()) else { return (0, 0, true) };
    let (mut right, mut refused) = (0, 0);
    for (n, expected) in expected.iter().enumerate() {
        match search(&ledger, n as u8, head) {
            Ok(found) => {
                let left_out = expected.iter().find(|height| found.binary_search(height).is_err());
                assert_eq!(left_out, None, "account {n}");
                right += 1;
            }
            Err(error) => {
                assert!(error.is_damage(), "{error}");
                refused += 1;
            }
        }
    }
    ledger.close();
    let _ = kv.close();
    (right, refused, false)
}

#[test]
fn flipped_bits_and_torn_files_never_shorten_an_answer() {
    let chain = merged_chain();
    let head = chain.head();
    let of = |n: u8| chain.with(0, head, |entry| entry.accounts.contains(&account(n)));
    let expected: Vec<_> = (0..ACCOUNTS).map(of).collect();
    chain.kv.flush().unwrap();
    let closed = chain.closed();
    let mut files = Vec::new();
    tables(closed.path(), &mut files);
    let files: Vec<_> =
        files.iter().map(|file| file.strip_prefix(closed.path()).unwrap().to_owned()).collect();
    assert!(!files.is_empty(), "the index lies in sorted tables");
    let (mut right, mut refused, mut shut) = (0, 0, 0);
    for run in 0..48 {
        let chosen = &files[(mixed(run) % files.len() as u64) as usize];
        let (r, e, s) = ask(&closed, &expected, head, |bytes, file| {
            if file != chosen {
                return;
            }
            let at = (mixed(run + 1_000) % bytes.len() as u64) as usize;
            if run % 6 == 5 {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << (run % 8);
            }
        });
        (right, refused, shut) = (right + r, refused + e, shut + u64::from(s));
    }
    assert!(refused + shut > 0, "{right} answers were right, {refused} refused, {shut} stores did not open");
}

#[test]
fn a_page_that_misses_blocks_is_found_and_rebuilt() {
    let chain = merged_chain();
    let verify = || chain.ledger.verify_address_index(&mut |_| true).unwrap().unwrap();
    let sound = verify();
    assert_eq!((sound.found, sound.unknown, sound.blocks), (0, 0, BLOCKS));
    let rows = chain.kv.index_range(b"L", b"M", 1_000).unwrap();
    let page_of = |key: &[u8]| u64::from_be_bytes(*key.last_chunk::<8>().unwrap());
    let of_page = |page: u64| rows.iter().find(|(key, _)| page_of(key) == page).unwrap().0.clone();
    // A posting list that is gone, one of bytes that are none, and a block's row without its ids.
    let block = [&b"P"[..], &(chain.head() - 1).to_be_bytes()].concat();
    let emptied = chain.kv.index_get(&block).unwrap().unwrap()[..33].to_vec();
    chain
        .kv
        .index_fill(&[
            IndexWrite { key: of_page(1), value: None },
            IndexWrite { key: of_page(3), value: Some(vec![9, 3]) },
            IndexWrite { key: block, value: Some(emptied) },
        ])
        .unwrap();
    let damaged = verify();
    let found: Vec<_> = damaged
        .findings
        .iter()
        .map(|finding| (finding.from, matches!(finding.problem, IndexProblem::LeftOut(blocks) if blocks > 0)))
        .collect();
    let last = chain.head() / 256 * 256;
    assert_eq!(found, [(256, true), (768, false), (last, true)]);
    assert_eq!(damaged.found, 3);
    assert!(chain.ledger.verify_address_index(&mut |progress| progress.done == 0).unwrap().is_none());
    chain.ledger.rebuild_address_index(&mut |_| true).unwrap().unwrap();
    assert_eq!(verify().found, 0);
}

#[test]
fn the_metrics_of_the_index_follow_it() {
    let mut chain = Chain::new(LAG, 600);
    let read = |chain: &Chain, name: &str| -> u64 {
        let page = chain.ledger.tables().metrics().snapshot_json();
        let at = page.find(&format!("\"{name}\"")).unwrap();
        let value = &page[at + page[at..].find("\"value\":").unwrap() + 8..];
        value[..value.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
    };
    for n in 0..300 {
        chain.grow_with(&generated(n), false, n != 7);
    }
    assert_eq!((read(&chain, "address_index_pages"), read(&chain, "address_index_lag_blocks")), (0, 500));
    chain.merge();
    assert_eq!((read(&chain, "address_index_pages"), read(&chain, "address_index_lag_blocks")), (1, 244));
    let counted = (read(&chain, "address_index_merged_pages"), read(&chain, "address_index_unknown_blocks"));
    assert_eq!(counted, (1, u64::from(!generated(7).is_empty())));
    for n in 300..2_000 {
        chain.grow_with(&generated(n), false, true);
    }
    chain.merge();
    let first = chain.ledger.first_indexed().unwrap().unwrap();
    assert!(first > 256, "the window has moved");
    let pages = (chain.merged_below() - first) / 256;
    assert_eq!(read(&chain, "address_index_pages"), pages);
    assert_eq!(read(&chain, "address_index_lag_blocks"), chain.head() + 1 - chain.merged_below());
    chain.kv.flush().unwrap();
    assert!(read(&chain, "address_index_bytes") > 0);
}

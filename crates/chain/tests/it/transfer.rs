//! The state of a height as a stream: nothing in it that a header contradicts makes a home.

use crate::reorg::{paying_branch, rich_genesis};
use crate::support::options;
use alloy_rlp::Encodable as _;
use hearth_chain::operate::{Reading, export_state, import_state};
use hearth_chain::{Chain, ChainError};
use hearth_flatkv::{Attachment, ImportSource};
use std::path::Path;
use tempfile::TempDir;

const BLOCKS: usize = 5;

/// Bytes of the total difficulty before the RLP of a block.
const DIFFICULTY_BYTES: usize = 32;

/// Bytes of the version and the count before the senders of receipts.
const SENDERS_AT: usize = 2;

/// Place of the status of the receipt where there is one.
const STATUS_AT: usize = SENDERS_AT + 20 + 1;

/// Bytes of the number and the hash of an ancestor.
const ANCESTOR_BYTES: usize = 40;

/// The state of a home's head as a stream whose attachments were changed, and whose checksums are
/// right.
fn stream(home: &Path, change: &dyn Fn(&mut Vec<Attachment>)) -> Vec<u8> {
    let mut plain = Vec::new();
    export_state(home, &options(), None, &mut plain, &mut |_| true).unwrap();
    let mut input = plain.as_slice();
    let source = ImportSource::open(&mut input).unwrap();
    let (height, parent) = (source.head().head.height, source.head().parent);
    let mut attachments = Vec::new();
    for name in ["chain.json", "genesis.json", "block", "receipts", "ancestors"] {
        attachments.push((name.to_owned(), source.attachment(name).unwrap().to_vec()));
    }
    change(&mut attachments);
    let reading = Reading::open(home, &options(), None).unwrap();
    let mut changed = Vec::new();
    reading.kv().export(height, parent, &attachments, &mut changed, &mut |_| true).unwrap();
    reading.close().unwrap();
    changed
}

/// The bytes of an attachment.
fn bytes<'a>(all: &'a mut [Attachment], name: &str) -> &'a mut Vec<u8> {
    let found = all.iter_mut().find(|attachment| attachment.0 == name);
    &mut found.unwrap().1
}

fn import(stream: &[u8]) -> Result<(), ChainError> {
    let home = TempDir::new().unwrap();
    import_state(home.path(), &options(), &mut &stream[..], &mut |_| true)?;
    Ok(())
}

#[test]
fn a_stream_that_its_header_contradicts_is_refused() {
    let home = TempDir::new().unwrap();
    let chain = Chain::create(home.path(), &rich_genesis(), &options()).unwrap();
    let blocks = paying_branch(&[], BLOCKS, 1);
    for block in &blocks {
        chain.insert_block(block.clone()).unwrap();
    }
    chain.close().unwrap();
    drop(chain);
    import(&stream(home.path(), &|_| {})).unwrap();

    let refusal = |change: &dyn Fn(&mut Vec<Attachment>)| {
        let error = import(&stream(home.path(), change)).unwrap_err();
        assert!(matches!(error, ChainError::BadStream { .. }), "{error}");
        error.to_string()
    };
    let no_block = refusal(&|all| all.retain(|attachment| attachment.0 != "block"));
    assert_eq!(no_block, "the stream: it has no block");
    let receipt = refusal(&|all| bytes(all, "receipts")[STATUS_AT] ^= 1);
    assert!(receipt.starts_with("the stream: receipts root: "), "{receipt}");
    let sender = refusal(&|all| bytes(all, "receipts")[SENDERS_AT] ^= 1);
    assert_eq!(sender, "the stream: its senders are not those of the transactions");
    let cut = refusal(&|all| bytes(all, "receipts").truncate(STATUS_AT));
    assert!(cut.contains("does not decode"), "{cut}");
    let transaction = refusal(&|all| {
        let mut block = blocks[BLOCKS - 1].clone();
        block.body.transactions.clone_from(&blocks[0].body.transactions);
        let row = bytes(all, "block");
        row.truncate(DIFFICULTY_BYTES);
        block.encode(row);
    });
    assert!(transaction.starts_with("the stream: transactions root: "), "{transaction}");
    for missing in [0, 2] {
        let at = missing * ANCESTOR_BYTES;
        let ancestor = refusal(&|all| drop(bytes(all, "ancestors").drain(at..at + ANCESTOR_BYTES)));
        assert_eq!(ancestor, "the stream: its ancestors are not all of the last 256");
    }
    let parent = refusal(&|all| bytes(all, "ancestors")[ANCESTOR_BYTES * BLOCKS - 1] ^= 1);
    assert_eq!(parent, "the stream: the ancestors do not lead to its block");
    let none = refusal(&|all| bytes(all, "ancestors").clear());
    assert_eq!(none, "the stream: its ancestors are not all of the last 256");
}

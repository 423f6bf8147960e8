//! What must be refused: spoilt blocks and files. The good blocks before are kept.

use crate::support::{import, options, rpc_chain, split};
use alloy_rlp::{Decodable, Encodable};
use hearth_chain::{Chain, ChainError};
use hearth_evm::{BlockError, Field};
use hearth_primitives::{Block, Header};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

struct Bench {
    dir: TempDir,
    genesis: String,
    bytes: Vec<u8>,
}

impl Bench {
    fn new() -> Option<Self> {
        let (genesis, file) = rpc_chain()?;
        Some(Self { dir: TempDir::new().unwrap(), genesis, bytes: fs::read(file).unwrap() })
    }

    fn chain(&self, name: &str) -> Chain {
        Chain::create(&self.dir.path().join(name), &self.genesis, &options()).unwrap()
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join("blocks.rlp");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The chain's file with its last block changed.
    fn spoilt(&self, change: impl FnOnce(&mut Block)) -> PathBuf {
        let all = split(&self.bytes);
        let mut last = Block::decode(&mut &all[53][..]).unwrap();
        change(&mut last);
        let mut bytes = all[..53].concat();
        last.encode(&mut bytes);
        self.file(&bytes)
    }
}

type Change = fn(&mut Header);

#[test]
fn spoilt_headers_are_refused_by_name() {
    let Some(bench) = Bench::new() else { return };
    let changes: [(Field, Change); 17] = [
        (Field::StateRoot, |h| h.state_root.0[31] ^= 1),
        (Field::TransactionsRoot, |h| h.transactions_root.0[31] ^= 1),
        (Field::ReceiptsRoot, |h| h.receipts_root.0[31] ^= 1),
        (Field::LogsBloom, |h| h.logs_bloom.0[255] ^= 1),
        (Field::GasUsed, |h| h.gas_used ^= 1),
        (Field::BaseFee, |h| h.base_fee_per_gas = h.base_fee_per_gas.map(|f| f ^ 1)),
        (Field::WithdrawalsRoot, |h| h.withdrawals_root = h.withdrawals_root.map(|r| !r)),
        (Field::BlobGasUsed, |h| h.blob_gas_used = h.blob_gas_used.map(|g| g + 1)),
        (Field::ExcessBlobGas, |h| h.excess_blob_gas = h.excess_blob_gas.map(|g| g + 1)),
        (Field::RequestsHash, |h| h.requests_hash = h.requests_hash.map(|r| !r)),
        (Field::OmmersHash, |h| h.ommers_hash.0[0] ^= 1),
        (Field::Number, |h| h.number += 1),
        (Field::Timestamp, |h| h.timestamp = 1),
        (Field::GasLimit, |h| h.gas_limit *= 2),
        (Field::ExtraData, |h| h.extra_data = vec![0; 33].into()),
        (Field::Nonce, |h| h.nonce.0[7] = 1),
        (Field::Difficulty, |h| h.difficulty = alloy_primitives::U256::from(1)),
    ];
    let chain = bench.chain("home");
    for (field, change) in changes {
        let file = bench.spoilt(|block| change(&mut block.header));
        let refused = import(&chain, &[&file]).unwrap_err();
        let text = refused.to_string();
        let ChainError::AtBlock { index: 53, source, .. } = refused else { panic!("{field}: {refused}") };
        let ChainError::Refused { source, .. } = *source else { panic!("{field}: {source}") };
        assert_eq!(source.field(), Some(field), "{source}");
        assert!(text.contains(field.name()) && text.contains("expected") && text.contains("got"), "{text}");
        assert_eq!(chain.head().height, 53, "{field}: the good blocks are kept");
        assert_eq!(chain.ledger().canonical_hash(54).unwrap(), None);
    }
    // Nothing of the bad blocks is in the way of the good one.
    let good = bench.file(&bench.bytes);
    assert_eq!(import(&chain, &[&good]).unwrap().head.height, 54);
}

#[test]
fn a_block_without_its_parent_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let chain = bench.chain("home");
    let all = split(&bench.bytes);
    let file = bench.file(&[all[0], all[1], all[3]].concat());
    let refused = import(&chain, &[&file]).unwrap_err();
    let ChainError::AtBlock { index: 2, offset, source, .. } = refused else { panic!("{refused}") };
    assert_eq!(offset as usize, all[0].len() + all[1].len());
    assert!(matches!(*source, ChainError::UnknownParent { number: 4, .. }), "{source}");
    assert_eq!(chain.head().height, 2);
    let inserted = chain.insert_block(Block::decode(&mut &all[5][..]).unwrap());
    assert!(matches!(inserted, Err(ChainError::UnknownParent { number: 6, .. })), "{inserted:?}");
}

#[test]
fn bad_transactions_are_refused() {
    let Some(bench) = Bench::new() else { return };
    let chain = bench.chain("home");
    // A block whose transactions come twice: the second time their nonces are too low.
    let all = split(&bench.bytes);
    let with =
        (0..54).find(|i| !Block::decode(&mut &all[*i][..]).unwrap().body.transactions.is_empty()).unwrap();
    let mut block = Block::decode(&mut &all[with][..]).unwrap();
    block.body.transactions.extend(block.body.transactions.clone());
    let root = alloy_consensus::proofs::calculate_transaction_root(&block.body.transactions);
    block.header.transactions_root = root;
    let mut bytes = all[..with].concat();
    block.encode(&mut bytes);
    let refused = import(&chain, &[&bench.file(&bytes)]).unwrap_err();
    let ChainError::AtBlock { source, .. } = refused else { panic!("{refused}") };
    let ChainError::Refused { source: BlockError::InvalidTransaction { index, .. }, .. } = *source else {
        panic!("{source}")
    };
    assert_eq!(index, block.body.transactions.len() / 2);
    assert_eq!(chain.head().height, with as u64);
}

#[test]
fn cut_files_say_where() {
    let Some(bench) = Bench::new() else { return };
    let chain = bench.chain("home");
    let all = split(&bench.bytes);
    let start = bench.bytes.len() - all[53].len();
    for cut in [1, 2, 3, 7, all[53].len() - 2, all[53].len() - 1] {
        let refused = import(&chain, &[&bench.file(&bench.bytes[..bench.bytes.len() - cut])]).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("the file ends") && text.contains(&start.to_string()), "{text}");
        let ChainError::BadBlockFile { index: 53, offset, field, .. } = refused else { panic!("{refused}") };
        assert_eq!((offset, field.as_str()), (start as u64, "block"));
        assert_eq!(chain.head().height, 53);
    }
}

#[test]
fn what_is_no_block_file_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let chain = bench.chain("home");
    let all = split(&bench.bytes);
    let mut long = vec![0xff];
    long.extend([0x01, 0, 0, 0, 0, 0, 0, 0]);
    let zeros = [&[0xf9, 0x00, 0x80][..], &[0; 128]].concat();
    let cases: [(&[u8], &str); 6] = [
        (b"hello, chain", "does not begin a block"),
        (&[0xc0], "does not begin a block"),
        (&[0x80], "does not begin a block"),
        (&long, "exceeds the limit"),
        (&zeros, "leading zero"),
        (&[0x1f, 0x8b, 8, 0, 1, 2, 3], "gzip"),
    ];
    for (bytes, why) in cases {
        for before in [&[][..], all[0]] {
            if !before.is_empty() && bytes.starts_with(&[0x1f]) {
                continue;
            }
            let refused = import(&chain, &[&bench.file(&[before, bytes].concat())]).unwrap_err();
            let text = refused.to_string();
            let ChainError::BadBlockFile { offset, .. } = refused else { panic!("{refused}") };
            assert_eq!(offset as usize, before.len(), "{text}");
            assert!(text.contains(why), "{text}");
        }
    }
    assert_eq!(chain.head().height, 1);
    let missing = import(&chain, &[&bench.dir.path().join("none.rlp")]);
    assert!(matches!(missing, Err(ChainError::Io { .. })), "{missing:?}");
}

/// Whichever byte of a block is changed, the import ends with a typed error, and the chain below it
/// is intact.
#[test]
fn any_spoilt_byte_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let chain = bench.chain("home");
    let all = split(&bench.bytes);
    import(&chain, &[&bench.file(&all[..20].concat())]).unwrap();
    let head = chain.head();
    for at in 0..all[20].len() {
        let mut bytes = all[20].to_vec();
        bytes[at] ^= 0x41;
        let file = bench.file(&bytes);
        match import(&chain, &[&file]) {
            Err(ChainError::BadBlockFile { .. } | ChainError::AtBlock { .. }) => {
                assert_eq!(chain.head(), head)
            }
            // Fields that no rule determines only change the hash: the proof-of-work seal is not
            // verified.
            Ok(_) => {
                let block = Block::decode(&mut &bytes[..]).unwrap();
                let mut sealed = Block::decode(&mut &all[20][..]).unwrap();
                sealed.header.mix_hash = block.header.mix_hash;
                sealed.header.nonce = block.header.nonce;
                sealed.header.gas_limit = block.header.gas_limit;
                sealed.header.extra_data = block.header.extra_data.clone();
                assert!(sealed == block, "byte {at}");
                chain.set_head(&head.hash).unwrap();
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert_eq!(import(&chain, &[&bench.file(&bench.bytes)]).unwrap().head.height, 54);
}

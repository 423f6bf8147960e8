//! The store as a whole: what is put comes back the same, plain or in gzip, and damage is never
//! served.

use super::*;
use crate::{BakeError, BakedTracer, BlockKey};
use alloy_primitives::B256;
use flate2::read::GzDecoder;
use hearth_metrics::{CacheResult, Registry};
use hearth_tracers::{ElementSink, JsonWriter, Sink};
use proptest::prelude::*;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An element: a result, or an error's text.
type Sample = Result<Vec<u8>, String>;

const TRACER: BakedTracer = BakedTracer::Call;

fn key(number: u64) -> BlockKey {
    BlockKey { chain_id: 1, number, hash: B256::left_padding_from(&number.to_be_bytes()) }
}

fn tx(index: usize) -> B256 {
    B256::left_padding_from(&(index as u64 + 1).to_be_bytes())
}

/// Text that compresses about as traces do.
fn text(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(bytes + 64);
    out.push(b'"');
    while out.len() + 1 < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.extend_from_slice(format!("calls:{:04x};gas:{:x} ", state >> 48, state >> 60).as_bytes());
    }
    out.truncate(bytes.max(2) - 1);
    out.push(b'"');
    out
}

fn build(number: u64, samples: &[Sample]) -> BakedAnswer {
    build_at(number, samples, DEFAULT_LEVEL)
}

fn build_at(number: u64, samples: &[Sample], level: u32) -> BakedAnswer {
    let mut builder = AnswerBuilder::new(number, level);
    for (index, sample) in samples.iter().enumerate() {
        builder.begin(&tx(index));
        match sample {
            // In chunks that end anywhere.
            Ok(bytes) => bytes.chunks(40_000).for_each(|chunk| builder.write(chunk).unwrap()),
            Err(error) => builder.fail(error),
        }
        builder.end();
    }
    builder.finish().unwrap()
}

fn json_string(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut json = JsonWriter::new(&mut out);
    json.string(text);
    json.finish().unwrap();
    out
}

/// What a live trace of the block would write.
fn expected(samples: &[Sample]) -> Vec<u8> {
    let element = |(index, sample): (usize, &Sample)| {
        let head = format!("{{\"txHash\":\"{:#x}\",", tx(index)).into_bytes();
        let rest = match sample {
            Ok(bytes) => [b"\"result\":", &bytes[..]].concat(),
            Err(error) => [b"\"error\":", &json_string(error)[..]].concat(),
        };
        [head, rest, b"}".to_vec()].concat()
    };
    let elements: Vec<_> = samples.iter().enumerate().map(element).collect();
    [&b"["[..], &elements.join(&b","[..]), b"]"].concat()
}

fn open(dir: &Path, hot_bytes: usize) -> (Arc<TraceDb>, Registry) {
    let registry = Registry::new();
    let options = TraceDbOptions { hot_bytes, ..TraceDbOptions::default() };
    (Arc::new(TraceDb::open(dir, &options, &registry).unwrap()), registry)
}

fn block(db: &Arc<TraceDb>, number: u64) -> Result<Option<BakedBlock>, BakeError> {
    db.block(&key(number), TRACER)
}

fn plain(block: &BakedBlock, part: Part) -> Result<Vec<u8>, String> {
    match block.part(part).unwrap() {
        Found::Failed(error) => Err(error),
        Found::Bytes(mut answer) => {
            let (mut out, left) = (Vec::new(), answer.left());
            while let Some(bytes) = answer.read().unwrap() {
                out.extend_from_slice(&bytes);
            }
            assert_eq!((out.len() as u64, answer.left()), (left, 0));
            Ok(out)
        }
    }
}

fn gunzipped(block: &BakedBlock, part: Part) -> Option<Vec<u8>> {
    let mut answer = block.gzip(part, b"{\"id\":1,\"result\":", b"}").unwrap()?;
    let (mut out, told) = (Vec::new(), answer.len());
    while let Some(bytes) = answer.read().unwrap() {
        out.extend_from_slice(&bytes);
    }
    assert_eq!(out.len() as u64, told);
    let mut raw = Vec::new();
    GzDecoder::new(&out[..]).read_to_end(&mut raw).unwrap();
    let inner = raw.strip_prefix(b"{\"id\":1,\"result\":").unwrap().strip_suffix(b"}").unwrap();
    Some(inner.to_vec())
}

/// Puts the block, reads every part of it plain and in gzip, cold and hot, and compares.
fn check(samples: &[Sample], hot_bytes: usize) {
    [0, DEFAULT_LEVEL].iter().for_each(|level| check_at(samples, hot_bytes, *level));
}

fn check_at(samples: &[Sample], hot_bytes: usize, level: u32) {
    let dir = tempfile::tempdir().unwrap();
    let answer = build_at(7, samples, level);
    let whole = expected(samples);
    assert_eq!((answer.transactions(), answer.raw_bytes()), (samples.len(), whole.len() as u64));
    {
        let (db, _) = open(dir.path(), hot_bytes);
        db.put(&key(7), TRACER, &answer).unwrap();
        assert!(
            db.has(&key(7), TRACER) && !db.has(&key(7), BakedTracer::Prestate) && !db.has(&key(8), TRACER)
        );
        db.put(&key(7), TRACER, &answer).unwrap();
        db.flush().unwrap();
    }
    let (db, _) = open(dir.path(), hot_bytes);
    for _ in 0..2 {
        let block = block(&db, 7).unwrap().unwrap();
        assert_eq!((block.number(), block.transactions()), (7, samples.len()));
        for (index, sample) in samples.iter().enumerate() {
            let part = Part::Transaction(index);
            assert_eq!(
                plain(&block, part).as_ref(),
                sample.as_ref().map_err(Clone::clone).as_ref().map(|b| *b)
            );
            let large = sample.as_ref().is_ok_and(|bytes| bytes.len() >= OWN_PIECE_BYTES);
            let unpacked = gunzipped(&block, part);
            assert_eq!(unpacked.is_some(), large, "{index}");
            // Only what is smaller so is sent as it is stored.
            assert_eq!(block.packs(part), large && level > 0, "{index}");
            assert!(unpacked.is_none_or(|bytes| Ok(&bytes) == sample.as_ref()), "{index}");
            block.verify(part).unwrap();
        }
        assert!(plain(&block, Part::Block).unwrap() == whole);
        assert!(gunzipped(&block, Part::Block).unwrap() == whole);
        block.verify(Part::Block).unwrap();
        assert!(
            block
                .part(Part::Transaction(samples.len()))
                .is_err_and(|e| matches!(e, BakeError::Damaged { .. }))
        );
        // That dropped the row; putting it again brings it back.
        db.put(&key(7), TRACER, &answer).unwrap();
    }
    assert!(db.hot_bytes() <= hot_bytes);
}

#[test]
fn an_empty_block_is_an_empty_list() {
    check(&[], 1 << 20);
    assert_eq!(expected(&[]), b"[]");
}

#[test]
fn small_large_and_failed_elements_come_back() {
    let sizes =
        [2, 300, 70_000, 40, OWN_PIECE_BYTES, OWN_PIECE_BYTES - 1, 31_000, 31_000, 31_000, 900_000, 5];
    let mut samples: Vec<Sample> =
        sizes.iter().enumerate().map(|(seed, bytes)| Ok(text(*bytes, seed as u64))).collect();
    samples.insert(3, Err("tracing failed: \"gas\" <limit> \u{2028} \\ reached".into()));
    samples.push(Err(String::new()));
    check(&samples, 16 << 20);
    check(&samples, 300_000);
    check(&samples, 0);
}

#[test]
fn a_thousand_small_elements_share_pieces() {
    let samples: Vec<Sample> = (0..1000).map(|n| Ok(text(400 + n % 300, n as u64))).collect();
    check(&samples, 8 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_mixture_comes_back(
        sizes in proptest::collection::vec((2..100_000_usize, 0..12_u8), 0..12),
        hot in 0..2_000_000_usize,
    ) {
        let sample = |(bytes, kind): &(usize, u8)| match kind {
            0 => Err(format!("failed after {bytes}")),
            1..=5 => Ok(text(bytes % 600, *bytes as u64)),
            _ => Ok(text(*bytes, *bytes as u64)),
        };
        check(&sizes.iter().map(sample).collect::<Vec<_>>(), hot);
    }
}

#[test]
fn hot_answers_need_no_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), 8 << 20);
    let samples: Vec<Sample> = (0..50).map(|n| Ok(text(3000, n))).collect();
    db.put(&key(1), TRACER, &build(1, &samples)).unwrap();
    assert!(db.hot_block(&key(1), TRACER).is_none(), "nobody has asked yet");
    let cold = block(&db, 1).unwrap().unwrap();
    assert!(cold.hot(Part::Transaction(20)).is_none());
    assert!(plain(&cold, Part::Transaction(20)).is_ok());
    let hot = db.hot_block(&key(1), TRACER).unwrap();
    let bytes: Vec<u8> = hot.hot(Part::Transaction(20)).unwrap().iter().flat_map(|b| b.to_vec()).collect();
    assert_eq!(Ok(bytes), samples[20]);
    assert!(hot.hot(Part::Block).is_none(), "the other pieces are cold");
    assert_eq!((hot.bytes(Part::Transaction(20)), hot.bytes(Part::Transaction(50))), (Some(3000), None));
    assert!(hot.packs(Part::Block) && !hot.packs(Part::Transaction(20)));
}

/// Bytes of a part that is available at once, and whether all of it was in memory.
fn at_once(block: &BakedBlock, part: Part) -> (Vec<u8>, bool) {
    let found = block.part_at_once(part, 0).unwrap().unwrap();
    (found.pieces.iter().flat_map(|piece| piece.to_vec()).collect(), found.hot)
}

#[test]
fn uncompressed_answers_are_read_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), 64 << 20);
    // Pieces of several results, of one, and of one that takes several stored blocks.
    let sizes = [10, 3_000, 30_000, 40_000, 200, 200_000, 9_000, 50_000];
    let samples: Vec<Sample> = sizes.iter().map(|&bytes| Ok(text(bytes, bytes as u64))).collect();
    db.put(&key(1), TRACER, &build_at(1, &samples, 0)).unwrap();
    let small: Vec<Sample> = vec![Ok(text(900, 1)), Ok(text(4_000, 2))];
    db.put(&key(2), TRACER, &build_at(2, &small, 0)).unwrap();
    for round in 0..2 {
        let large = block(&db, 1).unwrap().unwrap();
        assert_eq!(at_once(&large, Part::Block), (expected(&samples), false), "large pieces are not kept");
        for (index, sample) in samples.iter().enumerate() {
            let (bytes, _) = at_once(&large, Part::Transaction(index));
            assert_eq!(Ok(&bytes), sample.as_ref(), "{index}");
            assert_eq!(plain(&large, Part::Transaction(index)).as_ref(), Ok(&bytes), "{index}");
        }
        assert!(large.hot(Part::Transaction(5)).is_none());
        let small_block = block(&db, 2).unwrap().unwrap();
        assert_eq!(at_once(&small_block, Part::Block), (expected(&small), round > 0));
    }
}

#[test]
fn a_damaged_row_is_dropped_and_repaired_by_the_next_put() {
    let dir = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..40).map(|n| Ok(text(9000, n))).collect();
    let answer = build(3, &samples);
    {
        let (db, _) = open(dir.path(), 0);
        db.put(&key(3), TRACER, &answer).unwrap();
        db.flush().unwrap();
    }
    let files: Vec<_> =
        std::fs::read_dir(dir.path().join("traces")).unwrap().map(|f| f.unwrap().path()).collect();
    let segment = files.into_iter().max_by_key(|file| file.metadata().unwrap().len()).unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    // In the middle of the body.
    let at = answer.value.len() / 2;
    bytes[at] ^= 0x40;
    std::fs::write(&segment, &bytes).unwrap();

    let (db, registry) = open(dir.path(), 1 << 20);
    let told = Arc::new(AtomicU64::new(0));
    let tell = told.clone();
    db.on_damage(Box::new(move |height| tell.store(height, Ordering::Relaxed)));
    assert!(db.has(&key(3), TRACER));
    let found = block(&db, 3);
    let failed = match found {
        Err(error) => error,
        Ok(found) => {
            let Found::Bytes(mut answer) = found.unwrap().part(Part::Block).unwrap() else { panic!("bytes") };
            loop {
                match answer.read() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("wrong bytes were served"),
                    Err(error) => break error,
                }
            }
        }
    };
    assert!(matches!(failed, BakeError::Store(_) | BakeError::Damaged { .. }), "{failed}");
    assert!(!db.has(&key(3), TRACER));
    assert!(block(&db, 3).unwrap().is_none(), "it is not looked at again");
    assert_eq!(db.dropped(), [(key(3).hash, 3, TRACER)]);
    assert_eq!(told.load(Ordering::Relaxed), 3);
    assert!(registry.snapshot_json().contains("trace_cache_rows_dropped"));
    db.put(&key(3), TRACER, &answer).unwrap();
    assert!(db.has(&key(3), TRACER) && db.dropped().is_empty());
    let healed = block(&db, 3).unwrap().unwrap();
    assert!(plain(&healed, Part::Block).unwrap() == expected(&samples));
}

#[test]
fn rows_of_other_blocks_chains_and_tracers_are_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), 1 << 20);
    for number in 1..=5 {
        db.put(&key(number), TRACER, &build(number, &[Ok(text(500, number))])).unwrap();
    }
    assert!(db.block(&BlockKey { chain_id: 2, ..key(1) }, TRACER).unwrap().is_none(), "another chain");
    assert!(block(&db, 9).unwrap().is_none(), "another block");
    assert!(db.block(&key(1), BakedTracer::CallWithLog).unwrap().is_none(), "other options");
    db.prune_below(3).unwrap();
    assert_eq!(db.floor(), 3);
    assert!(block(&db, 2).unwrap().is_none() && !db.has(&key(2), TRACER));
    assert!(block(&db, 3).unwrap().is_some() && db.has(&key(3), TRACER));
    db.count(CacheResult::Miss);
    // As after a rollback: another block at a height that was pruned.
    let again = BlockKey { hash: B256::repeat_byte(9), ..key(2) };
    db.put(&again, TRACER, &build(2, &[])).unwrap();
    assert_eq!(db.block(&again, TRACER).unwrap().unwrap().number(), 2);
}

#[test]
fn a_cache_that_does_not_open_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("trace_db");
    {
        let (db, _) = open(&home, 0);
        db.put(&key(1), TRACER, &build(1, &[])).unwrap();
        db.flush().unwrap();
    }
    for file in std::fs::read_dir(home.join("traces")).unwrap() {
        let file = file.unwrap().path();
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.iter_mut().take(64).for_each(|byte| *byte ^= 0xff);
        std::fs::write(&file, bytes).unwrap();
    }
    let (db, _) = open(&home, 0);
    assert_eq!(db.set_aside(), Some(&*dir.path().join("trace_db.damaged")));
    assert!(block(&db, 1).unwrap().is_none());
    db.put(&key(1), TRACER, &build(1, &[])).unwrap();
    assert!(block(&db, 1).unwrap().is_some());
}

#[test]
fn two_openers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _held = open(dir.path(), 0);
    assert!(TraceDb::open(dir.path(), &TraceDbOptions::default(), &Registry::new()).is_err());
}

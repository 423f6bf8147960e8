//! The decoders of everything that lies on disk, for tests that feed them any bytes. Only with the
//! feature `failpoints`.

use crate::codec::{Dictionary, decode, is_raw};
use crate::format::{
    self, FOOTER_BYTES, FRAME_BYTES, FRAME_HEADER, FrameHeader, Head, SEGMENT_HEADER, SegmentHeader, Summary,
};
use crate::manifest::Manifest;
use crate::pages::Page;
use crate::run::{CoveredSegment, PAGE_BYTES, RunTail};
use crate::state::{Cutting, State};
use crate::{Compression, Keys, doc};

/// A decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// Header of a segment.
    SegmentHeader,
    /// Head of a record, without its keys.
    Head,
    /// Keys of a record.
    Keys,
    /// A frame: header and stored bytes.
    Frame,
    /// Footer of a segment.
    Footer,
    /// Tail of a key index.
    IndexTail,
    /// Page of a key index.
    IndexPage,
    /// State of a table.
    State,
    /// Manifest of a root.
    Manifest,
    /// The two copies that small files consist of.
    Copies,
}

const MAGIC: [u8; 4] = *b"TEST";
const SEED: u64 = 7;

impl Decoder {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::SegmentHeader,
        Self::Head,
        Self::Keys,
        Self::Frame,
        Self::Footer,
        Self::IndexTail,
        Self::IndexPage,
        Self::State,
        Self::Manifest,
        Self::Copies,
    ];

    /// Bytes that it accepts.
    pub fn sample(self) -> Vec<u8> {
        let header = SegmentHeader { shard: 1, index: 2, salt: [3; 16], dictionary: 4 };
        let summary =
            Summary { end: 100, records: 1, keys: 2, numbered: 1, max_number: 5, ..Summary::default() };
        match self {
            Self::SegmentHeader => header.encode().to_vec(),
            Self::Head => {
                let head = Head { value_len: 70_000, number: Some(300), synced: Some(9), ..Head::default() };
                let mut out = Vec::new();
                format::put_head(&mut out, SEED, 0, &head, &[]);
                out
            }
            Self::Keys => format::encode_keys(b"primary", &[(b"one", 0..10), (b"two", 5..300)]),
            Self::Frame => {
                let stored = zstd_sample();
                let mut out = FrameHeader::of(2, &stored).encode(SEED, 0).to_vec();
                out.extend_from_slice(&stored);
                out
            }
            Self::Footer => summary.encode_footer(SEED).to_vec(),
            Self::IndexTail => {
                let mut tail = RunTail::new(vec![CoveredSegment { header, summary }], 100);
                tail.fences = vec![[1; 12], [2; 12]];
                tail.last_id = Some([9; 12]);
                tail.encode()
            }
            Self::IndexPage => {
                let mut page = vec![0; PAGE_BYTES];
                page[5] = 100;
                page
            }
            Self::State => sample_state().encode(),
            Self::Manifest => Manifest {
                store: [1; 16],
                root: [2; 16],
                roots: vec![([2; 16], "/one".into()), ([3; 16], "/two".into())],
                generation: 1,
            }
            .encode(),
            Self::Copies => doc::encode(MAGIC, 1, b"payload of a small file"),
        }
    }

    /// Decodes bytes; says whether they were accepted. What was accepted is what it would be
    /// written as, where there is only one way to write it.
    ///
    /// # Panics
    /// Where that does not hold.
    pub fn feed(self, bytes: &[u8]) -> bool {
        match self {
            Self::SegmentHeader => array(bytes).is_some_and(|bytes: [u8; SEGMENT_HEADER]| {
                SegmentHeader::decode(&bytes).is_ok_and(|header| {
                    let again = SegmentHeader::decode(&header.encode());
                    again == Ok(header)
                })
            }),
            Self::Head => format::peek_head(bytes).is_some_and(|(head, len)| {
                assert!(len <= bytes.len() && head.frames_len() >= head.stored_len.unwrap_or(0));
                format::head_is_good(SEED, 0, &bytes[..len])
            }),
            Self::Keys => format::decode_keys(bytes, 300).is_some_and(|keys| {
                assert!(keys.iter().all(|(_, range)| range.start <= range.end && range.end <= 300));
                let again = format::encode_keys(keys[0].0, &keys[1..]);
                assert_eq!(format::decode_keys(&again, 300), Some(keys));
                true
            }),
            Self::Frame => {
                if bytes.len() < FRAME_HEADER {
                    return false;
                }
                let header = FrameHeader::decode(bytes, SEED, 0);
                let mut out = Vec::new();
                let dictionary = Dictionary::new(1, vec![0; 1024]);
                // Also where the checksum is wrong: a decompressor has to bear anything.
                let decoded = decode(header.codec, &bytes[FRAME_HEADER..], Some(&dictionary), &mut out);
                assert!(is_raw(header.codec) || out.len() <= FRAME_BYTES);
                decoded.is_ok() && header.is_good(&bytes[FRAME_HEADER..])
            }
            Self::Footer => array(bytes)
                .and_then(|bytes: [u8; FOOTER_BYTES]| Summary::decode_footer(&bytes, SEED, 100))
                .is_some_and(|summary| {
                    assert_eq!(summary.encode_footer(SEED), bytes);
                    true
                }),
            Self::IndexTail => RunTail::decode(bytes, 1).is_some_and(|tail| {
                assert!(tail.fences.is_empty() || tail.encode() == bytes);
                true
            }),
            Self::IndexPage => array(bytes).and_then(Page::parse).is_some_and(|page| {
                for number in 0..page.len() {
                    let id = page.entry(number).and_then(|entry| array(&entry[..12]));
                    assert!(id.is_none_or(|id| page.find(&id).is_none_or(|found| found[..12] == id)));
                }
                page.entry(page.len()).is_none()
            }),
            Self::State => State::decode(bytes).is_some_and(|state| {
                assert_eq!(State::decode(&state.encode()), Some(state));
                true
            }),
            Self::Manifest => Manifest::decode(bytes).is_some_and(|manifest| {
                assert_eq!(Manifest::decode(&manifest.encode()), Some(manifest));
                true
            }),
            Self::Copies => doc::good_copy(bytes, MAGIC).is_some(),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn zstd_sample() -> Vec<u8> {
    let encoder = crate::codec::Encoder::new(Compression::Zstd(1), None);
    encoder.encode(&[5; 3000]).1.into_owned()
}

fn sample_state() -> State {
    State {
        shards: 2,
        keys: Keys::Hash,
        secret: [7; 32],
        floor: 9,
        age_ms: 11,
        gone: vec![vec![(0, 3), (7, 9)], vec![]],
        dictionary: 1,
        cuts: vec![(1, 5)],
        cutting: Some(Cutting { to: 5 << 32, last: 8 }),
    }
}

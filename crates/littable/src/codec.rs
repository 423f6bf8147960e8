//! How the bytes of a frame are stored.

use crate::format::FRAME_BYTES;
use crate::{Compression, LittError};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::{CCtx, DCtx, SafeResult, compress_bound};

/// The frame's bytes as they are.
pub(crate) const RAW: u8 = 1;
const ZSTD: u8 = 2;
/// zstd with the dictionary that the segment's header names.
const ZSTD_DICT: u8 = 3;
/// The frame's bytes as they are, because they were compressed already.
const PASSED: u8 = 4;

/// Whether a codec stores bytes as they are.
pub(crate) fn is_raw(codec: u8) -> bool {
    matches!(codec, RAW | PASSED)
}

/// Size of a trained dictionary, in bytes.
const DICTIONARY_BYTES: usize = 32 << 10;
/// Most bytes of samples that a dictionary is trained on.
pub(crate) const SAMPLE_BYTES: usize = 4 << 20;
/// Fewest samples that a dictionary is trained on.
const MIN_SAMPLES: usize = 64;
/// Frames shorter than this are stored as they are: zstd's own header would eat the gain.
const MIN_COMPRESSED_BYTES: usize = 48;
/// Beginnings of formats that do not get smaller: zstd, gzip, xz, PNG, JPEG.
const COMPRESSED: [&[u8]; 5] =
    [&[0x28, 0xb5, 0x2f, 0xfd], &[0x1f, 0x8b], b"\xfd7zXZ", b"\x89PNG", &[0xff, 0xd8, 0xff]];

/// A trained dictionary.
pub(crate) struct Dictionary {
    pub number: u32,
    bytes: Vec<u8>,
    decoder: DecoderDictionary<'static>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Dictionary {
    pub fn new(number: u32, bytes: Vec<u8>) -> Self {
        let decoder = DecoderDictionary::copy(&bytes);
        Self { number, bytes, decoder }
    }

    /// A dictionary's bytes, trained on samples; `None` where there are too few of them or they
    /// have nothing in common.
    pub fn train(samples: &[Vec<u8>]) -> Option<Vec<u8>> {
        if samples.len() < MIN_SAMPLES {
            return None;
        }
        zstd::dict::from_samples(samples, DICTIONARY_BYTES).ok()
    }
}

/// Compresses the frames of one segment.
pub(crate) struct Encoder {
    compression: Compression,
    dictionary: Option<EncoderDictionary<'static>>,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl Encoder {
    pub fn new(compression: Compression, dictionary: Option<&Dictionary>) -> Self {
        let dictionary = match compression {
            Compression::ZstdDict(level) => dictionary.map(|d| EncoderDictionary::copy(&d.bytes, level)),
            _ => None,
        };
        Self { compression, dictionary }
    }

    /// Codec and stored bytes of a frame.
    pub fn encode<'a>(&self, raw: &'a [u8]) -> (u8, Cow<'a, [u8]>) {
        let level = match self.compression {
            Compression::None => return (RAW, raw.into()),
            Compression::PassThrough => return (PASSED, raw.into()),
            Compression::Zstd(level) | Compression::ZstdDict(level) => level,
        };
        if COMPRESSED.iter().any(|magic| raw.starts_with(magic)) {
            return (PASSED, raw.into());
        }
        if raw.len() < MIN_COMPRESSED_BYTES {
            return (RAW, raw.into());
        }
        match self.compress(level, raw) {
            Some(stored) if stored.len() < raw.len() => {
                (if self.dictionary.is_some() { ZSTD_DICT } else { ZSTD }, stored.into())
            }
            _ => (RAW, raw.into()),
        }
    }

    /// The compressed bytes; `None` where zstd has no memory.
    fn compress(&self, level: i32, raw: &[u8]) -> Option<Vec<u8>> {
        let mut stored = Vec::with_capacity(compress_bound(raw.len()));
        lend(&ENCODER, CCtx::try_create, |context| match &self.dictionary {
            None => context.compress(&mut stored, raw, level),
            Some(dictionary) => context.compress_using_cdict(&mut stored, raw, dictionary.as_cdict()),
        })?;
        Some(stored)
    }
}

thread_local! {
    static ENCODER: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Gives access to the thread's zstd context, which is large and takes long to make. After an error
/// it is not used again.
fn lend<C>(
    kept: &'static std::thread::LocalKey<RefCell<Option<C>>>,
    make: impl FnOnce() -> Option<C>,
    work: impl FnOnce(&mut C) -> SafeResult,
) -> Option<usize> {
    let mut context = kept.try_with(|kept| kept.take()).ok().flatten().or_else(make)?;
    let done = work(&mut context).ok()?;
    let _ = kept.try_with(|kept| kept.replace(Some(context)));
    Some(done)
}

/// Appends a frame's raw bytes to `out`. `Err` holds what is wrong.
pub(crate) fn decode(
    codec: u8,
    stored: &[u8],
    dictionary: Option<&Dictionary>,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    if is_raw(codec) {
        out.extend_from_slice(stored);
        return Ok(());
    }
    let dictionary = match (codec, dictionary) {
        (ZSTD, _) => None,
        (ZSTD_DICT, Some(dictionary)) => Some(&dictionary.decoder),
        (ZSTD_DICT, None) => return Err("dictionary is missing"),
        _ => return Err("unknown codec of a frame"),
    };
    let mut raw = Vec::with_capacity(FRAME_BYTES);
    let decoded = lend(&DECODER, DCtx::try_create, |context| match dictionary {
        None => context.decompress(&mut raw, stored),
        Some(dictionary) => context.decompress_using_ddict(&mut raw, stored, dictionary.as_ddict()),
    });
    decoded.ok_or("frame does not decompress")?;
    if out.is_empty() && out.capacity() == 0 {
        // A value of one frame keeps what it needs and no more.
        raw.shrink_to_fit();
        *out = raw;
    } else {
        out.extend_from_slice(&raw);
    }
    Ok(())
}

impl Compression {
    /// Refuses levels that zstd does not have.
    pub(crate) fn check(self) -> Result<(), LittError> {
        match self {
            Self::Zstd(level) | Self::ZstdDict(level) if !(1..=19).contains(&level) => {
                Err(LittError::BadSetting {
                    setting: "compression",
                    why: format!("level {level} is not 1 to 19"),
                })
            }
            _ => Ok(()),
        }
    }
}

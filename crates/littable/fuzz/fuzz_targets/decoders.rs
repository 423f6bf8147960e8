//! Feeds any bytes to one decoder: the first byte says to which.
#![no_main]

use hearth_littable::decoders::Decoder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    Decoder::ALL[usize::from(*which) % Decoder::ALL.len()].feed(bytes);
});

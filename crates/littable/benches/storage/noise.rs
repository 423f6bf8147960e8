//! Keys and values that no compressor makes smaller.

/// Bytes that values are cut from.
pub const POOL_BYTES: usize = 64 << 20;

/// Words that look random; the same for each seed.
#[derive(Clone, Debug)]
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }
}

/// Where values come from.
pub struct Pool(Vec<u8>);

impl Pool {
    pub fn new() -> Self {
        let mut noise = Noise::new(7);
        Self((0..POOL_BYTES / 8).flat_map(|_| noise.word().to_le_bytes()).collect())
    }

    /// The value of a number: other bytes than that of the numbers near it.
    pub fn value(&self, n: usize, len: usize) -> &[u8] {
        let from = n.wrapping_mul(len + 64 * 61) % (POOL_BYTES - len);
        &self.0[from..from + len]
    }
}

/// A key of 32 bytes, as hashes are.
pub fn key(n: usize) -> [u8; 32] {
    let mut noise = Noise::new(n as u64 + 1);
    let mut key = [0; 32];
    key.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&noise.word().to_le_bytes()));
    key[..8].copy_from_slice(&(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    key
}

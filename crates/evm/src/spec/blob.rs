//! Blob parameters by fork (EIP-4844, EIP-7691, EIP-7840, EIP-7892, EIP-7918).

use alloy_primitives::U256;

/// Gas of one blob (EIP-4844).
pub const GAS_PER_BLOB: u64 = 131_072;
/// Lowest blob base fee in wei (EIP-4844).
pub const MIN_BLOB_BASE_FEE: u64 = 1;
/// Gas that one blob's execution is worth in the reserve price (EIP-7918).
pub const BLOB_BASE_COST: u64 = 8_192;

/// Target, maximum and price curve of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobParams {
    /// Target number of blobs a block.
    pub target: u64,
    /// Highest number of blobs a block.
    pub max: u64,
    /// Denominator of the price's exponent.
    pub update_fraction: u64,
}

/// Blob parameters and the time at which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobScheduleEntry {
    /// First timestamp in seconds.
    pub time: u64,
    /// Parameters from then on.
    pub params: BlobParams,
}

impl BlobParams {
    /// Parameters of Cancun (EIP-4844).
    pub const CANCUN: Self = Self { target: 3, max: 6, update_fraction: 3_338_477 };
    /// Parameters of Prague (EIP-7691), kept by Osaka.
    pub const PRAGUE: Self = Self { target: 6, max: 9, update_fraction: 5_007_716 };

    /// Blob base fee in wei for an excess of blob gas; saturates if the exponential exceeds 128
    /// bits.
    pub fn blob_base_fee(&self, excess_blob_gas: u64) -> u128 {
        let fee = fake_exponential(MIN_BLOB_BASE_FEE, excess_blob_gas, self.update_fraction);
        u128::try_from(fee).unwrap_or(u128::MAX)
    }

    /// Highest blob gas of a block.
    pub fn max_blob_gas(&self) -> u64 {
        self.max.saturating_mul(GAS_PER_BLOB)
    }

    /// Target blob gas of a block.
    pub fn target_blob_gas(&self) -> u64 {
        self.target.saturating_mul(GAS_PER_BLOB)
    }

    /// The excess that follows a parent block. With `reserve`, the base fee of the parent, the
    /// reserve price of EIP-7918 (from Osaka) keeps the excess from falling while blobs are cheaper
    /// than their execution.
    pub fn next_excess(&self, parent_excess: u64, parent_used: u64, reserve: Option<u64>) -> u64 {
        let target = self.target_blob_gas();
        let sum = parent_excess.saturating_add(parent_used);
        if sum < target {
            return 0;
        }
        if let Some(base_fee) = reserve {
            let execution = U256::from(BLOB_BASE_COST) * U256::from(base_fee);
            let blob = U256::from(GAS_PER_BLOB) * U256::from(self.blob_base_fee(parent_excess));
            if execution > blob && self.max > 0 {
                let scaled = u128::from(parent_used) * u128::from(self.max.saturating_sub(self.target))
                    / u128::from(self.max);
                return parent_excess.saturating_add(u64::try_from(scaled).unwrap_or(u64::MAX));
            }
        }
        sum - target
    }
}

/// `factor * e^(numerator / denominator)` by its Taylor series in integers (EIP-4844); saturates at
/// 2^256 - 1.
fn fake_exponential(factor: u64, numerator: u64, denominator: u64) -> U256 {
    if denominator == 0 {
        return U256::MAX;
    }
    let (numerator, denominator) = (U256::from(numerator), U256::from(denominator));
    let mut sum = U256::ZERO;
    let mut term = U256::from(factor) * denominator;
    let mut i = 1u64;
    while !term.is_zero() {
        let Some(next) = sum.checked_add(term) else { return U256::MAX };
        sum = next;
        let Some(product) = term.checked_mul(numerator) else { return U256::MAX };
        term = product / (denominator * U256::from(i));
        i += 1;
    }
    sum / denominator
}

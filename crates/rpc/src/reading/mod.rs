//! Many values in one request, for scripts: accounts and slots of a state, and blocks, receipts,
//! logs and rows in batches.
//!
//! A batch is bounded in bytes and in time, and states where the next one begins. Nothing is kept
//! between two batches, so a slow or stopped reader holds no resources. See [`packed`] for the
//! encoding of values.

mod blocks;
mod logs;
mod packed;
mod range;
mod receipts;
mod rows;
mod state;
mod transactions;

use crate::{
    LogFilter,
    tagged::{Tagged, Variant},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv::RowRange;
use hearth_home::{BlockRef, Home, NodeError};
use range::Range;
use serde::{Deserialize, Deserializer};

/// What to read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reading {
    /// Accounts of a state: for each 73 bytes, whether it exists, nonce, balance, hash of its code.
    Accounts {
        /// State after this block.
        block: BlockRef,
        /// The accounts.
        addresses: Vec<Address>,
    },
    /// Slots of an account in a state: 32 bytes each.
    Slots {
        /// State after this block.
        block: BlockRef,
        /// Account.
        address: Address,
        /// The slots.
        slots: Vec<U256>,
    },
    /// Code by its hash: its bytes.
    Code {
        /// Keccak-256 of the code.
        hash: B256,
    },
    /// Blocks of a range.
    Blocks {
        /// Which ones.
        range: Range,
        /// Whole transactions instead of hashes.
        full: bool,
    },
    /// Receipts of a range of blocks.
    Receipts {
        /// Which blocks.
        range: Range,
    },
    /// Logs of a range of blocks.
    Logs {
        /// Which blocks.
        range: Range,
        /// Which logs: emitters and topics.
        filter: LogFilter,
    },
    /// Rows of a data DB of the state store.
    Rows {
        /// Its name: `account`, `code`, `storage`, `legacy`, `metadata`.
        db: String,
        /// Lowest key; the first where absent.
        from: Option<Bytes>,
        /// Keys below this one alone; all where absent.
        to: Option<Bytes>,
        /// From the highest key down.
        reverse: bool,
    },
}

impl<'de> Tagged<'de> for Reading {
    const NAME: &'static str = "what";
    const CONTENT: &'static str = "of";

    fn of<D: Deserializer<'de>>(variant: Variant<'_, D>) -> Result<Self, D::Error> {
        Self::deserialize(variant)
    }
}

/// Most addresses or slots of one request.
pub const MAX_KEYS: usize = 100_000;

impl Reading {
    /// Whether it may take long.
    pub(crate) fn is_heavy(&self) -> bool {
        match self {
            Self::Code { .. } => false,
            Self::Accounts { addresses, .. } => addresses.len() > KEYS_SHORT,
            Self::Slots { slots, .. } => slots.len() > KEYS_SHORT,
            _ => true,
        }
    }

    pub(crate) fn answer(&self, home: &Home) -> Result<Vec<u8>, NodeError> {
        match self {
            Self::Accounts { block, addresses } => state::accounts(home, *block, addresses),
            Self::Slots { block, address, slots } => state::slots(home, *block, address, slots),
            Self::Code { hash } => state::code(home, hash),
            Self::Blocks { range, full } => blocks::batch(home, range, *full),
            Self::Receipts { range } => receipts::batch(home, range),
            Self::Logs { range, filter } => logs::batch(home, range, filter),
            Self::Rows { db, from, to, reverse } => {
                let key = |key: &Option<Bytes>| key.as_ref().map(|key| key.to_vec());
                rows::batch(home, db, RowRange { from: key(from), to: key(to), reverse: *reverse })
            }
        }
    }
}

/// Keys of a request that still counts as a short read.
const KEYS_SHORT: usize = 64;

//! Finds the field of a block that does not decode, after decoding has failed.

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256};
use alloy_rlp::{Decodable, Header as RlpHeader};
use hearth_primitives::Transaction;

/// What is wrong with a block's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Blame {
    /// Offset of the field in the block, in bytes.
    pub offset: usize,
    /// Name of the field.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

/// Kinds of header fields.
#[derive(Clone, Copy)]
enum Kind {
    Hash,
    Address,
    Bloom,
    Integer,
    Long,
    Bytes,
    Nonce,
}

const HEADER: [(&str, Kind); 21] = [
    ("parent hash", Kind::Hash),
    ("ommers hash", Kind::Hash),
    ("coinbase", Kind::Address),
    ("state root", Kind::Hash),
    ("transactions root", Kind::Hash),
    ("receipts root", Kind::Hash),
    ("logs bloom", Kind::Bloom),
    ("difficulty", Kind::Integer),
    ("number", Kind::Long),
    ("gas limit", Kind::Long),
    ("gas used", Kind::Long),
    ("timestamp", Kind::Long),
    ("extra data", Kind::Bytes),
    ("mix hash", Kind::Hash),
    ("nonce", Kind::Nonce),
    ("base fee", Kind::Long),
    ("withdrawals root", Kind::Hash),
    ("blob gas used", Kind::Long),
    ("excess blob gas", Kind::Long),
    ("parent beacon block root", Kind::Hash),
    ("requests hash", Kind::Hash),
];

/// Fields that every header has: those before the base fee.
const HEADER_LEAST: usize = 15;

/// Finds the first field of a block that does not decode; the block as a whole if every field does.
pub(super) fn blame(block: &[u8]) -> Blame {
    let mut walk = Walk { all: block, rest: block };
    match walk.block() {
        Err(blame) => blame,
        Ok(()) => Blame { offset: 0, field: "block".to_owned(), why: "does not decode".to_owned() },
    }
}

struct Walk<'a> {
    all: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    fn offset(&self) -> usize {
        self.all.len() - self.rest.len()
    }

    fn bad(&self, field: &str, why: impl ToString) -> Blame {
        Blame { offset: self.offset(), field: field.to_owned(), why: why.to_string() }
    }

    /// Goes into a list; gives the length of what lies behind it.
    fn list(&mut self, field: &str) -> Result<usize, Blame> {
        let mut rest = self.rest;
        let header = RlpHeader::decode(&mut rest).map_err(|error| self.bad(field, error))?;
        if !header.list {
            return Err(self.bad(field, "not a list"));
        }
        let behind =
            rest.len().checked_sub(header.payload_length).ok_or_else(|| self.bad(field, "cut short"))?;
        self.rest = rest;
        Ok(behind)
    }

    fn item<T: Decodable>(&mut self, field: &str) -> Result<(), Blame> {
        let mut rest = self.rest;
        T::decode(&mut rest).map_err(|error| self.bad(field, error))?;
        self.rest = rest;
        Ok(())
    }

    /// The items of a list, up to where it ends.
    fn items<T: Decodable>(&mut self, list: &str, item: &str) -> Result<(), Blame> {
        let end = self.list(list)?;
        let mut index = 0;
        while self.rest.len() > end {
            self.item::<T>(&format!("{item} {index}"))?;
            index += 1;
        }
        self.ends(list, end)
    }

    fn ends(&self, field: &str, end: usize) -> Result<(), Blame> {
        match self.rest.len() == end {
            true => Ok(()),
            false => Err(self.bad(field, "its items do not end where it ends")),
        }
    }

    fn block(&mut self) -> Result<(), Blame> {
        let end = self.list("block")?;
        self.header()?;
        self.items::<Transaction>("transactions", "transaction")?;
        self.items::<Header>("ommers", "ommer")?;
        if self.rest.len() > end {
            self.items::<alloy_eips::eip4895::Withdrawal>("withdrawals", "withdrawal")?;
        }
        if self.rest.len() > end {
            return Err(self.bad("block", "more items than a block has"));
        }
        self.ends("block", end)
    }

    fn header(&mut self) -> Result<(), Blame> {
        let end = self.list("header")?;
        for (index, (field, kind)) in HEADER.into_iter().enumerate() {
            if self.rest.len() <= end {
                return match index < HEADER_LEAST {
                    true => Err(self.bad(field, "missing from the header")),
                    false => Ok(()),
                };
            }
            match kind {
                Kind::Hash => self.item::<B256>(field)?,
                Kind::Address => self.item::<Address>(field)?,
                Kind::Bloom => self.item::<Bloom>(field)?,
                Kind::Integer => self.item::<U256>(field)?,
                Kind::Long => self.item::<u64>(field)?,
                Kind::Bytes => self.item::<Bytes>(field)?,
                Kind::Nonce => self.item::<B64>(field)?,
            }
        }
        self.ends("header", end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_primitives::Block;

    fn block() -> Vec<u8> {
        let mut block = Block::default();
        block.header.extra_data = Bytes::from_static(b"extra");
        block.body.ommers = vec![Header::default()];
        alloy_rlp::encode(&block)
    }

    #[test]
    fn the_field_and_its_offset_are_named() {
        let good = block();
        Block::decode(&mut &good[..]).unwrap();
        // The parent hash follows three bytes of the block's header and three of the header's.
        let mut bad = good.clone();
        bad[6] = 0x9f;
        let got = blame(&bad);
        assert_eq!((got.offset, got.field.as_str()), (6, "parent hash"));
        let extra = good.windows(6).position(|w| w == b"\x85extra").unwrap();
        let mut bad = good.clone();
        bad[extra - 1] = 0x00;
        assert!(Block::decode(&mut &bad[..]).is_err());
        let got = blame(&bad);
        assert_eq!((got.offset, got.field.as_str()), (extra - 1, "timestamp"));
    }

    #[test]
    fn whatever_is_cut_or_changed_is_answered() {
        let good = block();
        for at in 0..good.len() {
            blame(&good[..at]);
            for value in [0, 0x7f, 0x80, 0xb8, 0xbf, 0xc0, 0xf8, 0xff] {
                let mut bad = good.clone();
                bad[at] = value;
                if Block::decode(&mut &bad[..]).is_err() {
                    assert!(blame(&bad).offset <= bad.len());
                }
            }
        }
    }
}

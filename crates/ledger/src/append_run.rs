//! Appending blocks that are committed in one step: each table takes the rows of all of them at
//! once.

use crate::ledger::TOTAL_DIFFICULTY_BYTES;
use crate::{Ledger, LedgerError, MAX_CAPSULE_BYTES, capsules, receipts};
use alloy_primitives::{Address, B256, U256};
use alloy_rlp::Encodable;
use hearth_littable::{Group, LittError, Table};
use hearth_primitives::{Block, BlockOutput, Height, Receipt, TraceCapsule};
use std::ops::Range;

/// Bytes of a primary key: number and hash.
const KEY_BYTES: usize = size_of::<Height>() + size_of::<B256>();

/// A block that is committed together with others.
#[derive(Clone, Copy, Debug)]
pub struct RunBlock<'a> {
    /// The block.
    pub block: &'a Block,
    /// Its hash.
    pub hash: B256,
    /// Sum of the difficulties from genesis up to it.
    pub total_difficulty: U256,
    /// What its execution gave; `None` of a block without transactions, which has no receipts and
    /// no sidecar.
    pub output: Option<&'a BlockOutput>,
    /// Its trace capsule, if it has one.
    pub capsule: Option<&'a TraceCapsule>,
}

impl RunBlock<'_> {
    pub(crate) fn height(&self) -> Height {
        self.block.header.number
    }

    /// The receipts of its transactions.
    pub(crate) fn receipts(&self) -> &[Receipt] {
        self.output.map_or(&[], |output| &output.receipts)
    }

    fn senders(&self) -> &[Address] {
        self.output.map_or(&[], |output| &output.senders)
    }
}

/// Rows of one table.
struct Rows {
    /// One behind the other.
    bytes: Vec<u8>,
    /// Primary keys, and where their rows lie; `None` for a block without a row.
    places: Vec<Option<([u8; KEY_BYTES], Range<usize>)>>,
}

impl Rows {
    fn with_capacity(blocks: usize) -> Self {
        Self { bytes: Vec::new(), places: Vec::with_capacity(blocks) }
    }

    /// Adds a block's row, whose bytes `put` appends; none if they are more than `most`.
    fn add(&mut self, of: &RunBlock<'_>, most: usize, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        put(&mut self.bytes);
        if self.bytes.len() - start > most {
            self.bytes.truncate(start);
            return self.places.push(None);
        }
        let mut key = [0; KEY_BYTES];
        let (number, hash) = key.split_at_mut(size_of::<Height>());
        number.copy_from_slice(&of.block.header.number.to_be_bytes());
        hash.copy_from_slice(of.hash.as_slice());
        self.places.push(Some((key, start..self.bytes.len())));
    }

    /// Puts the rows; the table's position behind each block.
    fn put(&self, table: &Table, is_harmless: impl Fn(&LittError) -> bool) -> Result<Vec<u64>, LittError> {
        let there: Vec<_> = self.places.iter().flatten().collect();
        let secondary: Vec<[(&[u8], Range<u32>); 1]> =
            there.iter().map(|(key, place)| [(&key[size_of::<Height>()..], 0..place.len() as u32)]).collect();
        let groups: Vec<_> = there
            .iter()
            .zip(&secondary)
            .map(|((key, place), secondary)| Group {
                key,
                value: &self.bytes[place.clone()],
                secondary,
                number: key.first_chunk().map(|number| Height::from_be_bytes(*number)),
            })
            .collect();
        let before = table.position()?;
        let ends = match table.put_run(&groups) {
            // One of them is refused, and the others are put without it.
            Err(error) if is_harmless(&error) => {
                let put = |group| match table.put_group(group) {
                    Err(error) if !is_harmless(&error) => Err(error),
                    _ => table.position(),
                };
                groups.iter().map(put).collect::<Result<Vec<_>, _>>()?
            }
            ends => ends?,
        };
        let (mut ends, mut end) = (ends.into_iter(), before);
        let positions = self.places.iter().map(|place| {
            if place.is_some() {
                end = ends.next().unwrap_or(end);
            }
            end
        });
        Ok(positions.collect())
    }
}

impl Ledger {
    /// Appends blocks that follow each other, with receipts, capsules and sidecars. Returns the
    /// ends of the tables behind each of them, as [`Ledger::positions`] gives them.
    ///
    /// # Errors
    /// [`LedgerError::Table`]: a conflict where a block is there with other receipts.
    pub fn append_run(&self, run: &[RunBlock<'_>]) -> Result<Vec<Vec<u64>>, LedgerError> {
        let rows = || Rows::with_capacity(run.len());
        let (mut blocks, mut of_receipts, mut of_capsules) = (rows(), rows(), rows());
        for of in run {
            let block = of.block;
            blocks.add(of, usize::MAX, |out| {
                out.extend_from_slice(&of.total_difficulty.to_be_bytes::<TOTAL_DIFFICULTY_BYTES>());
                block.encode(out);
            });
            of_receipts.add(of, usize::MAX, |out| {
                receipts::encode_to(out, of.receipts(), of.senders());
            });
            match of.capsule {
                Some(capsule) => {
                    of_capsules.add(of, MAX_CAPSULE_BYTES, |out| capsules::encode_to(out, capsule));
                }
                None => of_capsules.places.push(None),
            }
        }
        let tables = self.tables();
        let blocks = blocks.put(&tables.blocks, |_| false)?;
        let of_receipts = of_receipts.put(&tables.receipts, |_| false)?;
        let of_capsules = of_capsules.put(&tables.capsules, |error| {
            // As for the capsule of one block, see [`Ledger::append_capsule`].
            matches!(error, LittError::Conflict { .. } | LittError::Pruned { .. })
        })?;
        let mut positions = Vec::with_capacity(run.len());
        for ((of, block), (receipts, capsule)) in
            run.iter().zip(blocks).zip(of_receipts.into_iter().zip(of_capsules))
        {
            if let Some(output) = of.output {
                self.append_sidecar(of.height(), of.hash, output)?;
            }
            let natives = tables.natives.as_ref().map(|table| table.position()).transpose()?;
            positions.push([block, receipts, capsule].into_iter().chain(natives).collect());
        }
        // The commit that names these rows must not outlive them.
        tables.drain()?;
        Ok(positions)
    }
}

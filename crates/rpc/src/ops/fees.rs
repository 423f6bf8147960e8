//! Fees: those of the next block, those of past blocks, and suggestions.

use super::{Answer, short};
use alloy_consensus::Transaction as _;
use alloy_eips::BlockNumberOrTag;
use hearth_chain::fees;
use hearth_home::{BlockNumber, Home, JsonWriter, NodeError};
use hearth_ledger::{StoredBlock, StoredReceipts};
use hearth_primitives::Height;
use hearth_tracers::Cancel;
use std::sync::Arc;

/// Most percentiles in one request (eth/gasprice/feehistory.go of go-ethereum: maxQueryLimit).
const MAX_PERCENTILES: usize = 100;

pub(super) fn max_priority_fee_per_gas(home: &Home) -> Answer {
    let tip = home.suggested_tip()?;
    short(|w| w.quantity_u128(tip))
}

pub(super) fn gas_price(home: &Home) -> Answer {
    let tip = home.suggested_tip()?;
    let base_fee = home.head()?.block.header.base_fee_per_gas.unwrap_or(0);
    short(|w| w.quantity_u128(tip + u128::from(base_fee)))
}

pub(super) fn base_fee(home: &Home) -> Answer {
    let fee = fees::next_base_fee(home.chain().spec(), &home.head()?.block.header);
    match fee {
        Some(fee) => short(|w| w.quantity(fee)),
        None => super::null(),
    }
}

/// Of the head itself, as go-ethereum: its excess is what the next block starts from.
pub(super) fn blob_base_fee(home: &Home) -> Answer {
    let head = home.head()?;
    let fee = fees::blob_base_fee(home.chain().spec(), &head.block.header);
    match fee {
        Some(fee) => short(|w| w.quantity_u128(fee)),
        None => super::null(),
    }
}

/// Fees of one block and of the next.
struct BlockFees {
    base: u64,
    next_base: u64,
    gas_ratio: f64,
    blob: u128,
    next_blob: u128,
    blob_ratio: f64,
    rewards: Vec<u128>,
}

pub(super) fn fee_history(
    home: &Home,
    count: u64,
    newest: BlockNumber,
    percentiles: &[f64],
    stop: &Cancel,
) -> Answer {
    if count == 0 {
        return Ok(NO_HISTORY.into());
    }
    check_percentiles(percentiles)?;
    let mut count = count.min(home.config().rpc.fee_history_max_blocks.max(1));
    let pending = home.pending_by_number(newest)?;
    let last = match &pending {
        Some(pending) => pending.call_header().number,
        None => {
            let (head, last) = (home.head()?.block.header.number, home.height(newest)?);
            if last > head {
                let message = format!("request beyond head block: requested {last}, head {head}");
                return Err(NodeError::Unsupported { message });
            }
            last
        }
    };
    // Without a pending block to report on, the number of blocks is lower by one.
    if newest == BlockNumberOrTag::Pending && pending.is_none() {
        count -= 1;
    }
    count = count.min((last + 1).saturating_sub(home.first_block()));
    if count == 0 {
        return Ok(NO_HISTORY.into());
    }
    let oldest = last + 1 - count;
    let mut rows = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    for number in oldest..=last {
        if stop.is_cancelled() {
            return Err(home.interrupted());
        }
        rows.push(match pending.as_ref().filter(|_| number == last) {
            Some(pending) => {
                let block = pending.block(home.chain())?;
                fees_of(home, &block, percentiles, || Ok(Arc::new(pending.receipts())))?
            }
            None => {
                let block =
                    home.canonical(number)?.ok_or(NodeError::BlockNotFound { number: Some(number) })?;
                fees_of(home, &block, percentiles, || home.receipts_of(&block))?
            }
        });
    }
    Ok(render(oldest, &rows, !percentiles.is_empty()))
}

/// go-ethereum's answer where there is nothing to report (eth/gasprice/feehistory.go: FeeHistory).
const NO_HISTORY: &str = r#"{"oldestBlock":"0x0","gasUsedRatio":null}"#;

fn check_percentiles(percentiles: &[f64]) -> Result<(), NodeError> {
    let refuse = |message: String| Err(NodeError::Unsupported { message });
    if percentiles.len() > MAX_PERCENTILES {
        return refuse(format!("invalid reward percentile: over the query limit {MAX_PERCENTILES}"));
    }
    let mut before: Option<f64> = None;
    for (i, p) in percentiles.iter().copied().enumerate() {
        if !(0.0..=100.0).contains(&p) {
            return refuse(format!("invalid reward percentile: {p:.6}"));
        }
        if let Some(before) = before.filter(|before| p <= *before) {
            return refuse(format!("invalid reward percentile: #{}:{before:.6} >= #{i}:{p:.6}", i - 1));
        }
        before = Some(p);
    }
    Ok(())
}

fn fees_of(
    home: &Home,
    block: &StoredBlock,
    percentiles: &[f64],
    receipts: impl FnOnce() -> Result<Arc<StoredReceipts>, NodeError>,
) -> Result<BlockFees, NodeError> {
    let spec = home.chain().spec();
    let header = &block.block.header;
    let ratio = |used: u64, limit: u64| if limit == 0 { 0.0 } else { used as f64 / limit as f64 };
    let max_blob_gas = spec.blob_params(header.timestamp).map_or(0, |params| params.max_blob_gas());
    let cancun = header.excess_blob_gas.is_some();
    let stored = if percentiles.is_empty() { None } else { Some(receipts()?) };
    let rewards = stored.map_or_else(Vec::new, |stored| rewards(block, &stored, percentiles));
    Ok(BlockFees {
        base: header.base_fee_per_gas.unwrap_or(0),
        next_base: fees::next_base_fee(spec, header).unwrap_or(0),
        gas_ratio: ratio(header.gas_used, header.gas_limit),
        blob: fees::blob_base_fee(spec, header).unwrap_or(0),
        next_blob: if cancun {
            fees::next_blob_base_fee(spec, header, header.timestamp).unwrap_or(0)
        } else {
            0
        },
        blob_ratio: ratio(header.blob_gas_used.unwrap_or(0), max_blob_gas),
        rewards,
    })
}

/// The tips at the percentiles of a block's gas, tips ascending.
fn rewards(block: &StoredBlock, stored: &StoredReceipts, percentiles: &[f64]) -> Vec<u128> {
    let header = &block.block.header;
    let base_fee = header.base_fee_per_gas.unwrap_or(0);
    let mut before = 0;
    let transactions = block.block.body.transactions.iter().zip(&stored.receipts);
    let mut tips: Vec<(u128, u64)> = transactions
        .map(|(tx, receipt)| {
            let gas = receipt.cumulative_gas_used().saturating_sub(before);
            before = receipt.cumulative_gas_used();
            (tx.effective_tip_per_gas(base_fee).unwrap_or(0), gas)
        })
        .collect();
    tips.sort_by_key(|(tip, _)| *tip);
    let Some((_, first_gas)) = tips.first() else { return vec![0; percentiles.len()] };
    let (mut index, mut sum) = (0, *first_gas);
    let at = |percentile: &f64| {
        let threshold = (header.gas_used as f64 * percentile / 100.0) as u64;
        while sum < threshold && index + 1 < tips.len() {
            index += 1;
            sum += tips[index].1;
        }
        tips[index].0
    };
    percentiles.iter().map(at).collect()
}

fn render(oldest: Height, rows: &[BlockFees], with_rewards: bool) -> Vec<u8> {
    let mut w = JsonWriter::with_capacity(256 + rows.len() * 128);
    w.begin_object().key("oldestBlock").quantity(oldest);
    if with_rewards {
        w.key("reward").begin_array();
        for row in rows {
            w.begin_array();
            row.rewards.iter().for_each(|reward| {
                w.quantity_u128(*reward);
            });
            w.end_array();
        }
        w.end_array();
    }
    w.key("baseFeePerGas").begin_array();
    rows.iter().for_each(|row| {
        w.quantity(row.base);
    });
    rows.last().into_iter().for_each(|row| {
        w.quantity(row.next_base);
    });
    w.end_array().key("gasUsedRatio").begin_array();
    rows.iter().for_each(|row| {
        w.raw(&float(row.gas_ratio));
    });
    w.end_array().key("baseFeePerBlobGas").begin_array();
    rows.iter().for_each(|row| {
        w.quantity_u128(row.blob);
    });
    rows.last().into_iter().for_each(|row| {
        w.quantity_u128(row.next_blob);
    });
    w.end_array().key("blobGasUsedRatio").begin_array();
    rows.iter().for_each(|row| {
        w.raw(&float(row.blob_ratio));
    });
    w.end_array().end_object();
    w.into_bytes()
}

/// Ratios below it have an exponent in Go's JSON (encoding/json/encode.go: floatEncoder).
const EXPONENT_BELOW: f64 = 1e-6;

/// A ratio as JSON: whole numbers without a fraction, as Go prints them.
fn float(value: f64) -> String {
    if value > 0.0 && value < EXPONENT_BELOW { format!("{value:e}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_must_ascend_within_their_range() {
        assert!(check_percentiles(&[0.0, 50.0, 100.0]).is_ok());
        let words = |p: &[f64]| check_percentiles(p).expect_err("refused").to_string();
        assert_eq!(words(&[101.0]), "invalid reward percentile: 101.000000");
        assert_eq!(words(&[5.0, 5.0]), "invalid reward percentile: #0:5.000000 >= #1:5.000000");
        assert_eq!(words(&[1.0; 101]), "invalid reward percentile: over the query limit 100");
        assert!(check_percentiles(&[f64::NAN]).is_err());
    }

    #[test]
    fn ratios_print_as_go_prints_them() {
        assert_eq!(float(0.0), "0");
        assert_eq!(float(1.0), "1");
        assert_eq!(float(0.00072868), "0.00072868");
        assert_eq!(float(21_000.0 / 9_000_000_000.0), "0.000002333333333333333");
        assert_eq!(float(0.000_001), "0.000001");
        assert_eq!(float(21_000.0 / 210_000_000_000.0), "1e-7");
    }
}

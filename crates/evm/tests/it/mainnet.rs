//! Recorded blocks of Ethereum mainnet: gas, bloom and receipts root of each, and the speed over
//! all.

use crate::{fixtures, memory::MemoryState};
use hearth_evm::{
    BlockEnvironment, BlockError, ChainSpec, Fork, RecordedCase, check_output, check_without_receipts_root,
    execute_block, validate_roots,
};
use std::{
    path::Path,
    time::{Duration, Instant},
};

struct Run {
    gas: u64,
    time: Duration,
}

fn run(path: &Path) -> Result<Run, String> {
    let case = RecordedCase::parse_json(&fixtures::read(path)).map_err(|error| error.to_string())?;
    let spec = ChainSpec::mainnet();
    let state = MemoryState::from_alloc(&case.pre_state);
    let block = case.block();
    match validate_roots(&spec, &block) {
        // Ommers are not recorded, so their hash cannot be checked.
        Err(BlockError::Mismatch { field: hearth_evm::Field::OmmersHash, .. })
            if !case.ommer_hashes.is_empty() => {}
        other => other.map_err(|error| error.to_string())?,
    }
    let start = Instant::now();
    let output = execute_block(&spec, &block, &state, &case, None).map_err(|error| error.to_string())?;
    let time = start.elapsed();
    let check = if BlockEnvironment::from_header(&spec, &case.header).fork >= Fork::Byzantium {
        check_output(&spec, &case.header, &output)
    } else {
        check_without_receipts_root(&spec, &case.header, &output)
    };
    check.map_err(|error| error.to_string())?;
    let mut stepwise = state.clone();
    for changes in &output.writes {
        stepwise.apply_checked(changes)?;
    }
    let mut whole = state;
    whole.apply_checked(&output.changes)?;
    if stepwise.accounts != whole.accounts
        || stepwise.storage != whole.storage
        || stepwise.codes != whole.codes
    {
        return Err("the net change differs from the sum of the write sets".to_string());
    }
    if output.writes.len() != case.transactions.len() + 2 {
        return Err(format!(
            "{} write sets for {} transactions",
            output.writes.len(),
            case.transactions.len()
        ));
    }
    Ok(Run { gas: output.gas_used, time })
}

#[test]
fn recorded_mainnet_blocks() {
    let Some(folder) = fixtures::folder("mainnet-blocks") else { return };
    let mut table = fixtures::Table::default();
    let (mut gas, mut time) = (0, Duration::ZERO);
    for path in fixtures::files(&folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let result = run(&path).map(|run| {
            gas += run.gas;
            time += run.time;
            println!(
                "  {name:<28} {:>9} gas {:>7.1} ms {:>7.1} Mgas/s",
                run.gas,
                run.time.as_secs_f64() * 1e3,
                run.gas as f64 / run.time.as_secs_f64() / 1e6
            );
        });
        table.add("recorded blocks", &name, result);
    }
    let (passed, failed) = table.print("mainnet blocks");
    println!(
        "  {gas} gas in {:.1} ms: {:.1} Mgas/s",
        time.as_secs_f64() * 1e3,
        gas as f64 / time.as_secs_f64() / 1e6
    );
    assert_eq!((passed, failed), (51, 0));
}

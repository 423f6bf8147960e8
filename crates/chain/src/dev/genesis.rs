//! The development chain's genesis, as a geth-format genesis file: what `init` reads, this writes.

use super::accounts::{dev_accounts, dev_balance};
use alloy_eips::{eip2935, eip4788, eip7002, eip7251};
use alloy_primitives::{Address, Bytes};
use serde_json::{Map, Value, json};

/// Chain id of the development chain.
pub const DEV_CHAIN_ID: u64 = 31_337;

/// Base fee of the first block, in wei.
const FIRST_BASE_FEE_WEI: u64 = 1_000_000_000;

/// Contracts that block processing calls from Cancun and Prague on; without their code a block of Prague is invalid.
fn system_contracts() -> [(Address, &'static Bytes); 4] {
    [
        (eip4788::BEACON_ROOTS_ADDRESS, &eip4788::BEACON_ROOTS_CODE),
        (eip2935::HISTORY_STORAGE_ADDRESS, &eip2935::HISTORY_STORAGE_CODE),
        (eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, &eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE),
        (eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, &eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE),
    ]
}

/// The genesis file: every fork to Osaka from block 0, ten funded accounts, the system contracts.
pub fn dev_genesis_json(gas_limit: u64) -> String {
    let mut alloc = Map::new();
    for account in dev_accounts() {
        alloc.insert(account.address.to_string(), json!({ "balance": format!("{:#x}", dev_balance()) }));
    }
    for (address, code) in system_contracts() {
        // As deployed on mainnet: a contract's own nonce is 1 (EIP-161).
        alloc.insert(
            address.to_string(),
            json!({ "nonce": "0x1", "balance": "0x0", "code": code.to_string() }),
        );
    }
    let genesis = json!({
        "config": config(),
        "nonce": "0x0",
        "timestamp": "0x0",
        "extraData": "0x",
        "gasLimit": format!("{gas_limit:#x}"),
        "difficulty": "0x0",
        "coinbase": Address::ZERO.to_string(),
        "baseFeePerGas": format!("{FIRST_BASE_FEE_WEI:#x}"),
        "alloc": alloc,
    });
    serde_json::to_string_pretty(&genesis).expect("a JSON value always serialises")
}

fn config() -> Value {
    let mut config = Map::new();
    config.insert("chainId".into(), DEV_CHAIN_ID.into());
    let by_block = [
        "homesteadBlock",
        "eip150Block",
        "eip155Block",
        "eip158Block",
        "byzantiumBlock",
        "constantinopleBlock",
        "petersburgBlock",
        "istanbulBlock",
        "muirGlacierBlock",
        "berlinBlock",
        "londonBlock",
        "arrowGlacierBlock",
        "grayGlacierBlock",
        "mergeNetsplitBlock",
    ];
    let by_time = ["shanghaiTime", "cancunTime", "pragueTime", "osakaTime"];
    by_block.iter().chain(&by_time).for_each(|fork| drop(config.insert((*fork).into(), 0.into())));
    config.insert("terminalTotalDifficulty".into(), 0.into());
    Value::Object(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_evm::{ChainSpec, Fork};

    #[test]
    fn it_reads_as_a_genesis_of_osaka_with_ten_accounts_and_four_contracts() {
        let (spec, genesis) = ChainSpec::from_genesis_json(&dev_genesis_json(30_000_000)).expect("reads");
        assert_eq!(spec.chain_id(), 31_337);
        let header = genesis.header(Default::default());
        assert_eq!(spec.fork_of(&header), Fork::Osaka);
        assert_eq!(header.gas_limit, 30_000_000);
        assert_eq!(header.base_fee_per_gas, Some(FIRST_BASE_FEE_WEI));
        assert!(header.requests_hash.is_some());
        let changes = genesis.changes();
        assert_eq!(changes.accounts.len(), 14);
        assert_eq!(changes.codes.len(), 4);
        let funded =
            changes.accounts.iter().filter_map(|a| a.new).filter(|a| a.balance == dev_balance()).count();
        assert_eq!(funded, 10);
    }
}

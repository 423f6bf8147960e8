//! The development chain's genesis, as a geth-format genesis file: what `init` reads, this writes.

use super::{AccountsError, DevFork, GenesisOptions, accounts::dev_accounts_of};
use alloy_eips::{eip2935, eip4788, eip7002, eip7251};
use alloy_primitives::{Address, Bytes, address, hex};
use serde_json::{Map, Value, json};

/// Chain id of the development chain.
pub const DEV_CHAIN_ID: u64 = 31_337;

/// The deterministic deployer that tools expect at this address: it makes contracts with CREATE2.
const CREATE2_DEPLOYER: Address = address!("4e59b44847b379578588920cA78FbF26c0B4956C");
/// Its code.
const CREATE2_DEPLOYER_CODE: Bytes = Bytes::from_static(&hex!(
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3"
));

/// Contracts of the genesis: those that block processing calls from Cancun and Prague on, without
/// whose code a block of Prague is invalid, and the deployer. Their nonces are those of mainnet.
fn contracts(fork: DevFork) -> impl Iterator<Item = (Address, Bytes, u64)> {
    let contracts = [
        (DevFork::Cancun, eip4788::BEACON_ROOTS_ADDRESS, eip4788::BEACON_ROOTS_CODE.clone(), 1),
        (DevFork::Prague, eip2935::HISTORY_STORAGE_ADDRESS, eip2935::HISTORY_STORAGE_CODE.clone(), 1),
        (
            DevFork::Prague,
            eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
            eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE.clone(),
            1,
        ),
        (
            DevFork::Prague,
            eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
            eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE.clone(),
            1,
        ),
        (DevFork::Homestead, CREATE2_DEPLOYER, CREATE2_DEPLOYER_CODE, 1),
    ];
    let there = contracts.into_iter().filter(move |(first, ..)| *first <= fork);
    there.map(|(_, address, code, nonce)| (address, code, nonce))
}

/// The genesis file of a development chain without options: every fork up to Osaka from block 0,
/// ten funded accounts.
pub fn dev_genesis_json(gas_limit: u64) -> String {
    let options = GenesisOptions { gas_limit, ..GenesisOptions::default() };
    dev_genesis(&options).expect("the phrase is a valid mnemonic")
}

/// The genesis file of a development chain.
///
/// # Errors
/// [`AccountsError`]: no accounts can be made of the phrase.
pub fn dev_genesis(options: &GenesisOptions) -> Result<String, AccountsError> {
    let mut alloc = Map::new();
    for account in dev_accounts_of(&options.mnemonic, options.accounts)? {
        let balance = format!("{:#x}", options.balance_wei);
        alloc.insert(account.address.to_string(), json!({ "balance": balance }));
    }
    for (address, code, nonce) in contracts(options.hardfork) {
        alloc.insert(
            address.to_string(),
            json!({ "nonce": format!("{nonce:#x}"), "balance": "0x0", "code": code.to_string() }),
        );
    }
    let mut genesis = json!({
        "config": config(options),
        "nonce": "0x0",
        "timestamp": format!("{:#x}", options.timestamp),
        "extraData": "0x",
        "gasLimit": format!("{:#x}", options.gas_limit),
        "difficulty": "0x0",
        "coinbase": Address::ZERO.to_string(),
        "alloc": alloc,
    });
    if options.hardfork >= DevFork::London {
        genesis["baseFeePerGas"] = format!("{:#x}", options.base_fee_wei).into();
    }
    Ok(serde_json::to_string_pretty(&genesis).expect("a JSON value always serialises"))
}

fn config(options: &GenesisOptions) -> Value {
    let fields = options.hardfork.config_fields().map(|field| (field.to_owned(), Value::from(0)));
    let chain_id =
        [("chainId".to_owned(), options.chain_id.into()), ("chainIdInExtraData".to_owned(), true.into())];
    let code_size = options.code_size_limit.map(|limit| ("codeSizeLimit".to_owned(), limit.into()));
    Value::Object(chain_id.into_iter().chain(fields).chain(code_size).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_evm::{ChainSpec, Fork};

    #[test]
    fn it_is_a_genesis_of_osaka_with_ten_accounts() {
        let (spec, genesis) = ChainSpec::from_genesis_json(&dev_genesis_json(30_000_000)).expect("reads");
        assert_eq!(spec.chain_id(), 31_337);
        let header = genesis.header(Default::default());
        assert_eq!(spec.fork_of(&header), Fork::Osaka);
        assert_eq!(header.gas_limit, 30_000_000);
        assert_eq!(header.base_fee_per_gas, Some(1_000_000_000));
        assert!(header.requests_hash.is_some());
        let changes = genesis.changes();
        assert_eq!(changes.accounts.len(), 15);
        assert_eq!(changes.codes.len(), 5);
        let balance = GenesisOptions::default().balance_wei;
        let funded = changes.accounts.iter().filter_map(|a| a.new).filter(|a| a.balance == balance).count();
        assert_eq!(funded, 10);
    }

    #[test]
    fn every_fork_reads_as_the_newest_of_its_chain() {
        for name in DevFork::names() {
            let hardfork = DevFork::from_name(name).expect("a fork");
            let options = GenesisOptions { hardfork, chain_id: 7, timestamp: 9, ..GenesisOptions::default() };
            let text = dev_genesis(&options).expect("a genesis");
            let (spec, genesis) = ChainSpec::from_genesis_json(&text).expect("reads");
            let header = genesis.header(Default::default());
            assert_eq!((spec.chain_id(), header.timestamp), (7, 9), "{name}");
            assert_eq!(header.base_fee_per_gas.is_some(), hardfork >= DevFork::London, "{name}");
            assert_eq!(header.withdrawals_root.is_some(), hardfork >= DevFork::Shanghai, "{name}");
            assert_eq!(header.requests_hash.is_some(), hardfork >= DevFork::Prague, "{name}");
        }
    }
}

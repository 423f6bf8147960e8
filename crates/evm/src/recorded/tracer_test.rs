//! go-ethereum's tracer tests (eth/tracers/internal/tracetest): one transaction, the block that it
//! runs in and the state before it.
//!
//! The document is `{genesis: {config, alloc, mixHash, …}, context: {number, timestamp, miner,
//! gasLimit, difficulty, baseFeePerGas?}, input, …}`, where `input` is the signed transaction. The
//! caller reads the remaining fields (the options of the tracer, the expected result).

use super::{RecordedError, need, need_object, need_u64};
use crate::{
    env::BlockEnvironment,
    error::SpecError,
    genesis::{GenesisAccount, parse_alloc},
    json::{Fields, parse_object},
    senders::recover_sender,
    spec::{ChainSpec, Fork},
};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes};
use hearth_primitives::Transaction;
use std::collections::BTreeMap;

/// Longest input of a test that an error quotes, in characters.
const QUOTED_INPUT_CHARS: usize = 80;

/// One transaction with what is needed to execute it.
#[derive(Clone, Debug)]
pub struct TracerTest {
    /// Rules of its chain.
    pub spec: ChainSpec,
    /// The block that it runs in.
    pub environment: BlockEnvironment,
    /// The transaction.
    pub transaction: Transaction,
    /// Who signed it.
    pub sender: Address,
    /// State before it: accounts that are not here do not exist.
    pub alloc: BTreeMap<Address, GenesisAccount>,
}

impl TracerTest {
    /// Reads a tracer test from JSON text.
    ///
    /// # Errors
    /// [`RecordedError`] names the JSON field.
    pub fn parse_json(text: &str) -> Result<Self, RecordedError> {
        let root = parse_object("genesis", text)?;
        let genesis = need_object(&root, "genesis")?;
        let context = need_object(&root, "context")?;
        let spec = ChainSpec::from_config(&need_object(&genesis, "config")?, false)?;
        let environment = environment(&spec, &genesis, &context)?;
        let input = need(root.bytes("input"), &root, "input", "the bytes of a signed transaction")?;
        let transaction =
            Transaction::decode_2718(&mut &input[..]).map_err(|error| bad_input(&input, &error))?;
        let sender =
            recover_sender(&spec, &environment, &transaction).map_err(|error| bad_input(&input, &error))?;
        let alloc = parse_alloc(&need_object(&genesis, "alloc")?)?;
        Ok(Self { spec, environment, transaction, sender, alloc })
    }
}

fn bad_input(input: &Bytes, error: &dyn std::fmt::Display) -> SpecError {
    let mut got = input.to_string();
    got.truncate(QUOTED_INPUT_CHARS);
    SpecError::invalid("input", &got, &format!("the bytes of a signed transaction ({error})"))
}

/// The block of the test with go-ethereum's set-up: after the merge if the terminal total
/// difficulty is zero, with the randomness of the genesis, and from Cancun on without excess blob
/// gas, which makes the blob base fee one wei.
fn environment(spec: &ChainSpec, genesis: &Fields, context: &Fields) -> Result<BlockEnvironment, SpecError> {
    let number = need_u64(context, "number")?;
    let timestamp = need_u64(context, "timestamp")?;
    let merged = spec.terminal_total_difficulty().is_some_and(|difficulty| difficulty.is_zero());
    let fork = spec.fork_with_merge(number, timestamp, merged);
    let blobs = fork >= Fork::Cancun;
    let random =
        || Ok::<_, SpecError>(genesis.b256("mixHash")?.or(genesis.b256("mixhash")?).unwrap_or_default());
    Ok(BlockEnvironment {
        chain_id: spec.chain_id(),
        number,
        timestamp,
        beneficiary: need(context.address("miner"), context, "miner", "an address")?,
        gas_limit: need_u64(context, "gasLimit")?,
        base_fee: if spec.is_london(number) {
            Some(context.u64("baseFeePerGas")?.unwrap_or(0))
        } else {
            None
        },
        difficulty: context.u256("difficulty")?.unwrap_or_default(),
        prev_randao: merged.then(random).transpose()?,
        excess_blob_gas: blobs.then_some(0),
        blob_base_fee: blobs.then_some(1),
        parent_hash: B256::ZERO,
        parent_beacon_root: None,
        fork,
        max_blob_gas: spec.blob_params(timestamp).map_or(0, |params| params.max_blob_gas()),
        code_size_limit: spec.code_size_limit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = r#"{
        "genesis": {"config": {"chainId": 1, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0,
            "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0, "berlinBlock": 0,
            "londonBlock": 0}, "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": "0x5"}}},
        "context": {"number": "7", "timestamp": "0x9", "miner": "0x00000000000000000000000000000000000000bb",
            "gasLimit": "30000000", "difficulty": "3", "baseFeePerGas": "0x7"},
        "input": "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
    }"#;

    #[test]
    fn a_test_gives_its_block_its_transaction_and_its_state() {
        let test = TracerTest::parse_json(TEST).unwrap();
        let env = &test.environment;
        assert_eq!((env.number, env.timestamp, env.gas_limit, env.base_fee), (7, 9, 30_000_000, Some(7)));
        assert_eq!((env.fork, env.prev_randao, env.blob_base_fee), (Fork::London, None, None));
        // The signed example of EIP-155.
        let sender: Address = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F".parse().unwrap();
        assert_eq!(test.sender, sender);
        assert_eq!(test.alloc[&Address::with_last_byte(0xaa)].balance.to::<u64>(), 5);
    }

    #[test]
    fn refusals_name_the_field() {
        for (from, to, field) in [
            ("\"context\"", "\"c\"", "context is missing"),
            ("\"miner\"", "\"m\"", "context.miner is missing"),
            ("\"chainId\"", "\"c\"", "config.chainId is missing"),
            ("0xf86c09", "0x0102", "input is 0x0102"),
            ("\"input\"", "\"i\"", "input is missing"),
            ("\"0x5\"", "\"five\"", "alloc.0x00000000000000000000000000000000000000aa.balance"),
        ] {
            let error = TracerTest::parse_json(&TEST.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
    }
}

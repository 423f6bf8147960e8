//! Formulas of headers against values that mainnet and the proposals give.

use alloy_consensus::{BlockBody, EMPTY_OMMER_ROOT_HASH, Header, proofs};
use alloy_primitives::{B64, B256, U256, b256, bytes};
use hearth_evm::{
    Ancestors, BlobParams, BlockError, ChainSpec, Field, Fork, SpecError, block_reward, next_base_fee,
    next_difficulty, next_excess_blob_gas, validate_body, validate_header,
};
use hearth_primitives::{Block, Height, StateError};

fn parent(number: u64, timestamp: u64, difficulty: u64) -> Header {
    Header { number, timestamp, difficulty: U256::from(difficulty), ..Header::default() }
}

#[test]
fn difficulty_of_mainnet_blocks() {
    let spec = ChainSpec::mainnet();
    // Block 1 follows the genesis by years: Frontier's formula falls by one step to its value.
    let genesis = parent(0, 0, 17_179_869_184);
    assert_eq!(next_difficulty(&spec, 1_438_269_988, &genesis), U256::from(17_171_480_576u64));
    // Frontier's bomb: period 2 adds one.
    let later = parent(199_999, 1_000, 10_000_000_000);
    assert_eq!(
        next_difficulty(&spec, 1_005, &later),
        U256::from(10_000_000_000u64 + 10_000_000_000 / 2_048 + 1)
    );
}

#[test]
fn difficulty_formulas_by_fork() {
    let step = 2_000_000_000_000 / 2_048;
    let base = 2_000_000_000_000u64;
    let at = |number: u64, elapsed: u64, ommers: bool| {
        let mut parent = parent(number - 1, 1_000, base);
        if ommers {
            parent.ommers_hash = B256::repeat_byte(1);
        } else {
            parent.ommers_hash = EMPTY_OMMER_ROOT_HASH;
        }
        next_difficulty(&ChainSpec::mainnet(), 1_000 + elapsed, &parent)
    };
    // Homestead: 1 - elapsed / 10, at least -99, and the bomb of period 12.
    assert_eq!(at(1_200_000, 9, false), U256::from(base + step + (1 << 10)));
    assert_eq!(at(1_200_000, 25, false), U256::from(base - step + (1 << 10)));
    assert_eq!(at(1_200_000, 100_000, false), U256::from(base - 99 * step + (1 << 10)));
    // Byzantium: elapsed / 9, one step more after ommers, bomb three million blocks late.
    assert_eq!(at(4_400_000, 8, false), U256::from(base + step + (1 << 12)));
    assert_eq!(at(4_400_000, 8, true), U256::from(base + 2 * step + (1 << 12)));
    assert_eq!(at(4_400_000, 17, true), U256::from(base + step + (1 << 12)));
    // Constantinople, Muir Glacier, London, Arrow Glacier, Gray Glacier: the same formula with
    // other delays.
    for (number, delay) in [
        (7_300_000, 5_000_000),
        (9_300_000, 9_000_000),
        (13_000_000, 9_700_000),
        (14_000_000, 10_700_000),
        (15_100_000, 11_400_000),
    ] {
        let period: u64 = (number - delay) / 100_000;
        let bomb = if period >= 2 { 1u64 << (period - 2) } else { 0 };
        assert_eq!(at(number, 8, false), U256::from(base + step + bomb), "block {number}");
    }
}

#[test]
fn difficulty_does_not_fall_below_the_minimum() {
    let parent = parent(1, 1_000, 131_072);
    assert_eq!(next_difficulty(&ChainSpec::mainnet(), 9_000, &parent), U256::from(131_072));
}

#[test]
fn a_fixed_difficulty_takes_the_place_of_every_formula() {
    let config = r#"{"chainId":1982,"homesteadBlock":0,"ethash":{"fixeddifficulty":15}}"#;
    let spec = ChainSpec::from_config_json(config).unwrap();
    assert_eq!(next_difficulty(&spec, 9_000, &parent(1, 1_000, 15)), U256::from(15));
    let without = ChainSpec::from_config_json(r#"{"chainId":1982,"homesteadBlock":0,"ethash":{}}"#).unwrap();
    assert_eq!(next_difficulty(&without, 9_000, &parent(1, 1_000, 15)), U256::from(131_072));
    let wrong = ChainSpec::from_config_json(r#"{"chainId":1982,"ethash":{"fixeddifficulty":"x"}}"#);
    assert!(wrong.unwrap_err().to_string().contains("config.ethash.fixeddifficulty"));
}

#[test]
fn under_bft_times_may_be_equal_and_gas_limits_take_no_steps() {
    let config = |bft: &str| {
        let zero = "\"homesteadBlock\":0,\"londonBlock\":0,\"terminalTotalDifficulty\":0";
        ChainSpec::from_config_json(&format!("{{\"chainId\":7,{zero}{bft}}}"))
    };
    let (bft, plain) = (config(r#","bft":{"engine":"cometbft"}"#).unwrap(), config("").unwrap());
    assert!(bft.is_bft() && !plain.is_bft());
    let parent = Header {
        number: 4,
        timestamp: 100,
        gas_limit: 30_000_000,
        gas_used: 15_000_000,
        base_fee_per_gas: Some(1_000),
        ..Header::default()
    };
    let child = |timestamp, gas_limit| Header {
        parent_hash: parent.hash_slow(),
        number: 5,
        timestamp,
        gas_limit,
        base_fee_per_gas: Some(1_000),
        ..Header::default()
    };
    let field = |spec: &ChainSpec, timestamp, gas_limit| {
        validate_header(spec, &child(timestamp, gas_limit), &parent).err().map(|error| error.to_string())
    };
    assert_eq!(field(&bft, 100, 60_000_000), None);
    assert_eq!(field(&bft, 101, 30_000_000), None);
    let earlier = field(&bft, 99, 30_000_000).unwrap();
    assert!(earlier.contains("at least 100"), "{earlier}");
    let small = field(&bft, 100, 4_999).unwrap();
    assert!(small.contains("at least 5000"), "{small}");
    let equal = field(&plain, 100, 30_000_000).unwrap();
    assert!(equal.contains("above 100"), "{equal}");
    assert!(field(&plain, 101, 60_000_000).is_some());
    // A chain that became a network after block 4, and one after block 5: the block is of the time
    // before.
    let from = |height: u64| config(&format!(r#","bft":{{"engine":"cometbft","initialHeight":{height}}}"#));
    let (five, six) = (from(5).unwrap(), from(6).unwrap());
    assert_eq!((bft.bft_start(), plain.bft_start(), six.bft_start()), (Some(1), None, Some(6)));
    assert_eq!(field(&five, 100, 60_000_000), None);
    assert!(field(&six, 100, 30_000_000).unwrap().contains("above 100"));
    assert!(field(&six, 101, 60_000_000).is_some());
    assert!(from(0).unwrap_err().to_string().contains("config.bft.initialHeight"));
    let committed = |rest: &str, zero: &str| {
        config(&format!(r#","bft":{{"engine":"cometbft",{rest}}},"byzantiumBlock":{zero}"#))
    };
    let lthash = |rest: &str, zero: &str| committed(&format!(r#""commitment":"lthash"{rest}"#), zero);
    assert!(
        lthash("", "0").unwrap().is_lthash() && lthash(r#","initialHeight":1"#, "0").unwrap().is_lthash()
    );
    assert!(!committed(r#""commitment":"mpt""#, "0").unwrap().is_lthash() && !bft.is_lthash());
    let why = |spec: Result<ChainSpec, SpecError>| spec.map(drop).unwrap_err().to_string();
    assert!(why(lthash(r#","initialHeight":5"#, "0")).contains("since bft.initialHeight is not 1"));
    assert!(why(lthash("", "7")).contains("since byzantiumBlock is not 0"));
    assert!(why(committed(r#""commitment":"iavl""#, "0")).contains("mpt or lthash"));
    let other = config(r#","bft":{"engine":"raft"}"#).unwrap_err().to_string();
    assert!(other.contains("config.bft.engine") && other.contains("cometbft"), "{other}");
    assert!(config(r#","bft":{}"#).unwrap_err().to_string().contains("config.bft.engine"));
}

#[test]
fn base_fee_follows_the_parent() {
    let spec = ChainSpec::dev(1);
    let after = |base_fee: u64, gas_used: u64| {
        let parent =
            Header { base_fee_per_gas: Some(base_fee), gas_limit: 20_000_000, gas_used, ..Header::default() };
        next_base_fee(&spec, &parent)
    };
    // The table of EIP-1559's reference tests.
    assert_eq!(after(1_000_000_000, 10_000_000), Some(1_000_000_000));
    assert_eq!(after(1_000_000_000, 9_000_000), Some(987_500_000));
    assert_eq!(after(1_000_000_000, 11_000_000), Some(1_012_500_000));
    assert_eq!(after(7, 10_000_001), Some(8));
    assert_eq!(after(0, 0), Some(0));
    // The block before London has none, the first one begins at a gwei.
    let mainnet = ChainSpec::mainnet();
    assert_eq!(next_base_fee(&mainnet, &parent(12_964_998, 0, 1)), None);
    assert_eq!(next_base_fee(&mainnet, &parent(12_964_999, 0, 1)), Some(1_000_000_000));
}

#[test]
fn blob_fee_and_excess() {
    assert_eq!(BlobParams::CANCUN.blob_base_fee(0), 1);
    assert_eq!(BlobParams::CANCUN.blob_base_fee(2_314_057), 1);
    assert_eq!(BlobParams::CANCUN.blob_base_fee(2_314_058), 2);
    assert_eq!(BlobParams::CANCUN.blob_base_fee(10 * 1024 * 1024), 23);
    assert_eq!(BlobParams::PRAGUE.blob_base_fee(u64::MAX), u128::MAX);
    // EIP-4844: what exceeds the target stays.
    assert_eq!(BlobParams::CANCUN.next_excess(0, 3 * 131_072, None), 0);
    assert_eq!(BlobParams::CANCUN.next_excess(0, 4 * 131_072, None), 131_072);
    // EIP-7918: blobs cheaper than their execution keep the excess from falling.
    assert_eq!(BlobParams::PRAGUE.next_excess(10 * 131_072, 9 * 131_072, Some(1_000_000_000)), 13 * 131_072);
    assert_eq!(BlobParams::PRAGUE.next_excess(10 * 131_072, 9 * 131_072, Some(1)), 13 * 131_072);
    assert_eq!(BlobParams::PRAGUE.next_excess(10 * 131_072, 0, Some(1_000_000_000)), 10 * 131_072);
    assert_eq!(BlobParams::PRAGUE.next_excess(10 * 131_072, 0, Some(1)), 4 * 131_072);
    // Schedules by time.
    let mainnet = ChainSpec::mainnet();
    assert_eq!(mainnet.blob_params(1_710_338_134), None);
    assert_eq!(mainnet.blob_params(1_710_338_135), Some(&BlobParams::CANCUN));
    assert_eq!(mainnet.blob_params(1_767_747_671).map(|params| params.max), Some(21));
    assert_eq!(next_excess_blob_gas(&mainnet, 1_700_000_000, &Header::default()), None);
}

#[test]
fn rewards_by_fork() {
    let ether = U256::from(10u64.pow(18));
    assert_eq!(block_reward(Fork::Homestead), U256::from(5) * ether);
    assert_eq!(block_reward(Fork::Byzantium), U256::from(3) * ether);
    assert_eq!(block_reward(Fork::Petersburg), U256::from(2) * ether);
}

#[test]
fn forks_of_mainnet() {
    let spec = ChainSpec::mainnet();
    let by_block = [
        (0, Fork::Frontier),
        (1_149_999, Fork::Frontier),
        (1_150_000, Fork::Homestead),
        (2_463_000, Fork::TangerineWhistle),
        (2_675_000, Fork::SpuriousDragon),
        (4_370_000, Fork::Byzantium),
        (7_280_000, Fork::Petersburg),
        (9_069_000, Fork::Istanbul),
        (9_200_000, Fork::MuirGlacier),
        (12_244_000, Fork::Berlin),
        (12_965_000, Fork::London),
        (13_773_000, Fork::ArrowGlacier),
        (15_050_000, Fork::GrayGlacier),
    ];
    for (number, fork) in by_block {
        assert_eq!(spec.fork_with_merge(number, 1_600_000_000, false), fork, "block {number}");
    }
    let by_time = [
        (1_663_224_179, Fork::Paris),
        (1_681_338_455, Fork::Shanghai),
        (1_710_338_135, Fork::Cancun),
        (1_746_612_311, Fork::Prague),
        (1_764_798_551, Fork::Osaka),
    ];
    for (time, fork) in by_time {
        assert_eq!(spec.fork_with_merge(20_000_000, time, true), fork, "time {time}");
    }
}

/// A child of a post-merge parent that passes every check.
fn valid_child(spec: &ChainSpec) -> (Header, Header) {
    let parent = Header {
        gas_limit: 30_000_000,
        gas_used: 15_000_000,
        base_fee_per_gas: Some(1_000_000_000),
        timestamp: 100,
        excess_blob_gas: Some(0),
        blob_gas_used: Some(0),
        ..Header::default()
    };
    let child = Header {
        parent_hash: parent.hash_slow(),
        number: 1,
        timestamp: 112,
        gas_limit: 30_000_000,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        base_fee_per_gas: next_base_fee(spec, &parent),
        withdrawals_root: Some(B256::ZERO),
        blob_gas_used: Some(0),
        excess_blob_gas: next_excess_blob_gas(spec, 112, &parent),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(B256::ZERO),
        ..Header::default()
    };
    (parent, child)
}

#[test]
fn every_spoilt_field_is_named() {
    let spec = ChainSpec::dev(1);
    let (parent, child) = valid_child(&spec);
    validate_header(&spec, &child, &parent).expect("the child is valid");
    type Spoil = fn(&mut Header);
    let cases: [(Field, &str, Spoil); 17] = [
        (Field::ParentHash, "parent hash", |h| h.parent_hash = B256::ZERO),
        (Field::Number, "block number", |h| h.number = 2),
        (Field::Timestamp, "timestamp", |h| h.timestamp = 100),
        (Field::ExtraData, "extra data", |h| h.extra_data = vec![0; 33].into()),
        (Field::Nonce, "nonce", |h| h.nonce = B64::repeat_byte(1)),
        (Field::OmmersHash, "ommers hash", |h| h.ommers_hash = B256::ZERO),
        (Field::Difficulty, "difficulty", |h| h.difficulty = U256::from(1)),
        (Field::GasLimit, "gas limit", |h| h.gas_limit += 30_000_000 / 1_024),
        (Field::GasLimit, "gas limit", |h| h.gas_limit = 1 << 63),
        (Field::GasUsed, "gas used", |h| h.gas_used = 30_000_001),
        (Field::BaseFee, "base fee", |h| h.base_fee_per_gas = Some(7)),
        (Field::BaseFee, "base fee", |h| h.base_fee_per_gas = None),
        (Field::WithdrawalsRoot, "withdrawals root", |h| h.withdrawals_root = None),
        (Field::BlobGasUsed, "blob gas used", |h| h.blob_gas_used = Some(1)),
        (Field::ExcessBlobGas, "excess blob gas", |h| h.excess_blob_gas = Some(1)),
        (Field::ParentBeaconRoot, "parent beacon block root", |h| h.parent_beacon_block_root = None),
        (Field::RequestsHash, "requests hash", |h| h.requests_hash = None),
    ];
    for (field, name, spoil) in cases {
        let mut spoilt = child.clone();
        spoil(&mut spoilt);
        let error = validate_header(&spec, &spoilt, &parent).expect_err(name);
        assert_eq!(error.field(), Some(field), "{error}");
        assert!(error.to_string().starts_with(name), "{error}");
        assert!(matches!(error, BlockError::Mismatch { .. }));
    }
}

#[test]
fn dao_blocks_carry_their_mark() {
    let spec = ChainSpec::mainnet();
    let mut parent = parent(1_919_999, 1_000, 62_413_376_722_602);
    parent.gas_limit = 4_712_384;
    parent.ommers_hash = EMPTY_OMMER_ROOT_HASH;
    let mut child = Header {
        parent_hash: parent.hash_slow(),
        number: 1_920_000,
        timestamp: 1_005,
        gas_limit: 4_712_384,
        difficulty: next_difficulty(&spec, 1_005, &parent),
        extra_data: bytes!("64616f2d686172642d666f726b"),
        ..Header::default()
    };
    validate_header(&spec, &child, &parent).expect("the mark is there");
    child.extra_data = bytes!("00");
    assert_eq!(validate_header(&spec, &child, &parent).expect_err("no mark").field(), Some(Field::ExtraData));
}

/// Headers of ancestors that have no ommers.
struct Ancestry(Vec<Header>);

impl Ancestors for Ancestry {
    fn header(&self, hash: &B256, _number: Height) -> Result<Option<Header>, StateError> {
        Ok(self.0.iter().find(|header| header.hash_slow() == *hash).cloned())
    }

    fn ommers(&self, _hash: &B256, _number: Height) -> Result<Vec<Header>, StateError> {
        Ok(Vec::new())
    }
}

#[test]
fn an_ommer_is_a_header_of_proof_of_work() {
    let spec = ChainSpec::mainnet();
    let first = Header { gas_limit: 5_000, ..parent(0, 1_000, 131_072) };
    let child = |timestamp: u64| Header {
        parent_hash: first.hash_slow(),
        gas_limit: 5_000,
        difficulty: next_difficulty(&spec, timestamp, &first),
        ..parent(1, timestamp, 0)
    };
    let second = child(1_010);
    let ancestry = Ancestry(vec![first.clone(), second.clone()]);
    let check = |ommer: Header| {
        let ommers = vec![ommer];
        let header = Header {
            parent_hash: second.hash_slow(),
            ommers_hash: proofs::calculate_ommers_root(&ommers),
            ..parent(2, 1_020, 131_072)
        };
        let block = Block { header, body: BlockBody { ommers, ..Default::default() } };
        validate_body(&spec, &block, &ancestry)
    };
    check(child(1_011)).expect("a sibling of the parent");
    let error = check(Header { difficulty: U256::ZERO, ..child(1_011) }).expect_err("no proof of work");
    assert_eq!(error.field(), Some(Field::Ommer), "{error}");
}

/// The fields of mainnet's genesis with a small allocation. The state root is given, so the hash
/// must be mainnet's.
#[test]
fn genesis_hash_of_mainnet() {
    let text = r#"{
        "config": {"chainId": 1, "homesteadBlock": 1150000, "terminalTotalDifficulty": 58750000000000000000000},
        "nonce": "0x42", "gasLimit": "0x1388", "difficulty": "0x400000000", "alloc": {},
        "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa"
    }"#;
    let (spec, genesis) = ChainSpec::from_genesis_json(text).expect("the file is right");
    let root = b256!("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544");
    let hash = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
    assert_eq!(genesis.header(root).hash_slow(), hash);
    assert_eq!(spec.terminal_total_difficulty(), U256::from_str_radix("58750000000000000000000", 10).ok());
}

#[test]
fn a_genesis_keeps_its_base_fee_before_london() {
    let base_fee = |fields: &str| {
        let text = format!(r#"{{"config": {{"chainId": 1}}, "difficulty": "0x1", "alloc": {{}}{fields}}}"#);
        let (_, genesis) = ChainSpec::from_genesis_json(&text).expect("the file is right");
        genesis.header(B256::ZERO).base_fee_per_gas
    };
    assert_eq!(base_fee(r#", "baseFeePerGas": "0x7""#), Some(7));
    assert_eq!(base_fee(r#", "baseFeePerGas": null"#), None);
    assert_eq!(base_fee(""), None);
}

#[test]
fn a_fork_that_may_be_absent_needs_the_one_before_it() {
    let from = [
        ("constantinopleBlock", "petersburgBlock"),
        ("istanbulBlock", "muirGlacierBlock"),
        ("londonBlock", "arrowGlacierBlock"),
        ("londonBlock", "grayGlacierBlock"),
    ];
    let names = [
        "homesteadBlock",
        "eip150Block",
        "eip155Block",
        "eip158Block",
        "byzantiumBlock",
        "constantinopleBlock",
        "istanbulBlock",
        "berlinBlock",
        "londonBlock",
    ];
    for (needed, optional) in from {
        let before = names.iter().take_while(|name| **name != needed);
        let without: String = before.map(|name| format!("\"{name}\":0,")).collect();
        let genesis = |forks: &str| {
            let config = format!("{{{forks}\"{optional}\":0,\"chainId\":7}}");
            let text = format!(r#"{{"config":{config},"difficulty":"0x1","alloc":{{}}}}"#);
            ChainSpec::from_genesis_json(&text).map(drop).map_err(|error| error.to_string())
        };
        let refused = genesis(&without).unwrap_err();
        assert!(refused.contains(needed) && refused.contains(optional), "{refused}");
        assert_eq!(genesis(&format!("{without}\"{needed}\":0,")), Ok(()), "{optional}");
    }
}

#[test]
fn wrong_genesis_files_name_the_field() {
    let cases = [
        ("[]", "genesis"),
        ("{}", "config"),
        (r#"{"config":{}, "alloc":{}}"#, "config.chainId"),
        (r#"{"config":{"chainId":"x"}, "alloc":{}}"#, "config.chainId"),
        (r#"{"config":{"chainId":1}}"#, "alloc"),
        (
            r#"{"config":{"chainId":1, "homesteadBlock":5, "eip150Block":3}, "alloc":{}}"#,
            "config.eip150Block",
        ),
        (r#"{"config":{"chainId":1}, "gasLimit":"0xzz", "alloc":{}}"#, "gasLimit"),
        (r#"{"config":{"chainId":1}, "alloc":{"0x12":{}}}"#, "alloc.0x12"),
        (
            r#"{"config":{"chainId":1}, "alloc":{"0x0000000000000000000000000000000000000001":{"balance":"1e5"}}}"#,
            "balance",
        ),
        (r#"{"config":{"chainId":1, "amsterdamTime": 5}, "alloc":{}}"#, "config.amsterdamTime"),
    ];
    for (text, field) in cases {
        let error = ChainSpec::from_genesis_json(text).expect_err(text);
        assert!(error.to_string().contains(field), "{text}: {error}");
    }
    let error = ChainSpec::from_genesis_json("{\n\"config\": 5,,}").expect_err("no JSON");
    assert!(matches!(error, SpecError::Json { line: 2, .. }), "{error:?}");
}

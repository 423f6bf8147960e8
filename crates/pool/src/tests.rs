//! The pool against a state in memory.

use super::*;
use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip4844, TxEip4844Variant, TxEip4844WithSidecar, TxEip7702, TxLegacy,
};
use alloy_eips::eip4844::{BlobTransactionSidecar, Bytes48, builder::SidecarBuilder, builder::SimpleCoder};
use alloy_primitives::{Bytes, Signature, TxKind, map::HashMap};
use hearth_dev_chain::{DEV_CHAIN_ID, dev_accounts};
use hearth_primitives::{Account, Transaction};
use parking_lot::Mutex;

const GWEI: u128 = 1_000_000_000;

/// Order of secp256k1.
const ORDER: U256 =
    alloy_primitives::uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);

/// Accounts by address; no code, no storage.
#[derive(Default)]
struct Accounts(Mutex<HashMap<Address, Account>>);

impl StateReader for Accounts {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.0.lock().get(address).copied())
    }
    fn storage(&self, _: &Address, _: &U256) -> Result<U256, StateError> {
        Ok(U256::ZERO)
    }
    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        Err(StateError::MissingCode(*hash))
    }
    fn storage_of(&self, _: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        Ok(Vec::new())
    }
}

fn pool(spec: ChainSpec, limits: PoolLimits) -> TransactionPool {
    let spec = Arc::new(spec);
    let chain_id = Arc::new(NextChainId::new(spec.clone()));
    TransactionPool::new(spec, chain_id, limits)
}

struct Bench {
    pool: TransactionPool,
    head: Header,
    state: Accounts,
}

fn limits() -> PoolLimits {
    PoolLimits {
        max_transactions: 4,
        max_per_account: 3,
        max_bytes: 4 << 20,
        max_transaction_bytes: 128 << 10,
        price_bump_percent: 10,
        min_tip_wei: 1,
    }
}

impl Bench {
    fn new() -> Self {
        let head = Header {
            gas_limit: 30_000_000,
            base_fee_per_gas: Some(1),
            excess_blob_gas: Some(0),
            blob_gas_used: Some(0),
            ..Header::default()
        };
        let state = Accounts::default();
        for account in dev_accounts() {
            state.0.lock().insert(
                account.address,
                Account { balance: U256::from(10).pow(U256::from(18)), ..Default::default() },
            );
        }
        Self { pool: pool(ChainSpec::dev(DEV_CHAIN_ID), limits()), head, state }
    }

    fn add(&self, transaction: PooledTransaction) -> Result<Arc<PoolEntry>, PoolError> {
        self.pool.add(transaction, &self.head, &self.state)
    }

    fn refusal(&self, transaction: PooledTransaction) -> String {
        self.add(transaction).expect_err("refused").to_string()
    }

    fn set(&self, who: usize, nonce: u64, balance: U256) {
        self.state
            .0
            .lock()
            .insert(dev_accounts()[who].address, Account { nonce, balance, ..Default::default() });
    }
}

fn sign<T: SignableTransaction<Signature>>(tx: T, who: usize) -> alloy_consensus::Signed<T> {
    let key = k256::ecdsa::SigningKey::from_slice(dev_accounts()[who].private_key.as_slice()).expect("a key");
    let (signature, recovery) = key.sign_prehash_recoverable(tx.signature_hash().as_slice()).expect("signs");
    tx.into_signed(Signature::from((signature, recovery)))
}

fn transfer(nonce: u64, fee: u128) -> TxEip1559 {
    TxEip1559 {
        chain_id: DEV_CHAIN_ID,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: TxKind::Call(Address::repeat_byte(7)),
        value: U256::from(1),
        ..Default::default()
    }
}

fn sent(who: usize, tx: TxEip1559) -> PooledTransaction {
    sign(tx, who).into()
}

#[test]
fn nonces_without_a_gap_count_and_a_gap_waits() {
    let bench = Bench::new();
    let who = dev_accounts()[0].address;
    bench.add(sent(0, transfer(1, GWEI))).expect("behind a gap");
    assert_eq!(bench.pool.next_nonce(&who, 0), 0);
    assert!(bench.pool.ready(&bench.state, 1, 1).expect("reads").is_empty());
    let first = bench.add(sent(0, transfer(0, GWEI))).expect("fills the gap");
    assert_eq!(bench.pool.next_nonce(&who, 0), 2);
    let ready = bench.pool.ready(&bench.state, 1, 1).expect("reads");
    assert_eq!(ready.iter().map(|entry| entry.hash).collect::<Vec<_>>(), [first.hash]);
    assert_eq!(bench.pool.status(&bench.state).expect("reads"), PoolStatus { pending: 2, queued: 0 });
    assert_eq!(first.sender, who);
}

#[test]
fn a_replacement_needs_ten_percent_more() {
    let bench = Bench::new();
    let old = bench.add(sent(0, transfer(0, 100))).expect("fits");
    assert_eq!(bench.refusal(sent(0, transfer(0, 100))), "already known");
    assert_eq!(bench.refusal(sent(0, transfer(0, 109))), "replacement transaction underpriced");
    let new = bench.add(sent(0, transfer(0, 110))).expect("outbids");
    assert_eq!(bench.pool.len(), 1);
    assert!(bench.pool.get(&old.hash).is_none());
    assert!(bench.pool.get(&new.hash).is_some());
    // Fractions of a wei do not count: 10 % more than 101 wei are 111.
    bench.add(sent(1, transfer(0, 101))).expect("fits");
    assert_eq!(bench.refusal(sent(1, transfer(0, 110))), "replacement transaction underpriced");
    bench.add(sent(1, transfer(0, 111))).expect("outbids");
}

#[test]
fn refusals_use_go_ethereums_words() {
    let bench = Bench::new();
    bench.set(0, 5, U256::from(10).pow(U256::from(18)));
    assert_eq!(bench.refusal(sent(0, transfer(4, GWEI))), "nonce too low: next nonce 5, tx nonce 4");
    let with = |change: fn(&mut TxEip1559)| {
        let mut tx = transfer(5, GWEI);
        change(&mut tx);
        bench.refusal(sent(0, tx))
    };
    assert_eq!(with(|tx| tx.gas_limit = 20_999), "intrinsic gas too low: gas 20999, minimum needed 21000");
    assert_eq!(
        with(|tx| tx.input = Bytes::from(vec![1; 100])),
        "intrinsic gas too low: gas 21000, minimum needed 22600"
    );
    assert_eq!(
        with(|tx| {
            tx.input = Bytes::from(vec![1; 100]);
            tx.gas_limit = 22_600
        }),
        "insufficient gas for floor data gas cost: gas 22600, minimum needed 25000"
    );
    assert_eq!(
        with(|tx| tx.gas_limit = 30_000_001),
        "transaction gas limit too high (cap: 16777216, tx: 30000001)"
    );
    assert_eq!(
        with(|tx| tx.max_priority_fee_per_gas = 2 * GWEI),
        "max priority fee per gas higher than max fee per gas"
    );
    assert_eq!(
        with(|tx| tx.max_priority_fee_per_gas = 0),
        "transaction gas price below minimum: gas tip cap 0, minimum needed 1"
    );
    assert_eq!(with(|tx| tx.chain_id = 1), "invalid sender: invalid chain id for signer: have 1 want 31337");
    assert_eq!(with(|tx| tx.nonce = u64::MAX), "nonce has max value");
    assert!(
        with(|tx| tx.value = U256::MAX).starts_with("insufficient funds for gas * price + value: balance")
    );
    let code = Bytes::from(vec![0; hearth_evm::MAX_INIT_CODE + 1]);
    let mut create = transfer(5, GWEI);
    (create.to, create.input) = (TxKind::Create, code);
    assert_eq!(bench.refusal(sent(0, create)), "max initcode size exceeded: code size 49153, limit 49152");
}

#[test]
fn the_first_of_several_faults_is_go_ethereums() {
    let bench = Bench::new();
    let mut tx = transfer(0, GWEI);
    (tx.chain_id, tx.max_priority_fee_per_gas) = (1, 2 * GWEI);
    assert_eq!(bench.refusal(sent(0, tx)), "max priority fee per gas higher than max fee per gas");
    let mut tx = transfer(u64::MAX, GWEI);
    (tx.chain_id, tx.gas_limit) = (1, 20_999);
    assert_eq!(bench.refusal(sent(0, tx)), "invalid sender: invalid chain id for signer: have 1 want 31337");
    let signed = |r, s| {
        let tx = TxEip1559 { gas_limit: 20_999, ..transfer(u64::MAX, GWEI) };
        bench.refusal(tx.into_signed(Signature::new(r, s, false)).into())
    };
    let one = U256::from(1);
    let out_of_range = "invalid sender: invalid transaction v, r, s values";
    assert_eq!(signed(U256::ZERO, one), out_of_range);
    assert_eq!(signed(one, U256::ZERO), out_of_range);
    assert_eq!(signed(ORDER, one), out_of_range);
    assert_eq!(signed(one, ORDER - one), out_of_range);
    // No point of the curve has this coordinate.
    assert_eq!(signed(U256::from(5), one), "invalid sender: recovery failed");
}

#[test]
fn a_gas_limit_above_the_blocks_is_refused() {
    let mut bench = Bench::new();
    bench.head.gas_limit = 20_000;
    assert_eq!(bench.refusal(sent(0, transfer(0, GWEI))), "exceeds block gas limit");
}

#[test]
fn types_wait_for_their_fork() {
    let mut bench = Bench::new();
    let spec = ChainSpec::from_config_json(
        r#"{"chainId":31337,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0}"#,
    );
    bench.pool = pool(spec.expect("reads"), limits());
    bench.head.difficulty = U256::from(1);
    assert_eq!(
        bench.refusal(sent(0, transfer(0, GWEI))),
        "transaction type not supported: type 2 rejected, pool not yet in Berlin"
    );
    let legacy = TxLegacy {
        chain_id: Some(DEV_CHAIN_ID),
        gas_price: GWEI,
        gas_limit: 21_000,
        to: Address::ZERO.into(),
        ..Default::default()
    };
    bench.add(sign(legacy, 0).into()).expect("legacy is always fine");
    let spec = ChainSpec::from_config_json(
        r#"{"chainId":31337,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0}"#,
    );
    bench.pool = pool(spec.expect("reads"), limits());
    assert_eq!(
        bench.refusal(sent(0, transfer(0, GWEI))),
        "transaction type not supported: type 2 rejected, pool not yet in London"
    );
}

#[test]
fn limits_hold_and_the_pricier_gets_in() {
    let bench = Bench::new();
    for nonce in 0..3 {
        bench.add(sent(0, transfer(nonce, 100))).expect("fits");
    }
    assert_eq!(bench.refusal(sent(0, transfer(3, 100))), "account limit exceeded: pooled 3 txs");
    let cheap = bench.add(sent(1, transfer(0, 50))).expect("the fourth fits");
    assert_eq!(
        bench.refusal(sent(2, transfer(0, 50))),
        "transaction underpriced: the pool is full (4 transactions)"
    );
    let pricier = bench.add(sent(2, transfer(0, 60))).expect("drops the cheapest");
    assert!(bench.pool.get(&cheap.hash).is_none());
    assert!(bench.pool.get(&pricier.hash).is_some());
    assert_eq!(bench.pool.len(), 4);
}

#[test]
fn nobody_is_dropped_for_one_that_does_not_get_in() {
    let mut bench = Bench::new();
    bench.pool = pool(ChainSpec::dev(DEV_CHAIN_ID), PoolLimits { max_bytes: 400, ..limits() });
    let small = bench.add(sent(0, transfer(0, 50))).expect("fits");
    let mut large = transfer(0, 100);
    (large.input, large.gas_limit) = (Bytes::from(vec![0; 1000]), 100_000);
    assert!(bench.refusal(sent(1, large)).starts_with("transaction underpriced"));
    assert!(bench.pool.get(&small.hash).is_some());
}

#[test]
fn what_waits_must_be_payable_together() {
    let bench = Bench::new();
    bench.set(0, 0, U256::from(50_000));
    bench.add(sent(0, transfer(0, 1))).expect("21001 wei at most");
    bench.add(sent(0, transfer(1, 1))).expect("42002 wei at most");
    assert_eq!(
        bench.refusal(sent(0, transfer(2, 1))),
        "insufficient funds for gas * price + value: balance 50000, queued cost 42002, tx cost 21001, overshot 13003"
    );
    // A replacement adds what it costs more; that comes before its price.
    let mut dear = transfer(1, 1);
    dear.value = U256::from(8_000);
    assert_eq!(
        bench.refusal(sent(0, dear)),
        "insufficient funds for gas * price + value: balance 50000, queued cost 42002, tx bumped 7999, overshot 1"
    );
}

#[test]
fn what_waits_behind_a_gap_takes_no_funds() {
    let bench = Bench::new();
    bench.set(0, 0, U256::from(50_000));
    bench.add(sent(0, transfer(5, 2))).expect("42001 wei at most, behind a gap");
    bench.add(sent(0, transfer(0, 1))).expect("21001 wei at most");
    bench.add(sent(0, transfer(1, 1))).expect("42002 wei at most");
    bench.set(0, 0, U256::from(42_001));
    assert_eq!(
        bench.refusal(sent(0, transfer(1, 2))),
        "insufficient funds for gas * price + value: balance 42001, queued cost 42002, tx bumped 21000, overshot 21001"
    );
}

#[test]
fn a_new_head_drops_what_it_made_impossible() {
    let bench = Bench::new();
    let used = bench.add(sent(0, transfer(0, GWEI))).expect("fits");
    let kept = bench.add(sent(0, transfer(1, GWEI))).expect("fits");
    let poor = bench.add(sent(1, transfer(0, GWEI))).expect("fits");
    bench.set(0, 1, U256::from(10).pow(U256::from(18)));
    bench.set(1, 0, U256::from(1));
    bench.pool.revalidate(&bench.head, &bench.state).expect("reads");
    assert!(bench.pool.get(&used.hash).is_none());
    assert!(bench.pool.get(&poor.hash).is_none());
    assert!(bench.pool.get(&kept.hash).is_some());
    assert_eq!(bench.pool.remove(&kept.hash).map(|e| e.hash), Some(kept.hash));
    assert!(bench.pool.is_empty());
}

/// Rules of Osaka from the time 100 on.
fn osaka_at_100() -> ChainSpec {
    let spec = ChainSpec::from_config_json(
        r#"{"chainId":31337,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,"terminalTotalDifficulty":0,"shanghaiTime":0,"cancunTime":0,"pragueTime":0,"osakaTime":100}"#,
    );
    spec.expect("reads")
}

#[test]
fn osaka_drops_what_is_above_its_gas_cap() {
    let mut bench = Bench::new();
    bench.pool = pool(osaka_at_100(), limits());
    let large = TxEip1559 { gas_limit: hearth_evm::MAX_TX_GAS + 1, ..transfer(0, 1) };
    let large = bench.add(sent(0, large)).expect("fits before Osaka");
    let small = bench.add(sent(1, transfer(0, 1))).expect("fits");
    bench.head.timestamp = 100;
    bench.pool.revalidate(&bench.head, &bench.state).expect("reads");
    assert!(bench.pool.get(&large.hash).is_none());
    assert!(bench.pool.get(&small.hash).is_some());
}

#[test]
fn ready_skips_low_fees_and_puts_the_best_tip_first() {
    let bench = Bench::new();
    let low = bench.add(sent(0, transfer(0, 10))).expect("fits");
    let high = bench.add(sent(1, transfer(0, 30))).expect("fits");
    let hashes = |fee| {
        bench.pool.ready(&bench.state, fee, 1).expect("reads").iter().map(|e| e.hash).collect::<Vec<_>>()
    };
    assert_eq!(hashes(1), [high.hash, low.hash]);
    assert_eq!(hashes(11), [high.hash]);
    assert!(hashes(31).is_empty());
}

fn blob(sidecar: BlobTransactionSidecar) -> PooledTransaction {
    priced_blob(sidecar, GWEI, 10)
}

fn priced_blob(sidecar: BlobTransactionSidecar, fee: u128, blob_fee: u128) -> PooledTransaction {
    let tx = TxEip4844 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 21_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        max_fee_per_blob_gas: blob_fee,
        to: Address::repeat_byte(7),
        blob_versioned_hashes: sidecar.versioned_hashes().collect(),
        ..Default::default()
    };
    let variant: TxEip4844Variant = TxEip4844WithSidecar { tx, sidecar }.into();
    sign(variant, 0).into()
}

fn sidecar() -> BlobTransactionSidecar {
    SidecarBuilder::<SimpleCoder>::from_slice(b"a blob's worth").build_4844().expect("commits")
}

#[test]
fn blobs_are_checked_and_brought_to_cell_proofs() {
    let bench = Bench::new();
    let good = blob(sidecar());
    let hash = *good.tx_hash();
    let entry = bench.add(good).expect("proofs verify");
    assert_eq!(entry.hash, hash);
    assert!(matches!(&entry.transaction, Transaction::Eip4844(_)));
    let Some(PooledTransaction::Eip4844(signed)) = &entry.with_sidecar else { panic!("keeps its sidecar") };
    let kept = signed.tx().sidecar().and_then(|s| s.as_eip7594()).expect("cell proofs");
    assert_eq!(kept.cell_proofs.len(), 128);

    let mut forged = sidecar();
    forged.proofs[0] = Bytes48::repeat_byte(0xc0);
    assert!(Bench::new().refusal(blob(forged)).starts_with("KZG verification error"));
    let mut other = sidecar();
    other.blobs[0].0[1] ^= 1;
    assert!(Bench::new().refusal(blob(other)).starts_with("KZG verification error"));
}

#[test]
fn osaka_drops_blobs_with_the_older_proofs() {
    let mut bench = Bench::new();
    bench.pool = pool(osaka_at_100(), limits());
    let old = bench.add(blob(sidecar())).expect("fits before Osaka");
    bench.pool.revalidate(&bench.head, &bench.state).expect("reads");
    assert!(bench.pool.get(&old.hash).is_some());
    bench.head.timestamp = 100;
    bench.pool.revalidate(&bench.head, &bench.state).expect("reads");
    assert!(bench.pool.is_empty());
    let new = bench.add(blob(sidecar())).expect("is brought to cell proofs");
    bench.pool.revalidate(&bench.head, &bench.state).expect("reads");
    assert!(bench.pool.get(&new.hash).is_some());
}

#[test]
fn a_replacement_of_blobs_pays_twice_as_much() {
    let bench = Bench::new();
    bench.add(priced_blob(sidecar(), 100, 10)).expect("fits");
    let refusal = |fee, blob_fee| bench.refusal(priced_blob(sidecar(), fee, blob_fee));
    let why = "replacement transaction underpriced: new tx";
    assert_eq!(refusal(100, 20), format!("{why} gas fee cap 100 <= 100 queued"));
    assert_eq!(refusal(200, 10), format!("{why} blob gas fee cap 10 <= 10 queued"));
    assert_eq!(refusal(199, 20), format!("{why} gas fee cap 199 < 100 queued + 100% replacement penalty"));
    bench.add(priced_blob(sidecar(), 200, 20)).expect("twice as much");
}

#[test]
fn a_blob_transaction_needs_its_sidecar_and_blobs() {
    let bench = Bench::new();
    let bare = TxEip4844 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 21_000,
        max_fee_per_gas: 1,
        max_priority_fee_per_gas: 1,
        ..Default::default()
    };
    let bare: TxEip4844Variant = bare.into();
    assert_eq!(bench.refusal(sign(bare, 0).into()), "missing sidecar in blob transaction");
    let empty = BlobTransactionSidecar::new(vec![], vec![], vec![]);
    assert_eq!(bench.refusal(blob(empty)), "blobless blob transaction");
}

#[test]
fn the_parts_of_a_sidecar_fit_its_transaction() {
    let bench = Bench::new();
    let mut few = sidecar();
    few.blobs.clear();
    assert_eq!(bench.refusal(blob(few)), "invalid number of 0 blobs compared to 1 blob hashes");
    let seven = sidecar().commitments[0];
    let seven = BlobTransactionSidecar::new(vec![], vec![seven; 7], vec![]);
    assert_eq!(bench.refusal(blob(seven)), "transaction blob limit exceeded: blob count 7, limit 6");
    let tx = TxEip4844 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 21_000,
        max_fee_per_gas: GWEI,
        max_priority_fee_per_gas: GWEI,
        max_fee_per_blob_gas: 10,
        blob_versioned_hashes: vec![B256::repeat_byte(1)],
        ..Default::default()
    };
    let (hash, other) = (sidecar().versioned_hashes().next().expect("one"), B256::repeat_byte(1));
    let variant: TxEip4844Variant = TxEip4844WithSidecar { tx, sidecar: sidecar() }.into();
    assert_eq!(
        bench.refusal(sign(variant, 0).into()),
        format!("blob 0: computed hash {hash} mismatches transaction one {other}")
    );
}

#[test]
fn a_set_code_transaction_needs_an_authorization() {
    let bench = Bench::new();
    let tx = TxEip7702 {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 50_000,
        max_fee_per_gas: 1,
        max_priority_fee_per_gas: 1,
        ..Default::default()
    };
    assert_eq!(bench.refusal(sign(tx, 0).into()), "set code tx must have at least one authorization tuple");
}

#[test]
fn content_separates_executable_transactions_from_gaps() {
    let bench = Bench::new();
    let [first, second] = [0, 1].map(|index| dev_accounts()[index].address);
    for (account, nonce) in [(0, 0), (0, 1), (0, 3), (1, 1)] {
        bench.add(sent(account, transfer(nonce, GWEI))).expect("fits");
    }
    let nonces = |entries: &[Arc<PoolEntry>]| entries.iter().map(|entry| entry.nonce).collect::<Vec<_>>();
    let all = bench.pool.content(&bench.state, None).expect("reads");
    assert_eq!(all.len(), 2);
    assert_eq!((nonces(&all[&first].pending), nonces(&all[&first].queued)), (vec![0, 1], vec![3]));
    assert_eq!((nonces(&all[&second].pending), nonces(&all[&second].queued)), (vec![], vec![1]));
    let one = bench.pool.content(&bench.state, Some(&second)).expect("reads");
    assert_eq!(one.keys().collect::<Vec<_>>(), [&second]);
    assert!(bench.pool.content(&bench.state, Some(&Address::ZERO)).expect("reads").is_empty());
}

#[test]
fn one_behind_a_gap_leaves_first_and_takes_nobodys_place() {
    let bench = Bench::new();
    let behind = bench.add(sent(0, transfer(5, 90))).expect("fits");
    let cheap = bench.add(sent(1, transfer(0, 50))).expect("fits");
    bench.add(sent(1, transfer(1, 50))).expect("fits");
    bench.add(sent(2, transfer(0, 50))).expect("fills the pool");
    // The dearest of all leaves first: it cannot be executed.
    bench.add(sent(3, transfer(0, 95))).expect("takes its place");
    assert!(bench.pool.get(&behind.hash).is_none());
    assert!(bench.pool.get(&cheap.hash).is_some());
    assert_eq!(bench.refusal(sent(4, transfer(7, 1000))), "future transaction tries to replace pending");
    assert_eq!(bench.pool.len(), 4);
}

fn authorization(who: usize, nonce: u64) -> alloy_eips::eip7702::SignedAuthorization {
    let inner = alloy_eips::eip7702::Authorization {
        chain_id: U256::from(DEV_CHAIN_ID),
        address: Address::repeat_byte(9),
        nonce,
    };
    let signer = hearth_dev_chain::DevSigner::new();
    let signature = signer.sign(&dev_accounts()[who].address, &inner.signature_hash()).expect("its key");
    inner.into_signed(signature)
}

fn set_code(who: usize, nonce: u64, authority: usize) -> PooledTransaction {
    let tx = TxEip7702 {
        chain_id: DEV_CHAIN_ID,
        nonce,
        gas_limit: 50_000,
        max_fee_per_gas: GWEI,
        max_priority_fee_per_gas: GWEI,
        to: Address::repeat_byte(7),
        authorization_list: vec![authorization(authority, 0)],
        ..Default::default()
    };
    sign(tx, who).into()
}

#[test]
fn a_delegated_account_has_one_transaction_in_flight() {
    let bench = Bench::new();
    let waiting = bench.add(set_code(0, 0, 1)).expect("fits");
    assert_eq!(waiting.authorities, [dev_accounts()[1].address]);
    // Account 1 is about to be delegated.
    assert_eq!(bench.refusal(sent(1, transfer(1, GWEI))), "gapped-nonce tx from delegated accounts");
    bench.add(sent(1, transfer(0, GWEI))).expect("one is fine");
    assert_eq!(
        bench.refusal(sent(1, transfer(1, GWEI))),
        "in-flight transaction limit reached for delegated accounts"
    );
    bench.add(sent(1, transfer(0, 2 * GWEI))).expect("it may be replaced");
    bench.pool.remove(&waiting.hash);
    bench.add(sent(1, transfer(1, GWEI))).expect("nothing is about to be delegated any more");
    assert_eq!(bench.refusal(set_code(2, 0, 1)), "authority already reserved");
}

#[test]
fn what_waits_behind_a_gap_is_not_in_flight() {
    let bench = Bench::new();
    bench.add(sent(1, transfer(1, GWEI))).expect("waits behind a gap");
    bench.add(set_code(0, 0, 1)).expect("fits");
    let gap = "gapped-nonce tx from delegated accounts";
    assert_eq!(bench.refusal(sent(1, transfer(1, 2 * GWEI))), gap);
    assert_eq!(bench.refusal(sent(1, transfer(2, GWEI))), gap);
    bench.add(sent(1, transfer(0, GWEI))).expect("closes the gap");
    assert_eq!(
        bench.refusal(sent(1, transfer(2, GWEI))),
        "in-flight transaction limit reached for delegated accounts"
    );
    bench.add(sent(1, transfer(1, 2 * GWEI))).expect("it may be replaced");
}

#[test]
fn an_account_has_blobs_waiting_or_none() {
    let bench = Bench::new();
    bench.add(blob(sidecar())).expect("fits");
    assert_eq!(bench.refusal(sent(0, transfer(1, GWEI))), "address already reserved");
    assert_eq!(bench.refusal(set_code(1, 0, 0)), "authority already reserved");
    let other = Bench::new();
    other.add(sent(0, transfer(1, GWEI))).expect("fits");
    assert_eq!(other.refusal(blob(sidecar())), "address already reserved");
}

#[test]
fn best_first_keeps_nonce_order_and_skips_failing_accounts() {
    use hearth_chain::TransactionSource as _;
    let mut bench = Bench::new();
    let many = PoolLimits { max_transactions: 10, ..limits() };
    bench.pool = pool(ChainSpec::dev(DEV_CHAIN_ID), many);
    for (who, nonce, fee) in [(0, 0, 10), (0, 1, 90), (1, 0, 50), (1, 1, 60), (2, 0, 30), (3, 1, 99)] {
        bench.add(sent(who, transfer(nonce, fee))).expect("fits");
    }
    let outcome = hearth_evm::TxOutcome {
        status: hearth_evm::TxStatus::Success,
        gas_used: 21_000,
        gas_refunded: 0,
        output: Bytes::new(),
        created: None,
    };
    let order = |fails: Option<Address>| {
        let mut best = bench.pool.best_first(&bench.state, 1, 1).expect("reads");
        let mut order = Vec::new();
        while let Some((tx, sender)) = best.next() {
            if fails == Some(sender) {
                assert!(best.refused(&hearth_evm::TxError::GasLimitReached));
                continue;
            }
            best.taken(&outcome);
            let who = dev_accounts().iter().position(|account| account.address == sender);
            order.push((who.expect("a dev account"), alloy_consensus::Transaction::nonce(&tx)));
        }
        order
    };
    assert_eq!(order(None), [(1, 0), (1, 1), (2, 0), (0, 0), (0, 1)]);
    assert_eq!(order(Some(dev_accounts()[1].address)), [(2, 0), (0, 0), (0, 1)]);
}

#[test]
fn a_block_is_filled_up_to_its_size_alone() {
    use alloy_eips::eip2718::Encodable2718 as _;
    use hearth_chain::TransactionSource as _;
    const DATA_BYTES: usize = 120_000;
    let mut bench = Bench::new();
    let many = PoolLimits { max_transactions: 100, max_per_account: 100, max_bytes: 16 << 20, ..limits() };
    bench.pool = pool(ChainSpec::dev(DEV_CHAIN_ID), many);
    // More than EIP-7934 lets a block have; the gas for so many zeros would fit a large limit.
    for nonce in 0..70 {
        let input = Bytes::from(vec![0; DATA_BYTES]);
        bench.add(sent(0, TxEip1559 { input, gas_limit: 2_000_000, ..transfer(nonce, 10) })).expect("fits");
    }
    bench.add(sent(1, transfer(0, 5))).expect("fits");
    let outcome = hearth_evm::TxOutcome {
        status: hearth_evm::TxStatus::Success,
        gas_used: 2_000_000,
        gas_refunded: 0,
        output: Bytes::new(),
        created: None,
    };
    let mut best = bench.pool.best_first(&bench.state, 1, 1).expect("reads");
    let (mut bytes, mut last) = (0, 0);
    while let Some((tx, _)) = best.next() {
        last = tx.encode_2718_len();
        bytes += last;
        best.taken(&outcome);
    }
    let most = order::BLOCK_TRANSACTIONS_BYTES_MAX;
    assert!(bytes <= most && bytes > most - DATA_BYTES - 1_000, "{bytes} of {most}");
    assert!(last < 1_000, "a small one has room behind those that have none");
}

#[test]
fn watchers_hear_of_transactions_when_they_become_executable() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<B256>>);
    impl PoolWatcher for Heard {
        fn executable(&self, entry: &Arc<PoolEntry>) {
            self.0.lock().push(entry.hash);
        }
    }
    let bench = Bench::new();
    let heard = Arc::new(Heard::default());
    bench.pool.watch(&(heard.clone() as Arc<dyn PoolWatcher>));
    let before = bench.pool.version();
    let behind = bench.add(sent(0, transfer(1, GWEI))).expect("waits behind a gap");
    assert!(heard.0.lock().is_empty());
    let first = bench.add(sent(0, transfer(0, GWEI))).expect("fills the gap");
    assert_eq!(*heard.0.lock(), [first.hash, behind.hash]);
    let new = bench.add(sent(0, transfer(0, 2 * GWEI))).expect("replaces");
    assert_eq!(*heard.0.lock(), [first.hash, behind.hash, new.hash]);
    assert_eq!(bench.pool.version(), before + 3);
}

#[test]
fn both_ways_to_recover_a_signer_agree() {
    use alloy_consensus::transaction::SignerRecoverable as _;
    use hearth_evm::recover_pooled;
    for nonce in 0..20 {
        let good = sent(0, transfer(nonce, GWEI));
        assert_eq!(recover_pooled(&good), Some(dev_accounts()[0].address));
        assert_eq!(recover_pooled(&good), good.recover_signer().ok());
        let PooledTransaction::Eip1559(signed) = good else { panic!("a transfer has type 2") };
        let (tx, signature, _) = signed.into_parts();
        // EIP-2: the other `s` of the same signer.
        let high = PooledTransaction::Eip1559(tx.clone().into_signed(Signature::new(
            signature.r(),
            ORDER - signature.s(),
            !signature.v(),
        )));
        let none = PooledTransaction::Eip1559(tx.into_signed(Signature::new(U256::ZERO, U256::ZERO, false)));
        for bad in [high, none] {
            assert_eq!((recover_pooled(&bad), bad.recover_signer().ok()), (None, None));
        }
    }
}

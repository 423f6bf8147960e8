//! CheckTx, InsertTx and ReapTxs: the transaction pool is the mempool, and it decides which
//! transactions a block may have.
//!
//! With CometBFT's own mempool (`flood`), CheckTx checks the transactions of clients and peers.
//! With `app` (v0.40), transactions of clients arrive by CheckTx and those of peers by InsertTx,
//! and ReapTxs returns those to send to peers.

use crate::{
    application::App,
    exception::ConsensusError,
    natives::SDK,
    outbox::Mempool,
    results::{CODE_INVALID, CODE_LATER, CODESPACE, gas},
};
use alloy_consensus::Transaction as _;
use alloy_primitives::keccak256;
use bytes::Bytes;
use hearth_abci::{RequestReapTxs, ResponseInsertTx, ResponseReapTxs, pb};
use hearth_cosmos::{TxError, is_native, sha256};
use hearth_pool::{PoolError, decode_transaction};

/// A transaction that was rejected.
struct Rejected {
    code: u32,
    log: String,
    codespace: &'static str,
}

impl From<TxError> for Rejected {
    fn from(error: TxError) -> Self {
        Self { code: error.code(), log: error.to_string(), codespace: SDK }
    }
}

impl Rejected {
    /// The code for a peer's transaction: 1 for good, `CODE_LATER` for now.
    fn insert_code(&self) -> u32 {
        let full = TxError::Full { most: 0 }.code();
        let is_full = self.codespace == SDK && self.code == full;
        if is_full || self.code >= CODE_LATER { CODE_LATER } else { CODE_INVALID }
    }
}

impl App {
    pub(crate) fn check_tx(
        &self,
        request: &pb::RequestCheckTx,
    ) -> Result<pb::ResponseCheckTx, ConsensusError> {
        let is_new = request.r#type == pb::CheckTxType::New as i32;
        let answer = match if is_new { self.add_checked(&request.tx)? } else { self.recheck(&request.tx) } {
            Ok(gas_limit) => pb::ResponseCheckTx { gas_wanted: gas(gas_limit), ..Default::default() },
            Err(Rejected { code, log, codespace }) => {
                pb::ResponseCheckTx { code, log, codespace: codespace.to_owned(), ..Default::default() }
            }
        };
        Ok(answer)
    }

    pub(crate) fn insert_tx(&self, tx: &[u8]) -> Result<ResponseInsertTx, ConsensusError> {
        let code = self.add(tx)?.map_or_else(|refused| refused.insert_code(), |_| 0);
        Ok(ResponseInsertTx { code })
    }

    pub(crate) fn reap_txs(&self, request: RequestReapTxs) -> ResponseReapTxs {
        ResponseReapTxs { txs: self.reap(Mempool::App, request.max_bytes, request.max_gas) }
    }

    /// Takes out what peers should get, see [`crate::outbox::Outbox::take`].
    pub(crate) fn reap(&self, mempool: Mempool, max_bytes: u64, max_gas: u64) -> Vec<Bytes> {
        let limit = |limit: u64| if limit == 0 { u64::MAX } else { limit };
        let (mut bytes_left, mut gas_left) = (limit(max_bytes), limit(max_gas));
        let mut taken = self.natives.take(mempool, &mut bytes_left, &mut gas_left);
        taken.extend(self.outbox.take(self.home.pool(), mempool, bytes_left, gas_left));
        taken
    }

    /// As [`Self::add`], and notes where the transaction came from.
    fn add_checked(&self, tx: &[u8]) -> Result<Result<u64, Rejected>, ConsensusError> {
        let added = self.add(tx)?;
        if added.is_ok() {
            match is_native(tx) {
                true => self.natives.checked(&sha256(tx)),
                // The hash of a transaction is that of its bytes (EIP-2718).
                false => self.outbox.checked(&keccak256(tx)),
            }
        }
        Ok(added)
    }

    /// Gives a transaction to the pool; its gas limit where the pool has it now.
    fn add(&self, tx: &[u8]) -> Result<Result<u64, Rejected>, ConsensusError> {
        if is_native(tx) {
            return Ok(self.add_native(tx)?.map_err(Rejected::from));
        }
        let refused = |code, log| Ok(Err(Rejected { code, log, codespace: CODESPACE }));
        let transaction = match decode_transaction(tx) {
            Ok(transaction) => transaction,
            Err(error) => return refused(CODE_INVALID, error.to_string()),
        };
        if transaction.is_eip4844() {
            return refused(CODE_INVALID, PoolError::BlobsNotKept.to_string());
        }
        let gas_limit = transaction.gas_limit();
        let (state, head) = self.home.state_at(None)?;
        match self.home.pool().add(transaction, &head.block.header, &state) {
            Ok(_) | Err(PoolError::AlreadyKnown) => Ok(Ok(gas_limit)),
            Err(PoolError::State(error)) => Err(error.into()),
            Err(error @ (PoolError::Full { .. } | PoolError::AccountLimit { .. })) => {
                refused(CODE_LATER, error.to_string())
            }
            Err(error) => refused(CODE_INVALID, error.to_string()),
        }
    }

    /// Whether a transaction still waits: the pool was brought up to the head before.
    fn recheck(&self, tx: &[u8]) -> Result<u64, Rejected> {
        let refused = |log: &str| {
            let (code, log) = (CODE_INVALID, log.to_owned());
            Rejected { code, log, codespace: CODESPACE }
        };
        if is_native(tx) {
            let hash = sha256(tx);
            let waits = self.natives.gas_limit(&hash);
            return waits.ok_or_else(|| refused("the transaction does not wait any more"));
        }
        let transaction = decode_transaction(tx).map_err(|error| refused(&error.to_string()))?;
        let entry = self.home.pool().get(transaction.tx_hash());
        entry.map(|entry| entry.gas_limit).ok_or_else(|| refused("the transaction does not wait any more"))
    }
}

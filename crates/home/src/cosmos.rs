//! The state after a block as queries of the Cosmos SDK's clients read it, and their answers, which
//! are kept.

use crate::{BlockRef, Home, NodeError};
use alloy_eips::BlockNumberOrTag;
use alloy_primitives::{Address, B256, Bytes};
use hearth_chain::{StateAt, fees};
use hearth_cosmos::{
    Decoded,
    query::{self, Input, QueryError, Simulated, Status, View},
};
use hearth_evm::{CallError, CallLimits, CallOutcome, CallRequest, CallSite, call, estimate_gas};
use hearth_ledger::StoredBlock;
use hearth_primitives::{Account, Height, NativeOutcome, StateError, StateReader as _};
use hearth_tracers::observe_failure;
use parking_lot::Mutex;
use std::{collections::VecDeque, num::NonZeroU64, sync::Arc, time::Duration};

/// Most gas of one read of the staking contract: a hundred validators with long descriptions take
/// less than half.
const READ_GAS: Option<NonZeroU64> = NonZeroU64::new(200_000_000);
/// Longest time of one read of the staking contract.
const READ_TIME: Duration = Duration::from_secs(5);
/// Most answers that are kept.
const KEPT_ANSWERS: usize = 256;
/// Most bytes of answers that are kept.
const KEPT_BYTES: usize = 16 << 20;
/// Largest answer that is kept, in bytes.
const KEPT_ANSWER_BYTES_MAX: usize = 2 << 20;

/// An answer to a query.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    /// Height of the block whose state was read.
    pub height: Height,
    /// Protobuf or JSON, or the gRPC status and text of what is wrong.
    pub result: Result<Arc<Vec<u8>>, (Status, String)>,
}

/// What an answer depends on: block, name, form, request.
type AnswerKey = (B256, String, bool, Vec<u8>);

fn key_of(block: B256, name: &str, input: Input<'_>) -> AnswerKey {
    let request = match input {
        Input::Protobuf(bytes) => bytes.to_vec(),
        // Lengths keep requests apart: a client's names and values may hold any character.
        Input::Params(params) => {
            let part = |text: &str| [&(text.len() as u64).to_be_bytes()[..], text.as_bytes()].concat();
            params.iter().flat_map(|(name, value)| [part(name), part(value)].concat()).collect()
        }
    };
    (block, name.to_owned(), matches!(input, Input::Params(_)), request)
}

/// Answers that were given last; the oldest goes first.
#[derive(Debug, Default)]
pub struct CosmosCache {
    kept: Mutex<KeptAnswers>,
}

/// The answers of a [`CosmosCache`], oldest first, and the bytes that they take.
#[derive(Debug, Default)]
struct KeptAnswers {
    answers: VecDeque<(AnswerKey, Arc<Vec<u8>>)>,
    bytes: usize,
}

impl CosmosCache {
    fn get(&self, key: &AnswerKey) -> Option<Arc<Vec<u8>>> {
        let kept = self.kept.lock();
        kept.answers.iter().rev().find(|(other, _)| other == key).map(|(_, answer)| answer.clone())
    }

    fn put(&self, key: AnswerKey, answer: &Arc<Vec<u8>>) {
        if answer.len() > KEPT_ANSWER_BYTES_MAX {
            return;
        }
        let mut kept = self.kept.lock();
        kept.bytes += answer.len();
        kept.answers.push_back((key, answer.clone()));
        while kept.answers.len() > KEPT_ANSWERS || kept.bytes > KEPT_BYTES {
            let Some((_, gone)) = kept.answers.pop_front() else { break };
            kept.bytes -= gone.len();
        }
    }
}

/// The state after one block.
pub struct CosmosView<'a> {
    home: &'a Home,
    block: Arc<StoredBlock>,
    state: StateAt,
}

impl Home {
    /// The state after a canonical block, or after the head, as queries read it.
    ///
    /// # Errors
    /// As [`Home::state_at`].
    pub fn cosmos_view(&self, height: Option<Height>) -> Result<CosmosView<'_>, NodeError> {
        let number = height.map_or(BlockNumberOrTag::Latest, BlockNumberOrTag::Number);
        let (state, block) = self.state_at(Some(BlockRef::Number(number)))?;
        Ok(CosmosView { home: self, block, state })
    }

    /// Answers a query by its name, at a height or at the head.
    ///
    /// # Errors
    /// The stores'. What is wrong with the query, or a height without state, is an answer.
    pub fn cosmos_query(
        &self,
        name: &str,
        input: Input<'_>,
        height: Option<Height>,
    ) -> Result<QueryAnswer, NodeError> {
        let view = match self.cosmos_view(height) {
            Ok(view) => view,
            Err(error) => return self.height_not_kept(height, error),
        };
        let (asked, height) = (height, view.block.number());
        let key = key_of(view.block.hash, name, input);
        if let Some(answer) = self.cosmos_cache().get(&key) {
            return Ok(QueryAnswer { height, result: Ok(answer) });
        }
        let result = match query::answer(&view, name, input) {
            Ok(bytes) => {
                let answer = Arc::new(bytes);
                self.cosmos_cache().put(key, &answer);
                Ok(answer)
            }
            Err(QueryError::Told { status, message }) => Err((status, message)),
            // A height may be pruned while it is read.
            Err(QueryError::State(error)) => return self.height_not_kept(asked, error.into()),
        };
        Ok(QueryAnswer { height, result })
    }

    /// The answer to a query at the head, where it is kept.
    pub fn kept_cosmos_answer(&self, name: &str, input: Input<'_>) -> Option<QueryAnswer> {
        let head = self.chain().head();
        let answer = self.cosmos_cache().get(&key_of(head.hash, name, input))?;
        Some(QueryAnswer { height: head.height, result: Ok(answer) })
    }

    /// A height that there is no state of is the client's mistake; a head without state is the
    /// node's.
    fn height_not_kept(&self, height: Option<Height>, error: NodeError) -> Result<QueryAnswer, NodeError> {
        let (Some(asked), true) = (height, error_names_a_height(&error)) else { return Err(error) };
        let oldest = self.oldest_state();
        let head = self.chain().head().height;
        let text = if asked > head {
            format!("height {asked} is not available, the latest height is {head}")
        } else {
            format!("height {asked} is not available, lowest height is {oldest}")
        };
        Ok(QueryAnswer { height: head, result: Err((Status::InvalidArgument, text)) })
    }

    /// The oldest height with state.
    fn oldest_state(&self) -> Height {
        self.status().oldest_state
    }
}

/// Whether an error says that there is no state at a height.
fn error_names_a_height(error: &NodeError) -> bool {
    matches!(
        error,
        NodeError::HeaderNotFound
            | NodeError::BeforeFirstBlock { .. }
            | NodeError::StateNotCanonical { .. }
            | NodeError::NotRetained { .. }
    )
}

impl CosmosView<'_> {
    fn on_site<T>(
        &self,
        run: impl FnOnce(CallSite<'_>, &CallLimits<'_>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let chain = self.home.chain();
        let header = &self.block.block.header;
        let site = CallSite {
            spec: chain.spec(),
            chain_id: chain.next_chain_id().get(),
            header,
            state: &self.state,
            hashes: chain.reader().hashes(),
            observe: observe_failure,
        };
        let cancel = Some(self.home.stopping());
        run(site, &CallLimits { gas_cap: READ_GAS, timeout: Some(READ_TIME), cancel })
    }

    fn run(&self, request: &CallRequest) -> Result<CallOutcome, QueryError> {
        self.on_site(|site, limits| call(site, request, None, None, limits)).map_err(query_error)
    }
}

/// An error that no client caused.
fn query_error(error: CallError) -> QueryError {
    match error {
        CallError::State(error) => QueryError::State(error),
        other => QueryError::internal(other.to_string()),
    }
}

impl View for CosmosView<'_> {
    fn height(&self) -> Height {
        self.block.number()
    }

    fn oldest(&self) -> Height {
        self.home.oldest_state()
    }

    fn timestamp(&self) -> u64 {
        self.block.block.header.timestamp
    }

    fn hash(&self) -> B256 {
        self.block.hash
    }

    fn base_fee(&self) -> u64 {
        fees::next_base_fee(self.home.chain().spec(), &self.block.block.header).unwrap_or(0)
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.state.account(address)
    }

    fn call(&self, to: Address, input: Bytes) -> Result<Option<Bytes>, QueryError> {
        let request = CallRequest { to: Some(to), input: Some(input), ..CallRequest::default() };
        Ok(self.run(&request)?.into_output().ok())
    }

    fn simulate(&self, transaction: &Decoded) -> Result<Simulated, QueryError> {
        let call = &transaction.transaction;
        let request = CallRequest {
            from: Some(call.sender),
            to: Some(call.to),
            value: Some(call.value),
            input: Some(call.input.clone()),
            ..CallRequest::default()
        };
        let gas = match self.on_site(|site, limits| estimate_gas(site, &request, None, None, limits)) {
            Ok(gas) => gas,
            Err(CallError::State(error)) => return Err(error.into()),
            Err(error) => {
                let failure = Some(error.to_string());
                return Ok(Simulated { outcome: NativeOutcome::default(), gas: 0, failure });
            }
        };
        let outcome = self.run(&request)?;
        let logs = call.log.iter().cloned().chain(outcome.logs.iter().cloned()).collect();
        let native =
            NativeOutcome { code: 0, gas_used: outcome.gas_used, logs, output: outcome.output.clone() };
        let failure = outcome.into_output().err().map(|error| error.to_string());
        Ok(Simulated { outcome: native, gas, failure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_cosmos::query::Params;

    #[test]
    fn a_height_pruned_while_it_is_read_is_not_kept() {
        let pruned = StateError::NotRetained { height: 1, oldest: 2, newest: 3 };
        assert!(error_names_a_height(&pruned.into()));
        assert!(!error_names_a_height(&StateError::Unwound { height: 1 }.into()));
    }

    #[test]
    fn two_requests_never_have_one_key() {
        let key = |params: &Params| key_of(B256::ZERO, "q", Input::Params(params));
        let two = Params::new([("pagination.limit", "5"), ("status", "BOND_STATUS_BONDED")]);
        // One unknown parameter, whose name holds what is between the two.
        let one = Params::new([("pagination.limit\u{0}5\u{0}status", "BOND_STATUS_BONDED")]);
        assert_eq!(key(&two), key(&two.clone()));
        assert_ne!(key(&two), key(&one));
        assert_ne!(key(&Params::new([("a", "bc")])), key(&Params::new([("ab", "c")])));
    }
}

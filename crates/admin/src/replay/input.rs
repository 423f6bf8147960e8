//! The files that a replay reads: go-ethereum's tracer tests and recorded blocks, plain or gzipped.

use alloy_primitives::Address;
use hearth_chain::import::{case_text, recorded_pre_state};
use hearth_evm::{
    AllocState, BlockEnvironment, BlockExecutor, ChainSpec, RecordedCase, TracerTest, recover_senders,
};
use hearth_home::NodeError;
use hearth_primitives::Block;
use hearth_tracers::BlockReplay;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::{borrow::Cow, path::Path};

/// What a file holds.
pub(super) enum Input {
    /// One transaction.
    Transaction(Box<TracerTest>, AllocState),
    /// A whole block of mainnet.
    Block(Box<BlockInput>),
}

/// A recorded block, ready to run.
pub(super) struct BlockInput {
    spec: ChainSpec,
    case: RecordedCase,
    block: Block,
    senders: Vec<Address>,
    state: AllocState,
}

/// The fields that identify the formats.
#[derive(Deserialize)]
struct Shape {
    block: Option<IgnoredAny>,
    genesis: Option<IgnoredAny>,
}

impl Input {
    /// Reads a file.
    ///
    /// # Errors
    /// [`NodeError::Input`] naming the file and the field.
    pub fn read(path: &Path) -> Result<Self, NodeError> {
        let bad = |reason: String| NodeError::Input { file: path.to_owned(), reason };
        let text = case_text(path).map_err(|error| bad(error.to_string()))?;
        let shape: Shape = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if shape.block.is_some() {
            return BlockInput::parse(&text).map(Self::Block).map_err(bad);
        }
        if shape.genesis.is_none() {
            return Err(bad(
                "neither a tracer test (genesis, context, input) nor a recorded block (block, preState)"
                    .to_owned(),
            ));
        }
        let test = TracerTest::parse_json(&text).map_err(|error| bad(error.to_string()))?;
        let state = AllocState::new(&test.alloc);
        Ok(Self::Transaction(Box::new(test), state))
    }

    /// Number of transactions.
    pub fn count(&self) -> usize {
        match self {
            Self::Transaction(..) => 1,
            Self::Block(input) => input.block.body.transactions.len(),
        }
    }

    /// Whether the answer is the result of one transaction alone.
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Transaction(..))
    }

    /// A replay that stands before the first transaction.
    ///
    /// # Errors
    /// [`NodeError::Execution`] where the block's system calls fail.
    pub fn replay(&self) -> Result<BlockReplay<'_>, NodeError> {
        match self {
            Self::Transaction(test, state) => {
                let executor = BlockExecutor::new(&test.spec, test.environment.clone(), state, state);
                let transactions = std::slice::from_ref(&test.transaction);
                Ok(BlockReplay::over(executor, transactions, Cow::Owned(vec![test.sender])))
            }
            Self::Block(input) => {
                let BlockInput { spec, case, block, senders, state } = input.as_ref();
                BlockReplay::new(spec, block, Some(senders), state, case).map_err(|error| {
                    NodeError::Execution { height: block.header.number, source: error.into() }
                })
            }
        }
    }
}

impl BlockInput {
    fn parse(text: &str) -> Result<Box<Self>, String> {
        let case = RecordedCase::parse_json(text).map_err(|error| error.to_string())?;
        let spec = ChainSpec::mainnet();
        let block = case.block();
        let environment = BlockEnvironment::from_header(&spec, &block.header);
        let senders = recover_senders(&spec, &environment, &block.body.transactions)
            .map_err(|error| error.to_string())?;
        let state = AllocState::from_changes(recorded_pre_state(&case, environment.fork));
        Ok(Box::new(Self { spec, case, block, senders, state }))
    }
}

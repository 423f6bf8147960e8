//! Opens the chain of a configuration, and turns errors of the chain into errors of the node.

use crate::{
    ForkConfig, FsyncPolicy, HomeStatus, Mode, NodeConfig, NodeError, OriginFetcher, fork::ForkOrigin,
    home::status,
};
use hearth_chain::{Chain, ChainError, ChainOptions, ForkBlock};
use hearth_dev_chain::dev_genesis;
use hearth_evm::BlockError;
use hearth_flatkv::{FlatKvError, Fsync};
use hearth_ledger::{LedgerError, LedgerOptions};
use hearth_metrics::Registry;
use hearth_primitives::{Height, RemoteState};
use std::{path::Path, sync::Arc};

/// Writes a genesis into a home that holds nothing yet.
pub fn init_home(home: &Path, genesis_json: &str) -> Result<HomeStatus, NodeError> {
    let options = ChainOptions::default();
    match Chain::open(home, &options) {
        Ok(chain) => {
            let _ = chain.close();
            return Err(NodeError::HomeNotEmpty { home: home.to_owned() });
        }
        Err(ChainError::NotInitialised { .. }) => {}
        Err(error) => return Err(chain_error(home, error)),
    }
    let chain = Chain::create(home, genesis_json, &options).map_err(|e| chain_error(home, e))?;
    let status = status(&chain, None);
    chain.close().map_err(|e| chain_error(home, e))?;
    Ok(status)
}

/// How the stores of a home are opened under a configuration, but for a fork's origin.
pub fn chain_options(config: &NodeConfig, metrics: Registry) -> ChainOptions {
    ChainOptions {
        fsync: fsync(config.fsync),
        state: config.flatkv.clone(),
        origin: None,
        ledger: LedgerOptions::new(config.littable.clone()),
        metrics,
    }
}

/// The chain, and the height of the snapshot where that is read.
pub(crate) fn open_chain(
    config: &NodeConfig,
    metrics: Registry,
) -> Result<(Chain, Option<Height>), NodeError> {
    let fork = config.fork.as_ref().map(|fork| Ok::<_, NodeError>((fork, fork.block.read()?))).transpose()?;
    let mut options = chain_options(config, metrics);
    options.origin = fork.as_ref().and_then(|(fork, block)| origin(&config.home, fork, block));
    if config.read_only {
        return Chain::open_reading(&config.home, &options).map_err(|error| chain_error(&config.home, error));
    }
    let opened = match (config.mode, &config.genesis) {
        (Mode::Dev, _) => {
            let wanted = config.dev.genesis()?;
            let genesis = dev_genesis(&wanted);
            let genesis =
                genesis.map_err(|error| NodeError::Config { reason: format!("dev.mnemonic: {error}") })?;
            match &fork {
                Some((_, block)) => Chain::fork(&config.home, &genesis, block, &options),
                None => open_dev(config, &genesis, &options),
            }
        }
        (Mode::Start, None) => Chain::open(&config.home, &options),
        (Mode::Start, Some(path)) => {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|e| NodeError::Genesis { reason: format!("{}: {e}", path.display()) })?;
            // `start` never makes a chain: it only checks that the home's is the one that is meant.
            // Dropping the first one frees the home for the second, which compares.
            let exists = Chain::open(&config.home, &options).and_then(|chain| chain.close());
            exists.and_then(|()| Chain::create(&config.home, &text, &options))
        }
    };
    opened.map(|chain| (chain, None)).map_err(|error| open_error(&config.home, error))
}

/// As [`chain_error`], where a home cannot be opened: damage is repaired by a command.
fn open_error(home: &Path, error: ChainError) -> NodeError {
    if !error.is_damage() {
        return chain_error(home, error);
    }
    let repairable = !matches!(error, ChainError::Ledger(LedgerError::Unopenable(_)));
    // The error of the node names the command with its arguments.
    NodeError::HomeDamaged { home: home.to_owned(), reason: error.finding(), repairable }
}

/// The development chain that the home has, whatever it began with, or a new one.
fn open_dev(config: &NodeConfig, genesis: &str, options: &ChainOptions) -> Result<Chain, ChainError> {
    let chain = match Chain::open(&config.home, options) {
        Err(ChainError::NotInitialised { .. }) => return Chain::create(&config.home, genesis, options),
        opened => opened?,
    };
    let there = chain.spec().chain_id();
    match config.dev.chain_id.filter(|given| *given != there) {
        None => Ok(chain),
        Some(given) => Err(ChainError::OtherChain {
            home: config.home.clone(),
            what: "chain id",
            there: there.to_string(),
            given: given.to_string(),
        }),
    }
}

/// Who answers for the origin's state.
fn origin(home: &Path, config: &ForkConfig, block: &ForkBlock) -> Option<Arc<dyn RemoteState>> {
    let OriginFetcher(fetch) = config.fetch.clone()?;
    Some(Arc::new(ForkOrigin::new(home, config, fetch, block.clone())))
}

pub(crate) fn fsync(policy: FsyncPolicy) -> Fsync {
    match policy {
        FsyncPolicy::Block => Fsync::Block,
        FsyncPolicy::Interval(every) => Fsync::Interval(every),
        FsyncPolicy::None => Fsync::None,
        FsyncPolicy::Never => Fsync::Never,
    }
}

/// What the chain says, in the node's terms.
pub fn chain_error(home: &Path, error: ChainError) -> NodeError {
    let home = home.to_owned();
    match error {
        ChainError::NotInitialised { .. } => NodeError::HomeEmpty { home },
        error if error.home_in_use().is_some() => {
            NodeError::HomeInUse { home, holder: error.holder().cloned() }
        }
        error @ (ChainError::OtherChain { .. }
        | ChainError::NewerFormat { .. }
        | ChainError::OlderFormat { .. }
        | ChainError::ForkWithoutOrigin { .. }
        | ChainError::BadHome { .. }
        | ChainError::DescriptionMissing { .. }
        | ChainError::DescriptionDamaged { .. }
        | ChainError::GenesisMissing { .. }
        | ChainError::HomeIsFile { .. }) => NodeError::HomeIncompatible { home, reason: error.to_string() },
        ChainError::Store(error @ (FlatKvError::Commitment { .. } | FlatKvError::NewerFormat { .. })) => {
            NodeError::HomeIncompatible { home, reason: error.to_string() }
        }
        ChainError::Store(FlatKvError::ReadOnly) => NodeError::ReadOnly,
        ChainError::Store(error @ FlatKvError::NoSnapshot { .. }) => {
            NodeError::NoSnapshot { home, reason: error.to_string() }
        }
        ChainError::Genesis { path, source } => {
            NodeError::Genesis { reason: format!("{}: {source}", path.display()) }
        }
        ChainError::Cancelled => NodeError::Closed,
        ChainError::Ledger(error @ LedgerError::Damaged { .. }) => error.into(),
        ChainError::State(error)
        | ChainError::Store(FlatKvError::State(error))
        | ChainError::Refused { source: BlockError::State(error), .. } => NodeError::State(error),
        // Of a genesis without the contracts of its fork, for example: no store is at fault.
        ChainError::Refused { source, .. } => NodeError::ExecutionFailed { source: source.into() },
        other => NodeError::store_failed(other),
    }
}

//! Info and InitChain: both sides agree on the chain and on where it is.

use crate::{application::App, exception::ConsensusError, validators};
use hearth_abci::pb;
use hearth_chain::{BlockNumHash, genesis_hash};
use hearth_evm::ChainSpec;
use hearth_primitives::Height;

/// Version of what this application makes of blocks, as CometBFT's headers carry it.
pub(crate) const APP_VERSION: u64 = 1;

/// The answer to Info of an application with this head, where CometBFT decides on blocks from
/// `start` on. The height is 0 before
/// the first of them, so that InitChain comes, also after a crash before the first commit; a state
/// that came by state sync has
/// its own height.
pub(crate) fn info(head: BlockNumHash, start: Height) -> pb::ResponseInfo {
    let (height, hash) = if head.0 < start { (0, None) } else { (head.0, Some(head.1)) };
    pb::ResponseInfo {
        data: "hearth".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        app_version: APP_VERSION,
        last_block_height: i64::try_from(height).unwrap_or(i64::MAX),
        last_block_app_hash: hash.map(|hash| hash.to_vec().into()).unwrap_or_default(),
    }
}

/// The first block that CometBFT decides on.
pub(crate) fn start_of(spec: &ChainSpec) -> Height {
    spec.bft_start().unwrap_or(1)
}

impl App {
    /// See [`start_of`].
    pub(crate) fn start(&self) -> Height {
        start_of(self.home.chain().spec())
    }

    pub(crate) fn info(&self) -> pb::ResponseInfo {
        let chain = self.home.chain();
        let head = chain.head();
        info((head.height, head.hash), start_of(chain.spec()))
    }

    pub(crate) fn init_chain(
        &self,
        request: &pb::RequestInitChain,
    ) -> Result<pb::ResponseInitChain, ConsensusError> {
        let chain = self.home.chain();
        let (start, head) = (start_of(chain.spec()), chain.head());
        if head.height >= start {
            return Err(ConsensusError::NotAtGenesis { head: head.height });
        }
        if head.height + 1 != start {
            return Err(ConsensusError::Behind { head: head.height, start });
        }
        let differs = |field, have: String, want: String| Err(ConsensusError::Genesis { field, have, want });
        let chain_id = format!("hearth-{}", chain.spec().chain_id());
        if request.chain_id != chain_id {
            return differs("chain_id", request.chain_id.clone(), chain_id);
        }
        if u64::try_from(request.initial_height) != Ok(start) {
            return differs("initial_height", request.initial_height.to_string(), start.to_string());
        }
        let genesis = self.home.head()?;
        let gas_limit = genesis.block.header.gas_limit;
        let max_gas = request.consensus_params.as_ref().and_then(|params| params.block.as_ref());
        let max_gas = max_gas.map_or(-1, |block| block.max_gas);
        if u64::try_from(max_gas) != Ok(gas_limit) {
            let want = format!("{gas_limit}, the gas limit of the genesis");
            return differs("consensus_params.block.max_gas", max_gas.to_string(), want);
        }
        let time = request.time.as_ref().map_or(0, |time| time.seconds);
        if time < i64::try_from(genesis.block.header.timestamp).unwrap_or(i64::MAX) {
            let want = format!("at least {}, the time of the genesis", genesis.block.header.timestamp);
            return differs("genesis_time", time.to_string(), want);
        }
        self.check_validators(&request.validators)?;
        // Without an application state, the genesis file of the home determines the initial state.
        let state = String::from_utf8_lossy(&request.app_state_bytes);
        if !matches!(state.trim(), "" | "{}" | "null") {
            let have = genesis_hash(&state)?;
            let want = chain.genesis_hash()?;
            if have != want {
                return differs("app_state", have.to_string(), want.to_string());
            }
        }
        Ok(pb::ResponseInitChain { app_hash: head.hash.to_vec().into(), ..Default::default() })
    }

    /// The validators that CometBFT begins with are those of the staking contract, where the chain
    /// has one.
    fn check_validators(&self, given: &[pb::ValidatorUpdate]) -> Result<(), ConsensusError> {
        let (state, _) = self.home.state_at(None)?;
        if !validators::has_staking(&state)? {
            return Ok(());
        }
        let differs =
            |have: String, want: String| Err(ConsensusError::Genesis { field: "validators", have, want });
        let count = validators::active_count(&state)?;
        if count != alloy_primitives::U256::from(given.len()) {
            return differs(given.len().to_string(), count.to_string());
        }
        for one in given {
            let Some(key) = validators::ed25519(one) else {
                return differs("a key of another kind".to_owned(), "ed25519 keys".to_owned());
            };
            let power = validators::power(&state, &key)?;
            if i64::try_from(power) != Ok(one.power) {
                return differs(format!("{key} with power {}", one.power), format!("power {power}"));
            }
        }
        Ok(())
    }
}

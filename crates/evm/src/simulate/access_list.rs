//! `eth_createAccessList`: what a message touches beyond its own parties (EIP-2930).

use super::{
    CallError, CallLimits, CallRequest, CallSite, CallStatus, Message, Simulation, StateOverrides,
    blocks::Unsigned, overrides::PrecompileOverrides,
};
use crate::{machine::EvmContext, precompiles::Precompiles, tx_env::recover_authorization};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, U256};
use revm::{
    Inspector,
    bytecode::opcode,
    handler::PrecompileProvider,
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr as _, Jumps as _},
    },
};
use std::collections::{BTreeMap, BTreeSet};

/// Gas that an authorization of EIP-7702 costs at least.
const AUTHORIZATION_GAS: u64 = 25_000;

/// An access list and the run that it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedAccessList {
    /// Accounts and slots, both in ascending order.
    pub list: AccessList,
    /// Gas that the message uses with the list.
    pub gas_used: u64,
    /// Why the message failed.
    pub failure: Option<String>,
}

/// Makes an access list for a message: runs the message until it touches nothing outside of the
/// list. Sender, recipient, precompiled contracts and signers of authorizations are left out,
/// unless they have slots.
///
/// # Errors
/// [`CallError`] if the message cannot run. A message that fails has a list.
pub fn create_access_list(
    site: CallSite<'_>,
    request: &CallRequest,
    state_overrides: Option<&StateOverrides>,
    limits: &CallLimits<'_>,
) -> Result<CreatedAccessList, CallError> {
    let simulation =
        Simulation::new(site, state_overrides, None)?.with_precompiles(PrecompileOverrides::Unknown);
    let (base_fee, chain_id) = (simulation.environment().base_fee, simulation.environment().chain_id);
    let mut message = request.message(base_fee, chain_id, limits.gas_cap)?;
    let authorizations = message.authorizations.as_ref().map_or(0, Vec::len) as u64;
    if authorizations > message.gas / AUTHORIZATION_GAS {
        return Err(CallError::AuthorizationGas);
    }
    let parties = parties(&simulation, request, &mut message)?;
    let watch = limits.watch();
    let mut touched = Touched::new(&message.access_list, &parties);
    loop {
        message.access_list = touched.list();
        let mut next = Touched { found: touched.found.clone(), parties: &parties };
        let outcome = match simulation.run_inspected(&message, watch, limits.timeout, &mut next) {
            Err(CallError::Invalid { source, .. }) => {
                let hash = Unsigned::new(request, &message, chain_id, base_fee.is_some()).hash;
                return Err(CallError::AccessList { hash, source });
            }
            outcome => outcome?,
        };
        if next.found == touched.found {
            let outcome = simulation.name_failure(&message, outcome, watch)?;
            let failure = match outcome.status {
                CallStatus::Success => None,
                CallStatus::Revert => Some("execution reverted".to_owned()),
                CallStatus::Halt(text) => Some(text),
            };
            return Ok(CreatedAccessList { list: touched.list(), gas_used: outcome.gas_used, failure });
        }
        touched.found = next.found;
    }
}

/// Addresses that are warm in any case. Sets the nonce of the message to that of the sender if the
/// request has none.
fn parties(
    simulation: &Simulation<'_>,
    request: &CallRequest,
    message: &mut Message,
) -> Result<BTreeSet<Address>, CallError> {
    if request.nonce.is_none() {
        let (mut evm, _) = simulation.machine(message)?;
        let sender = evm.ctx.journaled_state.database.account(message.from)?;
        message.nonce = sender.unwrap_or_default().nonce;
    }
    let precompiles = Precompiles::new(simulation.environment().fork.spec_id());
    let warm = PrecompileProvider::<EvmContext<'_>>::warm_addresses(&precompiles);
    let mut parties: BTreeSet<Address> = warm.iter().copied().collect();
    parties.insert(message.from);
    parties.insert(message.to.unwrap_or_else(|| message.from.create(message.nonce)));
    let chain_id = U256::from(simulation.chain_id());
    for signed in message.authorizations.iter().flatten() {
        let here = signed.chain_id().is_zero() || *signed.chain_id() == chain_id;
        if here && signed.nonce() < u64::MAX {
            parties.extend(recover_authorization(signed).authority());
        }
    }
    Ok(parties)
}

/// Accounts and slots that a run touches.
struct Touched<'p> {
    found: BTreeMap<Address, BTreeSet<B256>>,
    /// Accounts that are not listed for themselves.
    parties: &'p BTreeSet<Address>,
}

impl<'p> Touched<'p> {
    /// What a given list holds.
    fn new(list: &AccessList, parties: &'p BTreeSet<Address>) -> Self {
        let mut touched = Self { found: BTreeMap::new(), parties };
        for AccessListItem { address, storage_keys } in &list.0 {
            touched.account(*address);
            if !storage_keys.is_empty() {
                touched.found.entry(*address).or_default().extend(storage_keys);
            }
        }
        touched
    }

    fn account(&mut self, address: Address) {
        if !self.parties.contains(&address) {
            self.found.entry(address).or_default();
        }
    }

    fn list(&self) -> AccessList {
        let item = |(address, slots): (&Address, &BTreeSet<B256>)| AccessListItem {
            address: *address,
            storage_keys: slots.iter().copied().collect(),
        };
        AccessList(self.found.iter().map(item).collect())
    }
}

impl<'a> Inspector<EvmContext<'a>> for Touched<'_> {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _context: &mut EvmContext<'a>) {
        let stack = interpreter.stack.data();
        let from_top = |depth: usize| stack.len().checked_sub(depth + 1).and_then(|at| stack.get(at));
        let address = |word: &U256| Address::from_word(B256::from(*word));
        match interpreter.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(slot) = from_top(0) {
                    let slots = self.found.entry(interpreter.input.target_address()).or_default();
                    slots.insert(B256::from(*slot));
                }
            }
            opcode::EXTCODECOPY
            | opcode::EXTCODEHASH
            | opcode::EXTCODESIZE
            | opcode::BALANCE
            | opcode::SELFDESTRUCT => {
                if let Some(word) = from_top(0) {
                    self.account(address(word));
                }
            }
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
                // With fewer than five values on the stack none of them runs.
                if let Some(word) = from_top(1).filter(|_| stack.len() >= 5) {
                    self.account(address(word));
                }
            }
            _ => {}
        }
    }
}

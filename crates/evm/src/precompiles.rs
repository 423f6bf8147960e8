//! Precompiled contracts, some of which a simulation may move or remove.

use crate::machine::EvmContext;
use alloy_primitives::{
    Address,
    map::{AddressMap, AddressSet},
};
use revm::{
    handler::{EthPrecompiles, PrecompileProvider},
    interpreter::{CallInputs, InterpreterResult},
    primitives::hardfork::SpecId,
};

/// The fork's precompiled contracts.
#[derive(Clone, Debug)]
pub struct Precompiles {
    fork: EthPrecompiles,
    /// Set if a simulation moved or removed precompiles: the contract's own address by the address
    /// at which it answers.
    moved: Option<Box<AddressMap<Address>>>,
}

impl Precompiles {
    /// The precompiled contracts of a rule set.
    pub(crate) fn new(spec: SpecId) -> Self {
        Self { fork: EthPrecompiles::new(spec), moved: None }
    }

    /// No precompiled contracts.
    pub(crate) fn none(spec: SpecId) -> Self {
        Self { moved: Some(Box::default()), ..Self::new(spec) }
    }

    /// Whether a precompiled contract answers at an address.
    pub fn answers_at(&self, address: &Address) -> bool {
        match &self.moved {
            Some(moved) => moved.contains_key(address),
            None => self.fork.contains(address),
        }
    }

    fn table(&mut self) -> &mut AddressMap<Address> {
        let fork = &self.fork;
        self.moved.get_or_insert_with(|| {
            Box::new(fork.warm_addresses().iter().map(|address| (*address, *address)).collect())
        })
    }

    /// Lets the contract at `from` answer at `to`. Whatever answered there is gone.
    pub(crate) fn copy_to(&mut self, from: Address, to: Address) {
        let moved = self.table();
        if let Some(origin) = moved.get(&from).copied() {
            moved.insert(to, origin);
        }
    }

    /// Removes the contract at an address.
    pub(crate) fn remove(&mut self, address: Address) {
        self.table().remove(&address);
    }
}

impl<'a> PrecompileProvider<EvmContext<'a>> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        PrecompileProvider::<EvmContext<'a>>::set_spec(&mut self.fork, spec)
    }

    fn run(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        let Some(moved) = &self.moved else { return self.fork.run(context, inputs) };
        match moved.get(&inputs.bytecode_address) {
            None => Ok(None),
            Some(origin) if *origin == inputs.bytecode_address => self.fork.run(context, inputs),
            Some(origin) => {
                self.fork.run(context, &CallInputs { bytecode_address: *origin, ..inputs.clone() })
            }
        }
    }

    fn warm_addresses(&self) -> &AddressSet {
        // As in go-ethereum (core/state/statedb.go: Prepare), the fork's own addresses are warm
        // (EIP-2929), even if a simulation moved the contracts.
        self.fork.warm_addresses()
    }
}

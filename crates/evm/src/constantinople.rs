//! `SSTORE` between Constantinople and Petersburg: net gas metering without a sentry (EIP-1283).

use crate::machine::EvmContext;
use revm::{
    bytecode::opcode,
    context_interface::{
        Host as _,
        cfg::{GasId, GasParams},
    },
    handler::instructions::EthInstructions,
    interpreter::{
        Instruction, InstructionContext, InstructionExecResult, InstructionResult,
        instructions::host::sstore_with_gas_accounting, interpreter::EthInterpreter,
    },
    primitives::hardfork::SpecId,
};

/// Gas of a store that changes nothing, or changes a slot again.
const NOOP_GAS: u64 = 200;
/// Gas of a store into a slot that was empty.
const INIT_GAS: u64 = 20_000;
/// Gas of a store into a slot that was not empty.
const CLEAN_GAS: u64 = 5_000;

/// Gas parameters of Constantinople.
pub(crate) fn gas_params() -> GasParams {
    let mut params = GasParams::new_spec(SpecId::PETERSBURG);
    params.override_gas([
        (GasId::sstore_static(), NOOP_GAS),
        (GasId::sstore_set_without_load_cost(), INIT_GAS - NOOP_GAS),
        (GasId::sstore_reset_without_cold_load_cost(), CLEAN_GAS - NOOP_GAS),
        (GasId::sstore_set_refund(), INIT_GAS - NOOP_GAS),
        (GasId::sstore_reset_refund(), CLEAN_GAS - NOOP_GAS),
    ]);
    params
}

/// Puts Constantinople's `SSTORE` into an instruction table.
pub(crate) fn install<'a>(instructions: &mut EthInstructions<EthInterpreter, EvmContext<'a>>) {
    instructions.insert_instruction(opcode::SSTORE, Instruction::new(sstore), 0);
}

pub(crate) fn sstore(
    context: InstructionContext<'_, EvmContext<'_>, EthInterpreter>,
) -> InstructionExecResult {
    sstore_with_gas_accounting(context, |context, _, load| {
        let params = context.host.gas_params();
        let cost = params.sstore_dynamic_gas(true, &load.data, false);
        let refund = params.sstore_refund(true, &load.data);
        if !context.interpreter.gas.record_regular_cost(cost) {
            return Err(InstructionResult::OutOfGas);
        }
        context.interpreter.gas.record_refund(refund);
        Ok(())
    })
}

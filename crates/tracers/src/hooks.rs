//! Handing every hook of an inspector on to another.

/// Implements revm's `Inspector` for a type by its field `$field`.
macro_rules! delegate_hooks {
    ($type:ty, $field:ident) => {
        impl<'a> revm::Inspector<hearth_evm::EvmContext<'a>> for $type {
            #[inline]
            fn initialize_interp(
                &mut self,
                interpreter: &mut revm::interpreter::Interpreter,
                context: &mut hearth_evm::EvmContext<'a>,
            ) {
                self.$field.initialize_interp(interpreter, context);
            }

            #[inline]
            fn step(
                &mut self,
                interpreter: &mut revm::interpreter::Interpreter,
                context: &mut hearth_evm::EvmContext<'a>,
            ) {
                self.$field.step(interpreter, context);
            }

            #[inline]
            fn step_end(
                &mut self,
                interpreter: &mut revm::interpreter::Interpreter,
                context: &mut hearth_evm::EvmContext<'a>,
            ) {
                self.$field.step_end(interpreter, context);
            }

            fn log(&mut self, context: &mut hearth_evm::EvmContext<'a>, log: alloy_primitives::Log) {
                self.$field.log(context, log);
            }

            fn log_full(
                &mut self,
                interpreter: &mut revm::interpreter::Interpreter,
                context: &mut hearth_evm::EvmContext<'a>,
                log: alloy_primitives::Log,
            ) {
                self.$field.log_full(interpreter, context, log);
            }

            fn call(
                &mut self,
                context: &mut hearth_evm::EvmContext<'a>,
                inputs: &mut revm::interpreter::CallInputs,
            ) -> Option<revm::interpreter::CallOutcome> {
                self.$field.call(context, inputs)
            }

            fn call_end(
                &mut self,
                context: &mut hearth_evm::EvmContext<'a>,
                inputs: &revm::interpreter::CallInputs,
                outcome: &mut revm::interpreter::CallOutcome,
            ) {
                self.$field.call_end(context, inputs, outcome);
            }

            fn create(
                &mut self,
                context: &mut hearth_evm::EvmContext<'a>,
                inputs: &mut revm::interpreter::CreateInputs,
            ) -> Option<revm::interpreter::CreateOutcome> {
                self.$field.create(context, inputs)
            }

            fn create_end(
                &mut self,
                context: &mut hearth_evm::EvmContext<'a>,
                inputs: &revm::interpreter::CreateInputs,
                outcome: &mut revm::interpreter::CreateOutcome,
            ) {
                self.$field.create_end(context, inputs, outcome);
            }

            fn selfdestruct(
                &mut self,
                contract: alloy_primitives::Address,
                target: alloy_primitives::Address,
                value: alloy_primitives::U256,
            ) {
                <_ as revm::Inspector<hearth_evm::EvmContext<'a>>>::selfdestruct(
                    &mut self.$field,
                    contract,
                    target,
                    value,
                );
            }
        }
    };
}

pub(crate) use delegate_hooks;

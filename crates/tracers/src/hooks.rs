//! Handing every hook of an inspector on to another.

/// Implements revm's `Inspector` for a type by delegation to one of its fields, or to the result of
/// one of its methods.
macro_rules! delegate_hooks {
    ([$name:ident: $bound:path] $type:ty, $($to:tt)+) => {
        impl<'a, $name: $bound> revm::Inspector<hearth_evm::EvmContext<'a>> for $type {
            crate::hooks::forward_hooks!('a, $($to)+);
        }
    };
    ($type:ty, $($to:tt)+) => {
        impl<'a> revm::Inspector<hearth_evm::EvmContext<'a>> for $type {
            crate::hooks::forward_hooks!('a, $($to)+);
        }
    };
}

/// The hooks themselves, each handed on.
macro_rules! forward_hooks {
    ($a:lifetime, $($to:tt)+) => {
        #[inline]
        fn initialize_interp(
            &mut self,
            interpreter: &mut revm::interpreter::Interpreter,
            context: &mut hearth_evm::EvmContext<$a>,
        ) {
            self.$($to)+.initialize_interp(interpreter, context);
        }

        #[inline]
        fn step(
            &mut self,
            interpreter: &mut revm::interpreter::Interpreter,
            context: &mut hearth_evm::EvmContext<$a>,
        ) {
            self.$($to)+.step(interpreter, context);
        }

        #[inline]
        fn step_end(
            &mut self,
            interpreter: &mut revm::interpreter::Interpreter,
            context: &mut hearth_evm::EvmContext<$a>,
        ) {
            self.$($to)+.step_end(interpreter, context);
        }

        fn log(&mut self, context: &mut hearth_evm::EvmContext<$a>, log: alloy_primitives::Log) {
            self.$($to)+.log(context, log);
        }

        fn log_full(
            &mut self,
            interpreter: &mut revm::interpreter::Interpreter,
            context: &mut hearth_evm::EvmContext<$a>,
            log: alloy_primitives::Log,
        ) {
            self.$($to)+.log_full(interpreter, context, log);
        }

        fn call(
            &mut self,
            context: &mut hearth_evm::EvmContext<$a>,
            inputs: &mut revm::interpreter::CallInputs,
        ) -> Option<revm::interpreter::CallOutcome> {
            self.$($to)+.call(context, inputs)
        }

        fn call_end(
            &mut self,
            context: &mut hearth_evm::EvmContext<$a>,
            inputs: &revm::interpreter::CallInputs,
            outcome: &mut revm::interpreter::CallOutcome,
        ) {
            self.$($to)+.call_end(context, inputs, outcome);
        }

        fn create(
            &mut self,
            context: &mut hearth_evm::EvmContext<$a>,
            inputs: &mut revm::interpreter::CreateInputs,
        ) -> Option<revm::interpreter::CreateOutcome> {
            self.$($to)+.create(context, inputs)
        }

        fn create_end(
            &mut self,
            context: &mut hearth_evm::EvmContext<$a>,
            inputs: &revm::interpreter::CreateInputs,
            outcome: &mut revm::interpreter::CreateOutcome,
        ) {
            self.$($to)+.create_end(context, inputs, outcome);
        }

        fn selfdestruct(
            &mut self,
            contract: alloy_primitives::Address,
            target: alloy_primitives::Address,
            value: alloy_primitives::U256,
        ) {
            <_ as revm::Inspector<hearth_evm::EvmContext<$a>>>::selfdestruct(
                &mut self.$($to)+,
                contract,
                target,
                value,
            );
        }
    };
}

pub(crate) use {delegate_hooks, forward_hooks};

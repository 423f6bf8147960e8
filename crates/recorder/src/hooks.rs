//! Handing hooks of an inspector on to another one.

/// Implements revm's `Inspector` for a type by delegation to one of its fields, or to the result of
/// one of its methods.
#[macro_export]
macro_rules! delegate_hooks {
    ([$name:ident: $bound:path] $type:ty, $($to:tt)+) => {
        impl<'a, $name: $bound> revm::Inspector<hearth_evm::EvmContext<'a>> for $type {
            $crate::delegate_step_hooks!('a, $($to)+);
            $crate::delegate_frame_hooks!('a, $($to)+);
        }
    };
    ($type:ty, $($to:tt)+) => {
        impl<'a> revm::Inspector<hearth_evm::EvmContext<'a>> for $type {
            $crate::delegate_step_hooks!('a, $($to)+);
            $crate::delegate_frame_hooks!('a, $($to)+);
        }
    };
}

/// The hooks of an instruction, each delegated: a part of an `impl` of revm's `Inspector`.
#[macro_export]
macro_rules! delegate_step_hooks {
    ($a:lifetime, $($to:tt)+) => {
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
    };
}

/// The hooks of frames, logs and self-destructs, each delegated: a part of an `impl` of revm's
/// `Inspector` that has its own hooks of an instruction.
#[macro_export]
macro_rules! delegate_frame_hooks {
    ($a:lifetime, $($to:tt)+) => {
        #[inline]
        fn initialize_interp(
            &mut self,
            interpreter: &mut revm::interpreter::Interpreter,
            context: &mut hearth_evm::EvmContext<$a>,
        ) {
            self.$($to)+.initialize_interp(interpreter, context);
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

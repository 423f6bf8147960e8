//! What the struct logger shows.

/// Options of the struct logger and of opcodeTracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructLogConfig {
    /// With memory.
    pub memory: bool,
    /// With the stack.
    pub stack: bool,
    /// With the storage that the contract has read and written so far, at SLOAD and SSTORE.
    pub storage: bool,
    /// With the data that the last call returned.
    pub return_data: bool,
    /// Bytes of steps after which no more are written; 0 for no limit.
    pub limit: i64,
    /// With a summary by opcode (opcodeTracer).
    pub summary: bool,
}

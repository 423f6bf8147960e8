//! Limits of requests for steps and of their answers.

/// Frames that an index or a profile by frame has at most; further ones are counted.
pub const MAX_FRAMES: usize = 65_536;

/// Marks that an index has at most; their distance doubles where there are more.
pub const MAX_MARKS: usize = 16_384;

/// Steps that a page spans at most.
pub const MAX_PAGE_STEPS: u64 = 1_000;

/// Steps that a page with memory spans at most.
pub const MAX_MEMORY_PAGE_STEPS: u64 = 16;

/// Bytes of memory that each step of a page shows at most.
pub const MAX_MEMORY_WINDOW_BYTES: u64 = 64 << 10;

/// Bytes after which a page ends.
pub const MAX_PAGE_BYTES: u64 = 4 << 20;

/// Hits that a search gives at most.
pub const MAX_HITS: usize = 200;

/// Rows that a profile has at most, and functions of its stacks; what is left out is counted.
pub const MAX_PROFILE_ROWS: usize = 65_536;

/// Codes that a profile has at most.
pub const MAX_PROFILE_CODES: usize = 16_384;

/// Addresses that a profile lists of one code at most.
pub const MAX_CODE_ADDRESSES: usize = 16;

/// Marks of functions that a profile takes at most.
pub const MAX_GAS_MARKS: usize = 65_536;

/// Codes that marks may be of at most.
pub const MAX_MARKED_CODES: usize = 4_096;

/// Depth of a stack of functions at most.
pub const MAX_STACK_DEPTH: usize = 1_024;

//! Chain specification, block execution and simulation on revm

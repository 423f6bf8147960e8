//! Blocks, receipts and their indexes

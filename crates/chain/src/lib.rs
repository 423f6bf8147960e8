//! Transaction pool, block production, import

//! Transaction pool, block production, import

pub mod dev;
pub mod fees;
pub mod pool;

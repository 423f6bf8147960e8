//! The indexes against a look at every block.

mod accounts;
mod chain;
mod damage;
mod kills;
mod logs;

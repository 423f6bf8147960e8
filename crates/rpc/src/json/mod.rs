//! go-ethereum's JSON shapes of blocks, transactions, receipts and logs (internal/ethapi/api.go:
//! RPCMarshalBlock, newRPCTransaction, MarshalReceipt), written straight into bytes.

mod block;
mod receipt;
mod transaction;

pub use block::{BlockParts, write_block, write_block_fields, write_header_fields, write_pending_block};
pub use receipt::{
    LogPlace, ReceiptPlace, log_members, write_log, write_log_as, write_receipt, write_receipt_with,
};
pub use transaction::{
    Inclusion, effective_gas_price, shown_chain_id, shown_signature, write_access_list,
    write_bare_transaction, write_transaction,
};

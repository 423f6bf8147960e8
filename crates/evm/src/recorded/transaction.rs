//! Transactions in JSON-RPC form.

use super::{need, need_u64};
use crate::{error::SpecError, json::Fields};
use alloy_consensus::{Signed, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256};
use hearth_primitives::Transaction;

/// Fields that transactions of all types share.
struct Common {
    nonce: u64,
    gas_limit: u64,
    to: TxKind,
    value: U256,
    input: Bytes,
}

impl Common {
    fn parse(fields: &Fields) -> Result<Self, SpecError> {
        Ok(Self {
            nonce: need_u64(fields, "nonce")?,
            gas_limit: need_u64(fields, "gas")?,
            to: fields.address("to")?.map_or(TxKind::Create, TxKind::Call),
            value: need(fields.u256("value"), fields, "value", "a number")?,
            input: need(fields.bytes("input"), fields, "input", "bytes")?,
        })
    }

    fn recipient(&self, fields: &Fields) -> Result<Address, SpecError> {
        self.to
            .to()
            .copied()
            .ok_or_else(|| SpecError::missing(&fields.path("to"), "an address for this type"))
    }
}

fn fee(fields: &Fields, name: &str) -> Result<u128, SpecError> {
    let value = need(fields.u256(name), fields, name, "a number")?;
    u128::try_from(value)
        .map_err(|_| SpecError::invalid(&fields.path(name), &value.to_string(), "a number below 2^128"))
}

/// Reads one transaction; its hash follows from the fields.
pub(super) fn transaction(fields: &Fields) -> Result<Transaction, SpecError> {
    let ty = fields.u64("type")?.unwrap_or(0);
    let common = Common::parse(fields)?;
    if ty == 0 {
        return legacy(fields, common);
    }
    let chain_id = need_u64(fields, "chainId")?;
    let signature = signature(fields)?;
    let access_list = access_list(fields)?;
    let tip = || fee(fields, "maxPriorityFeePerGas");
    let cap = || fee(fields, "maxFeePerGas");
    let Common { nonce, gas_limit, to, value, .. } = common;
    Ok(match ty {
        1 => Transaction::Eip2930(Signed::new_unhashed(
            TxEip2930 {
                chain_id,
                nonce,
                gas_price: fee(fields, "gasPrice")?,
                gas_limit,
                to,
                value,
                access_list,
                input: common.input,
            },
            signature,
        )),
        2 => Transaction::Eip1559(Signed::new_unhashed(
            TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: cap()?,
                max_priority_fee_per_gas: tip()?,
                to,
                value,
                access_list,
                input: common.input,
            },
            signature,
        )),
        3 => Transaction::Eip4844(Signed::new_unhashed(
            TxEip4844 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: cap()?,
                max_priority_fee_per_gas: tip()?,
                to: common.recipient(fields)?,
                value,
                access_list,
                blob_versioned_hashes: need(
                    fields.words("blobVersionedHashes"),
                    fields,
                    "blobVersionedHashes",
                    "a list",
                )?,
                max_fee_per_blob_gas: fee(fields, "maxFeePerBlobGas")?,
                input: common.input,
            },
            signature,
        )),
        4 => Transaction::Eip7702(Signed::new_unhashed(
            TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: cap()?,
                max_priority_fee_per_gas: tip()?,
                to: common.recipient(fields)?,
                value,
                access_list,
                authorization_list: authorizations(fields)?,
                input: common.input,
            },
            signature,
        )),
        other => {
            return Err(SpecError::invalid(&fields.path("type"), &other.to_string(), "a type from 0 to 4"));
        }
    })
}

fn legacy(fields: &Fields, common: Common) -> Result<Transaction, SpecError> {
    let v = need_u64(fields, "v")?;
    // EIP-155: 35 and above carry the chain id.
    let (parity, chain_id) = match v {
        27 | 28 => (v == 28, None),
        35.. => ((v - 35) % 2 == 1, Some((v - 35) / 2)),
        _ => return Err(SpecError::invalid(&fields.path("v"), &v.to_string(), "27, 28, or 35 and above")),
    };
    let tx = TxLegacy {
        chain_id,
        nonce: common.nonce,
        gas_price: fee(fields, "gasPrice")?,
        gas_limit: common.gas_limit,
        to: common.to,
        value: common.value,
        input: common.input,
    };
    let (r, s) = scalars(fields)?;
    Ok(Transaction::Legacy(Signed::new_unhashed(tx, Signature::new(r, s, parity))))
}

fn scalars(fields: &Fields) -> Result<(U256, U256), SpecError> {
    Ok((need(fields.u256("r"), fields, "r", "a number")?, need(fields.u256("s"), fields, "s", "a number")?))
}

fn signature(fields: &Fields) -> Result<Signature, SpecError> {
    let (r, s) = scalars(fields)?;
    let name = if fields.raw("yParity").is_some() { "yParity" } else { "v" };
    match need_u64(fields, name)? {
        parity @ (0 | 1) => Ok(Signature::new(r, s, parity == 1)),
        other => Err(SpecError::invalid(&fields.path(name), &other.to_string(), "0 or 1")),
    }
}

fn access_list(fields: &Fields) -> Result<AccessList, SpecError> {
    let item = |entry: &Fields| -> Result<AccessListItem, SpecError> {
        Ok(AccessListItem {
            address: need(entry.address("address"), entry, "address", "an address")?,
            storage_keys: entry.words("storageKeys")?.unwrap_or_default(),
        })
    };
    let list = fields.objects("accessList")?.unwrap_or_default();
    Ok(AccessList(list.iter().map(item).collect::<Result<_, _>>()?))
}

fn authorizations(fields: &Fields) -> Result<Vec<SignedAuthorization>, SpecError> {
    let item = |entry: &Fields| -> Result<SignedAuthorization, SpecError> {
        let inner = Authorization {
            chain_id: need(entry.u256("chainId"), entry, "chainId", "a number")?,
            address: need(entry.address("address"), entry, "address", "an address")?,
            nonce: need_u64(entry, "nonce")?,
        };
        let parity = need_u64(entry, "yParity")?;
        let parity = u8::try_from(parity).map_err(|_| {
            SpecError::invalid(&entry.path("yParity"), &parity.to_string(), "a number below 256")
        })?;
        let (r, s) = scalars(entry)?;
        Ok(SignedAuthorization::new_unchecked(inner, parity, r, s))
    };
    let list = need(fields.objects("authorizationList"), fields, "authorizationList", "a list")?;
    list.iter().map(item).collect()
}

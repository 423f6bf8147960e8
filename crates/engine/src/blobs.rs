//! `engine_getBlobs`: blobs of waiting transactions (execution-apis, src/engine/{cancun,osaka}.md).

use crate::{build::sidecar_of, engine::Engine, request::EngineRequest};
use alloy_eips::{eip7594::BlobTransactionSidecarVariant, eip7594::CELLS_PER_EXT_BLOB};
use alloy_primitives::{B256, map::B256Map};
use hearth_evm::Fork;
use hearth_home::{EngineError, JsonWriter, NodeError};
use hearth_pool::PoolEntry;
use std::sync::Arc;

/// Most blobs of one request: as many as the specification wants taken.
const BLOBS_MAX: usize = 128;

/// Bytes of a blob as JSON, proofs included.
const BLOB_JSON_BYTES: usize = 2 * 131_072 + 16_384;

/// A transaction that carries a blob, and which of its blobs that is.
type Found = (Arc<PoolEntry>, usize);

impl Engine {
    pub(crate) fn blobs(&self, version: u8, hashes: &[B256]) -> Result<Vec<u8>, NodeError> {
        // The order is that of go-ethereum (eth/catalyst/api.go: GetBlobsV1 and those after it).
        let head = self.home().head()?;
        let fork = self.home().chain().spec().fork_at_time(head.block.header.timestamp);
        if version == 1 && !matches!(fork, Fork::Cancun | Fork::Prague) {
            let reason = "engine_getBlobsV1 gives blobs at Cancun and Prague".to_owned();
            return Err(EngineError::UnsupportedFork { reason }.into());
        }
        if version > 1 && fork < Fork::Osaka {
            return Ok(b"null".to_vec());
        }
        if hashes.len() > BLOBS_MAX {
            return Err(EngineRequest::too_large("versioned hashes", hashes.len(), BLOBS_MAX));
        }
        let found = self.find_blobs(hashes);
        let has_proofs = |(entry, _): &Found| {
            let sidecar = entry.with_sidecar.as_ref().and_then(sidecar_of);
            sidecar.is_some_and(|sidecar| sidecar.is_eip7594() == (version > 1))
        };
        let blobs: Vec<Option<&Found>> =
            hashes.iter().map(|hash| found.get(hash).filter(|found| has_proofs(found))).collect();
        if version == 2 && blobs.iter().any(Option::is_none) {
            return Ok(b"null".to_vec());
        }
        let mut w = JsonWriter::with_capacity(16 + blobs.iter().flatten().count() * BLOB_JSON_BYTES);
        w.begin_array();
        for blob in blobs {
            match blob {
                Some((entry, index)) => write_blob(&mut w, entry, *index),
                None => drop(w.null()),
            }
        }
        w.end_array();
        Ok(w.into_bytes())
    }

    fn find_blobs(&self, wanted: &[B256]) -> B256Map<Found> {
        let mut found = B256Map::default();
        for entry in self.home().pool().entries().into_iter().filter(|entry| entry.has_blobs()) {
            let hashes = alloy_consensus::Transaction::blob_versioned_hashes(&entry.transaction);
            for (index, hash) in hashes.unwrap_or_default().iter().enumerate() {
                if wanted.contains(hash) {
                    found.insert(*hash, (entry.clone(), index));
                }
            }
        }
        found
    }
}

fn write_blob(w: &mut JsonWriter, entry: &PoolEntry, index: usize) {
    let Some(sidecar) = entry.with_sidecar.as_ref().and_then(sidecar_of) else {
        w.null();
        return;
    };
    w.begin_object().key("blob");
    match sidecar.blobs().get(index) {
        Some(blob) => w.bytes(blob.as_slice()),
        None => w.null(),
    };
    match sidecar {
        BlobTransactionSidecarVariant::Eip4844(sidecar) => {
            w.key("proof");
            match sidecar.proofs.get(index) {
                Some(proof) => w.bytes(proof.as_slice()),
                None => w.null(),
            };
        }
        BlobTransactionSidecarVariant::Eip7594(sidecar) => {
            w.key("proofs").begin_array();
            let of_blob =
                sidecar.cell_proofs.iter().skip(index * CELLS_PER_EXT_BLOB).take(CELLS_PER_EXT_BLOB);
            for proof in of_blob {
                w.bytes(proof.as_slice());
            }
            w.end_array();
        }
    }
    w.end_object();
}

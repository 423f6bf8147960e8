//! Point evaluation (EIP-4844) without the tables of the trusted setup.
//!
//! One evaluation needs a single point of the setup. The interpreter's default loads the whole
//! setup with tables for faster commitments, which takes seconds at the first use and brings
//! nothing here.

use revm::precompile::{Crypto, PrecompileHalt, install_crypto, kzg_point_evaluation::blst};
use std::sync::Once;

#[derive(Debug)]
struct OnePoint;

impl Crypto for OnePoint {
    fn verify_kzg_proof(
        &self,
        z: &[u8; 32],
        y: &[u8; 32],
        commitment: &[u8; 48],
        proof: &[u8; 48],
    ) -> Result<(), PrecompileHalt> {
        if blst::verify_kzg_proof(commitment, z, y, proof) {
            Ok(())
        } else {
            Err(PrecompileHalt::BlobVerifyKzgProofFailed)
        }
    }
}

/// Makes the process use this module's evaluation.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    // A provider that someone else installed before does the same work, slower at first.
    INSTALLED.call_once(|| {
        let _ = install_crypto(OnePoint);
    });
}

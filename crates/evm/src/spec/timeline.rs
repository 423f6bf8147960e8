//! The forks by time as a list, and the identifier of what came before (EIP-2124, EIP-7910).

use super::{ChainSpec, Fork};
use alloy_primitives::{Address, B256};
use std::collections::BTreeSet;

/// A precompiled contract: its name in EIP-7910, its address as a number, the fork that added it.
const PRECOMPILES: [(&str, u64, Fork); 18] = [
    ("ECREC", 0x01, Fork::Frontier),
    ("SHA256", 0x02, Fork::Frontier),
    ("RIPEMD160", 0x03, Fork::Frontier),
    ("ID", 0x04, Fork::Frontier),
    ("MODEXP", 0x05, Fork::Byzantium),
    ("BN254_ADD", 0x06, Fork::Byzantium),
    ("BN254_MUL", 0x07, Fork::Byzantium),
    ("BN254_PAIRING", 0x08, Fork::Byzantium),
    ("BLAKE2F", 0x09, Fork::Istanbul),
    ("KZG_POINT_EVALUATION", 0x0a, Fork::Cancun),
    ("BLS12_G1ADD", 0x0b, Fork::Prague),
    ("BLS12_G1MSM", 0x0c, Fork::Prague),
    ("BLS12_G2ADD", 0x0d, Fork::Prague),
    ("BLS12_G2MSM", 0x0e, Fork::Prague),
    ("BLS12_PAIRING_CHECK", 0x0f, Fork::Prague),
    ("BLS12_MAP_FP_TO_G1", 0x10, Fork::Prague),
    ("BLS12_MAP_FP2_TO_G2", 0x11, Fork::Prague),
    ("P256VERIFY", 0x100, Fork::Osaka),
];

/// The precompiled contracts of a fork by EIP-7910's names, in order of address.
pub fn named_precompiles(fork: Fork) -> impl Iterator<Item = (&'static str, Address)> {
    let there = PRECOMPILES.iter().filter(move |(.., since)| *since <= fork);
    there.map(|(name, number, _)| (*name, Address::left_padding_from(&number.to_be_bytes())))
}

impl ChainSpec {
    /// Times in seconds at which rules or blob parameters change, ascending.
    pub fn fork_times(&self) -> BTreeSet<u64> {
        let forks = &self.times;
        let times = [forks.shanghai, forks.cancun, forks.prague, forks.osaka];
        times.into_iter().flatten().chain(self.blobs.iter().map(|entry| entry.time)).collect()
    }

    /// The rules of proof-of-stake blocks at a time in seconds, whatever their number.
    pub fn fork_at_time(&self, timestamp: u64) -> Fork {
        self.fork_with_merge(u64::MAX, timestamp, true)
    }

    /// The fork hash (EIP-2124, EIP-6122) after all forks by block and those by time up to
    /// `timestamp`: the CRC-32 of the genesis hash and of every fork after genesis.
    pub fn fork_hash(&self, genesis_hash: &B256, genesis_time: u64, timestamp: u64) -> [u8; 4] {
        let b = &self.blocks;
        let blocks = [
            b.homestead,
            self.dao.map(|dao| dao.block),
            b.eip150,
            b.eip155,
            b.eip158,
            b.byzantium,
            b.constantinople,
            b.petersburg,
            b.istanbul,
            b.muir_glacier,
            b.berlin,
            b.london,
            b.arrow_glacier,
            b.gray_glacier,
            b.merge_netsplit,
        ];
        let blocks: BTreeSet<u64> = blocks.into_iter().flatten().filter(|block| *block > 0).collect();
        let times = self.fork_times().into_iter().filter(|at| *at > genesis_time && *at <= timestamp);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(genesis_hash.as_slice());
        for fork in blocks.into_iter().chain(times) {
            hasher.update(&fork.to_be_bytes());
        }
        hasher.finalize().to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    #[test]
    fn mainnets_fork_hashes_are_those_of_the_eips() {
        let mainnet = ChainSpec::mainnet();
        let genesis = b256!("0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
        // EIP-6122 and go-ethereum's tests: the merge, Shanghai, Cancun, Prague.
        for (time, hash) in [
            (0, [0xf0, 0xaf, 0xd0, 0xe3]),
            (1_681_338_455, [0xdc, 0xe9, 0x6c, 0x2d]),
            (1_710_338_135, [0x9f, 0x3d, 0x22, 0x54]),
            (1_746_612_311, [0xc3, 0x76, 0xcf, 0x8b]),
        ] {
            assert_eq!(mainnet.fork_hash(&genesis, 0, time), hash, "{time}");
        }
    }

    #[test]
    fn test_networks_have_the_fork_hashes_of_go_ethereum() {
        // core/forkid/forkid_test.go: from the first fork by time to the last change.
        let sepolia =
            [0xb96c_bd13, 0xf7f9_bc08, 0x88cf_81d9, 0xed88_b5fd, 0xe2ae_4999, 0x5607_8a1e, 0x2689_56b6];
        let holesky =
            [0xc61a_6098, 0xfd4f_016b, 0x9b19_2ad0, 0xdfbd_9bed, 0x783d_ef52, 0xa280_a45c, 0x9bc6_cb31];
        let hoodi = [0xbef7_1d30, 0x0929_e24e, 0xe7e0_e7ff, 0x3893_353e, 0x23aa_1351];
        let networks: [(ChainSpec, B256, &[u32]); 3] = [
            (
                ChainSpec::sepolia(),
                b256!("0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"),
                &sepolia,
            ),
            (
                ChainSpec::holesky(),
                b256!("0xb5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4"),
                &holesky,
            ),
            (
                ChainSpec::hoodi(),
                b256!("0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b"),
                &hoodi,
            ),
        ];
        for (spec, genesis, hashes) in networks {
            let times = spec.fork_times().into_iter().filter(|time| *time > 0);
            let found: Vec<_> =
                std::iter::once(0).chain(times).map(|time| spec.fork_hash(&genesis, 0, time)).collect();
            let expected: Vec<_> = hashes.iter().map(|hash| hash.to_be_bytes()).collect();
            assert_eq!(found, expected, "chain {}", spec.chain_id());
        }
    }

    #[test]
    fn precompiles_come_with_their_forks() {
        let count = |fork| named_precompiles(fork).count();
        assert_eq!([Fork::Shanghai, Fork::Cancun, Fork::Prague, Fork::Osaka].map(count), [9, 10, 17, 18]);
        let last = named_precompiles(Fork::Osaka).last().expect("there are some");
        assert_eq!(last, ("P256VERIFY", Address::left_padding_from(&[1, 0])));
        // The interpreter's own are at the same addresses.
        let own = crate::Precompiles::new(Fork::Osaka.spec_id());
        assert!(named_precompiles(Fork::Osaka).all(|(_, address)| own.answers_at(&address)));
    }
}

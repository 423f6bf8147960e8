//! Keys and proofs (proto/tendermint/crypto in CometBFT v0.38).

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ProofOp {
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProofOps {
    #[prost(message, repeated, tag = "1")]
    pub ops: Vec<ProofOp>,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct PublicKey {
    #[prost(oneof = "public_key::Sum", tags = "1, 2")]
    pub sum: Option<public_key::Sum>,
}

pub mod public_key {
    #[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
    pub enum Sum {
        #[prost(bytes, tag = "1")]
        Ed25519(Vec<u8>),
        #[prost(bytes, tag = "2")]
        Secp256k1(Vec<u8>),
    }
}

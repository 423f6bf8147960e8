//! Flat key-value state: latest, history, WAL, trie and commitments

//! What a baked block is on disk, and how requests are answered from it.

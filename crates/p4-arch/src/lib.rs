//! Architectures: v1model's blocks, externs, and what happens between them.

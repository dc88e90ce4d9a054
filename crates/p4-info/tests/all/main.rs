//! The tests of this crate, in one program: it is built and linked once.

mod bier;
mod p4info;

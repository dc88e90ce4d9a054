//! The tests of this crate, in one program: it is built and linked once.

mod against_a_heap;
mod fabrics;
mod networks;

//! The tests of this crate, in one program: it is built and linked once.

mod behaviour;
mod capture;
mod properties;
mod queues;
mod tcp;
mod traffic;

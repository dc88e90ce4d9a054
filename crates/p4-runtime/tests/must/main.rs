//! One test for each thing that the P4Runtime specification 1.5 demands of a server;
//! docs/p4runtime.md lists them by section. If one fails, controllers written for the specification
//! meet a switch that does otherwise.

mod arbitration;
mod batches;
mod pipeline;
mod profiles;
mod replication;
mod resources;
mod streams;
mod support;
mod table;
mod tables;

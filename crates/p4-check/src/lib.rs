//! Names, types and constants of a P4_16 program.

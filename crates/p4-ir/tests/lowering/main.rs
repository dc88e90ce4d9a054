//! Lowering, seen through the interpreter: what a program computes must be what the language says.

mod arithmetic;
mod bench;
mod blocks;
mod language;
mod limits;
mod mutations;
mod statements;
mod undefined;

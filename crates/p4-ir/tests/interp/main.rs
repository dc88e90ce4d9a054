//! The interpreter on programs put together by hand, against oracles that are not the interpreter.

mod arithmetic;
mod build;
mod flow;
mod parsing;

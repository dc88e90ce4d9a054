// What the switches of these tests run on: the interpreter. p4-jit runs the same tests on native
// code, with an `engine.rs` of its own.

use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::ArchError;
use std::sync::Arc;

pub fn switch(image: Arc<Image>, config: Config) -> Result<Switch, ArchError> {
    Switch::new(image, config)
}

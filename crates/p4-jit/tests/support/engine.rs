// The switches of tests that are p4-arch's own: here they run native code.

use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::ArchError;
use std::sync::Arc;

pub fn switch(image: Arc<Image>, config: Config) -> Result<Switch, ArchError> {
    let code = p4_jit::compile(image.prepared()).expect("native code");
    let mut switch = Switch::new(image, config)?;
    switch.set_native(Some(Arc::new(code)))?;
    switch.set_patience(0);
    Ok(switch)
}

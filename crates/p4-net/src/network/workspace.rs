//! What the devices of a network share that take frames one after the other.

use std::any::Any;

/// Buffers and what has been learned: whatever a device would rather not have once for each of a thousand.
/// Nothing that a frame brings about may depend on what is in it, since each part of a network
/// that is run in parts has its own.
#[derive(Default)]
pub struct Workspace(Option<Box<dyn Any + Send + Sync>>);

impl Workspace {
    /// The network's own `T`, made when it is first asked for; devices of another kind ask in vain.
    #[inline]
    pub fn get<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        let own = self.0.get_or_insert_with(|| Box::new(T::default()));
        own.downcast_mut()
    }
}

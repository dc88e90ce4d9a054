//! Frames that are somewhere in the network, in buffers that are used again.

/// Names one live frame of a [`Pool`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FrameId(u32);

/// All frames under way. A freed buffer keeps its memory for the next frame.
#[derive(Default)]
pub(crate) struct Pool {
    frames: Vec<Vec<u8>>,
    free: Vec<FrameId>,
}

impl Pool {
    pub(crate) fn insert(&mut self, data: &[u8]) -> FrameId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::new());
            FrameId((self.frames.len() - 1) as u32)
        });
        let buffer = &mut self.frames[id.0 as usize];
        buffer.clear();
        buffer.extend_from_slice(data);
        id
    }

    pub(crate) fn get(&self, id: FrameId) -> &[u8] {
        &self.frames[id.0 as usize]
    }

    /// The buffer itself, out of the pool for as long as a device reads it; `put_back` returns it.
    pub(crate) fn take(&mut self, id: FrameId) -> Vec<u8> {
        std::mem::take(&mut self.frames[id.0 as usize])
    }

    pub(crate) fn put_back(&mut self, id: FrameId, buffer: Vec<u8>) {
        self.frames[id.0 as usize] = buffer;
        self.free.push(id);
    }

    pub(crate) fn free(&mut self, id: FrameId) {
        self.free.push(id);
    }

    /// Frames under way now.
    pub(crate) fn live(&self) -> usize {
        self.frames.len() - self.free.len()
    }
}

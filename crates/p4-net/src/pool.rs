//! Frames that are somewhere in the network, in buffers that are used again.

/// Not a frame
const NONE: u32 = u32::MAX;

/// Names one live frame of a [`Pool`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FrameId(u32);

/// A frame's bytes, and the frame behind it in the list that it is in.
struct Slot {
    buffer: Vec<u8>,
    next: u32,
}

/// All frames under way. A freed buffer keeps its memory for the next frame.
pub(crate) struct Pool {
    slots: Vec<Slot>,
    /// The buffers to be used again, the last freed first: it is likely to be in the cache.
    free: u32,
    live: usize,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            slots: Vec::new(),
            free: NONE,
            live: 0,
        }
    }
}

impl Pool {
    #[inline]
    pub(crate) fn insert(&mut self, data: &[u8]) -> FrameId {
        self.live += 1;
        let id = self.free;
        match self.slots.get_mut(id as usize) {
            Some(slot) => {
                self.free = slot.next;
                slot.next = NONE;
                slot.buffer.clear();
                slot.buffer.extend_from_slice(data);
                FrameId(id)
            }
            None => {
                let (buffer, next) = (data.to_vec(), NONE);
                self.slots.push(Slot { buffer, next });
                FrameId((self.slots.len() - 1) as u32)
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, id: FrameId) -> &[u8] {
        &self.slots[id.0 as usize].buffer
    }

    /// The buffer itself, out of the pool for as long as a device reads it; `put_back` returns it.
    #[inline]
    pub(crate) fn take(&mut self, id: FrameId) -> Vec<u8> {
        std::mem::take(&mut self.slots[id.0 as usize].buffer)
    }

    #[inline]
    pub(crate) fn put_back(&mut self, id: FrameId, buffer: Vec<u8>) {
        self.slots[id.0 as usize].buffer = buffer;
        self.free(id);
    }

    #[inline]
    pub(crate) fn free(&mut self, id: FrameId) {
        self.slots[id.0 as usize].next = self.free;
        self.free = id.0;
        self.live -= 1;
    }

    /// Frames under way now.
    pub(crate) fn live(&self) -> usize {
        self.live
    }
}

/// Moves a frame from one pool to another.
pub(crate) fn carry_over(frame: FrameId, from: &mut Pool, to: &mut Pool) -> FrameId {
    let moved = to.insert(from.get(frame));
    from.free(frame);
    moved
}

/// Frames one after the other, in a chain through their slots: eight bytes for any number of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    first: u32,
    last: u32,
}

impl Line {
    pub(crate) const EMPTY: Line = Line {
        first: NONE,
        last: NONE,
    };

    /// The frame is in no other line.
    #[inline]
    pub(crate) fn push(&mut self, id: FrameId, pool: &mut Pool) {
        match self.first {
            NONE => self.first = id.0,
            _ => pool.slots[self.last as usize].next = id.0,
        }
        self.last = id.0;
    }

    #[inline]
    pub(crate) fn pop(&mut self, pool: &mut Pool) -> Option<FrameId> {
        let id = self.first;
        let slot = pool.slots.get_mut(id as usize)?;
        self.first = std::mem::replace(&mut slot.next, NONE);
        Some(FrameId(id))
    }

    pub(crate) fn frames(self, pool: &Pool) -> impl Iterator<Item = &[u8]> {
        let mut id = self.first;
        std::iter::from_fn(move || {
            let slot = pool.slots.get(id as usize)?;
            id = slot.next;
            Some(slot.buffer.as_slice())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails frames are lost on a cable, or overtake each other, or one is two at once.
    #[test]
    fn a_line_gives_what_it_took_and_buffers_are_used_again() {
        let mut pool = Pool::default();
        let mut lines = [Line::EMPTY; 2];
        for round in 0..3 {
            for number in 0..10u8 {
                let id = pool.insert(&[number, round]);
                lines[usize::from(number % 2)].push(id, &mut pool);
            }
            assert_eq!(pool.live(), 10);
            let waiting: Vec<u8> = lines[1].frames(&pool).map(|frame| frame[0]).collect();
            assert_eq!(waiting, [1, 3, 5, 7, 9]);
            for (parity, line) in lines.iter_mut().enumerate() {
                for number in (parity as u8..10).step_by(2) {
                    let id = line.pop(&mut pool).unwrap();
                    assert_eq!(pool.get(id), [number, round]);
                    pool.free(id);
                }
                assert_eq!(line.pop(&mut pool), None);
            }
            assert_eq!((pool.live(), pool.slots.len()), (0, 10));
        }
    }
}

//! A spine: cells wait at inputs by output, cross, and leave when the leaf below has room.

use crate::fabric::{Event, Fabric};
use crate::state::Cell;

impl Fabric {
    /// A cell has come from a leaf.
    pub(crate) fn at_spine(&mut self, cell: u32) {
        let Cell { from, to, link, .. } = self.cells[cell];
        let leaves = self.leaves.len();
        let spine = &mut self.spines[usize::from(link)];
        let queue = &mut spine.queues[usize::from(from) * leaves + usize::from(to)];
        queue.append(cell, &mut self.cells);
        spine.wants[usize::from(to)] |= 1 << from;
        spine.active |= 1 << to;
        if !spine.awake {
            spine.awake = true;
            let next = (spine.last + self.period()).max(self.now);
            let spine = u16::from(link);
            self.after(next - self.now, Event::SpineSlot { spine });
        }
    }

    /// Picoseconds of a slot: a cell on a link, by the speed-up.
    fn period(&self) -> u64 {
        self.parameters.on_link() / self.parameters.speedup
    }

    pub(crate) fn spine_slot(&mut self, number: usize) {
        let (now, leaves, length) = (self.now, self.leaves.len(), self.parameters.on_link());
        let full = now + (self.parameters.spine_output - 1) * length;
        let wait = self.parameters.cable + self.parameters.cell_remote / 2;
        let back = now + self.parameters.cable;
        let spine = &mut self.spines[number];
        spine.last = now;
        let mut free = 0;
        for output in crate::arbiter::bits(spine.active) {
            let link = &mut spine.down[usize::from(output)];
            if link.busy <= full && link.has_credit(now) {
                free |= 1 << output;
            }
        }
        let (queues, cells) = (&mut spine.queues, &mut self.cells);
        let (down, queue, leafs) = (&mut spine.down, &mut self.queue, &mut self.leaves);
        let mut emptied = [(0u8, 0u8); 128];
        let (mut count, mut crossed) = (0, 0);
        spine.islip.run(&spine.wants, free, 1, |input, output| {
            let list = &mut queues[usize::from(input) * leaves + usize::from(output)];
            let Some(cell) = list.take(cells) else { return };
            cells[cell].down = true;
            crossed += 1;
            if list.is_empty() {
                emptied[count] = (input, output);
                count += 1;
            }
            let left = down[usize::from(output)].send(now, length);
            let there = p4_net::Time::from_picos(left + wait);
            queue.arrange(there, Event::AtLeaf { cell });
            leafs[usize::from(input)].up[number].returns.push_back(back);
        });
        spine.crossed += crossed;
        for (input, output) in &emptied[..count] {
            spine.wants[usize::from(*output)] &= !(1 << input);
            if spine.wants[usize::from(*output)] == 0 {
                spine.active &= !(1 << output);
            }
        }
        spine.awake = spine.active != 0;
        if spine.awake {
            let spine = number as u16;
            self.after(self.period(), Event::SpineSlot { spine });
        }
    }
}

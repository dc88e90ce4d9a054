//! A packet on a fast path: one pass through ingress or through egress.
//!
//! Bytes are all that goes from one pass to the next, so each has a path of its own. What happens to a packet
//! on a path happens when it has come to its end; until then nothing has, so a packet that has no path is
//! carried as ever. Sometimes such a packet is recorded, and then others like it have one.

use super::events::{At, Core, Passing};
use super::image::Image;
use super::stages::{given, Event};
use super::switch::Switch;
use crate::segments::{known, Architecture, FastPaths, Learner, Recorded, Recording};
use crate::tree::{Follow, Kind, Nothing};
use crate::Sink;
use p4_ir::glue::Segment;
use p4_ir::interp::Prepared;
use p4_ir::native::Native;
use p4_ir::paths::{Buffers, End, Request};
use p4_ir::trace::NoTrace;
use std::sync::Arc;

/// The paths of a switch, and room for the packet on them.
#[derive(Debug)]
pub(super) struct Fast {
    pub paths: FastPaths<Ending>,
    buffers: Buffers,
}

/// What becomes of a packet at the end of a path.
#[derive(Debug)]
pub(crate) struct Ending {
    calls: Vec<Request>,
    events: Vec<(Event, Option<Request>)>,
}

impl Fast {
    /// No paths yet
    pub fn new(native: &Arc<dyn Native>) -> Fast {
        let mut buffers = Buffers::default();
        buffers.given.resize(given::ALL, 0);
        Fast {
            paths: FastPaths::new(native),
            buffers,
        }
    }
}

impl Learner for Image {
    type Ending = Ending;

    fn segment(&self, index: usize) -> Segment {
        self.stages.stage(index).segment.clone()
    }

    fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    fn ending(&self, end: &End) -> Ending {
        let fired = end.events.iter();
        let events = fired.map(|fired| (Event::numbered(fired.event), fired.request));
        Ending {
            calls: end.calls.clone(),
            events: events.collect(),
        }
    }
}

impl Switch {
    /// Takes the packet in `bytes` along its path, or records it; `false` if it is to be carried as ever,
    /// and nothing has happened.
    #[inline]
    pub(super) fn takes_path(
        &mut self,
        segment: usize,
        packet: &Passing,
        out: &mut dyn Sink,
    ) -> bool {
        let Some(fast) = &mut self.fast else {
            return false;
        };
        let (paths, buffers) = (&mut fast.paths, &mut fast.buffers);
        if let Some(known) = known(&paths.all, segment) {
            let code = &*known.code;
            self.core.begin(packet);
            if code.changes_cells {
                self.core.externs.try_path();
            }
            buffers.given[given::NOW] = self.core.now.picos() / 1000;
            let mut host = self.core.open(segment).host;
            let machine = &mut self.carrier.machine;
            let walked = code.paths.run(&self.bytes, 0, buffers, machine, &mut host);
            if code.changes_cells {
                self.core.externs.decide(walked.is_some());
            }
            if let Some(walked) = walked {
                let at = At {
                    packet,
                    told: &buffers.told,
                    bytes: &self.bytes[packet.front..],
                    output: &buffers.output[..walked.length as usize],
                };
                self.core
                    .finish(&code.endings[walked.end as usize], &at, out);
                self.on_paths += 1;
                return true;
            }
        }
        if !paths.missed() {
            return false;
        }
        let mut recording = Recording::default();
        recording.born(None, Kind::Original, 0, None);
        self.carry(segment, packet, out, &mut recording);
        recording.collect();
        let path = recording.packets.first().and_then(Recorded::whole);
        if let (Some(fast), Some(path)) = (&mut self.fast, path) {
            fast.paths.learn(&*self.core.image, segment, path);
        }
        true
    }
}

impl Core {
    /// All that happens to a packet on a path.
    fn finish(&mut self, ending: &Ending, at: &At<'_>, out: &mut dyn Sink) {
        let follow = &mut Nothing::<NoTrace>::default();
        for request in &ending.calls {
            self.meet(request, at.told);
        }
        for (event, request) in &ending.events {
            if let Some(request) = request {
                self.meet(request, at.told);
            }
            self.happen(*event, at, out, follow);
        }
    }

    fn meet(&mut self, request: &Request, told: &[u64]) {
        let told = told.get(request.words..).unwrap_or_default();
        self.externs.carry_out(&self.image, request.call, told);
    }
}

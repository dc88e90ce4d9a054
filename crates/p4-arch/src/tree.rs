//! What became of a packet and of everything made from it, as a tree.

use crate::stats::Drop;
use crate::tna;
use crate::Port;
use p4_ir::glue;
use p4_ir::ir::Program;
use p4_ir::trace::{Event, NoTrace, Recorder, Step, Tracer};
use p4_syntax::span::Span;
use std::sync::Arc;

/// What v1model calls its metadata.
const STANDARD: &str = "standard_metadata";

/// How a packet came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Original,
    IngressClone,
    EgressClone,
    Replica,
    Resubmitted,
    Recirculated,
}

/// How a packet ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Sent {
        port: Port,
        data: Vec<u8>,
    },
    Dropped {
        reason: Drop,
        span: Span,
    },
    /// Copies were made of it; it is no more itself.
    Replicated {
        group: u32,
        ids: Vec<u32>,
    },
    /// It goes on as another packet: resubmitted or recirculated.
    Again {
        id: u32,
    },
}

/// One packet between its making and its end.
#[derive(Clone, Debug)]
pub struct PacketTrace {
    pub id: u32,
    /// The packet it was made from
    pub parent: Option<u32>,
    pub kind: Kind,
    /// How often it or its ancestors were resubmitted or recirculated
    pub pass: u32,
    /// Where it arrived, if it goes through ingress
    pub ingress_port: Option<Port>,
    pub steps: Vec<Step>,
    /// Steps beyond the most that are kept
    pub omitted: u64,
    pub fate: Option<Fate>,
}

/// An arriving packet (the first) and all that was made from it, in order of making.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub packets: Vec<PacketTrace>,
}

/// Follows packets through a switch; [`Nothing`] costs nothing.
pub(crate) trait Follow {
    type Tracer: Tracer;
    /// Nobody looks, so packets may take fast paths.
    const UNSEEN: bool = false;

    /// A packet has been made; gives its number. Without a parent it is the one under way.
    fn born(&mut self, parent: Option<u32>, kind: Kind, pass: u32, port: Option<Port>) -> u32;
    /// The packet `id` is under way now.
    fn resume(&mut self, id: u32);
    /// For a run of `block` on the packet under way.
    fn tracer(&mut self, block: u32) -> &mut Self::Tracer;
    fn note(&mut self, text: String);
    fn fate(&mut self, fate: impl FnOnce() -> Fate);
    fn dropped(&mut self, reason: Drop);
    /// The packet under way begins on the segment of this number.
    fn begins(&mut self, _segment: usize) {}
    /// Something happens to it.
    fn event(&mut self, _event: &glue::Event) {}
}

/// Keeps nothing; with [`NoTrace`] it costs nothing either.
#[derive(Default)]
pub(crate) struct Nothing<T = NoTrace> {
    tracer: T,
}

impl<T: Tracer> Follow for Nothing<T> {
    type Tracer = T;
    const UNSEEN: bool = !T::ON;

    fn born(&mut self, _: Option<u32>, _: Kind, _: u32, _: Option<Port>) -> u32 {
        0
    }
    fn resume(&mut self, _: u32) {}
    fn tracer(&mut self, _: u32) -> &mut T {
        &mut self.tracer
    }
    fn note(&mut self, _: String) {}
    fn fate(&mut self, _: impl FnOnce() -> Fate) {}
    fn dropped(&mut self, _: Drop) {}
}

/// Keeps everything.
pub(crate) struct Tree {
    program: Arc<Program>,
    packets: Vec<PacketTrace>,
    current: usize,
    recorder: Recorder,
}

impl Tree {
    pub fn new(program: Arc<Program>) -> Tree {
        Tree {
            program,
            packets: Vec::new(),
            current: 0,
            recorder: Recorder::default(),
        }
    }

    pub fn finish(mut self) -> Trace {
        self.collect();
        Trace {
            packets: self.packets,
        }
    }

    /// Gives the packet under way the steps recorded since the last time.
    fn collect(&mut self) {
        if let Some(packet) = self.packets.get_mut(self.current) {
            packet.steps.extend(self.recorder.take());
            packet.omitted += std::mem::take(&mut self.recorder.omitted);
        }
    }

    /// Where the packet under way was told to go where it went: the last step that set `field` of
    /// the architecture's `storage`.
    fn cause(&self, storage: &str, field: &str) -> Span {
        let program = &*self.program;
        let var = program
            .storage(storage)
            .and_then(|storage| storage.leaf(field));
        let steps = self
            .packets
            .get(self.current)
            .map_or(&[][..], |packet| &packet.steps);
        let sets = |step: &&Step| match &step.event {
            Event::Change { var: changed, .. } => Some(*changed) == var,
            Event::Extern { call, .. } => program
                .calls
                .get(*call as usize)
                .is_some_and(|call| &*call.name == "mark_to_drop"),
            _ => false,
        };
        steps
            .iter()
            .rev()
            .find(sets)
            .map_or(Span::NONE, |step| step.span(program))
    }
}

impl Tree {
    /// Where the packet under way was last seen in the source.
    fn last_place(&self) -> Span {
        let program = &*self.program;
        let steps = self
            .packets
            .get(self.current)
            .map_or(&[][..], |packet| &packet.steps);
        let spans = steps.iter().rev().map(|step| step.span(program));
        let mut known = spans.filter(|span| *span != Span::NONE);
        known.next().unwrap_or(Span::NONE)
    }
}

impl Follow for Tree {
    type Tracer = Recorder;

    fn born(&mut self, parent: Option<u32>, kind: Kind, pass: u32, port: Option<Port>) -> u32 {
        let id = self.packets.len() as u32;
        self.packets.push(PacketTrace {
            id,
            parent,
            kind,
            pass,
            ingress_port: port,
            steps: Vec::new(),
            omitted: 0,
            fate: None,
        });
        id
    }

    fn resume(&mut self, id: u32) {
        self.collect();
        self.current = id as usize;
    }

    fn tracer(&mut self, block: u32) -> &mut Recorder {
        self.recorder.note(Event::Block { block });
        &mut self.recorder
    }

    fn note(&mut self, text: String) {
        self.recorder.note(Event::Note { text });
    }

    fn fate(&mut self, fate: impl FnOnce() -> Fate) {
        self.collect();
        if let Some(packet) = self.packets.get_mut(self.current) {
            packet.fate = Some(fate());
        }
    }

    fn dropped(&mut self, reason: Drop) {
        self.collect();
        let span = match reason {
            Drop::IngressDrop | Drop::EgressDrop => self.cause(STANDARD, "egress_spec"),
            Drop::NoGroup { .. } => self.cause(STANDARD, "mcast_grp"),
            Drop::NoQueue => self.cause(STANDARD, "priority"),
            Drop::IngressDropCtl => self.cause(tna::INGRESS_FOR_DEPARSER, "drop_ctl"),
            Drop::EgressDropCtl => self.cause(tna::EGRESS_FOR_DEPARSER, "drop_ctl"),
            Drop::BadPort { .. } => self.cause(tna::FOR_TM, "ucast_egress_port"),
            _ => self.last_place(),
        };
        self.fate(|| Fate::Dropped { reason, span });
    }
}

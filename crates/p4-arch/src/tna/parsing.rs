//! Parsers, and what they leave behind when they find no case or run out of bytes.
//!
//! A row of the chip's parser matches first and extracts afterwards. So where no row fits, the state
//! whose `select` it is has extracted nothing; and a row that has fitted extracts all it is to, zeros
//! from the end of the packet on. In the program that is the language's parser up to a certain state,
//! which [`Watch`] finds.

use super::events::{Core, Passing};
use super::metadata::{parser_error, EGRESS_BYTES};
use crate::segments::Carrier;
use crate::tree::Follow;
use p4_ir::interp::{errors, Outcome, Prepared};
use p4_ir::ir::{Op, Pc, Slot};
use p4_ir::trace::{Event, Tracer};

/// Zeros that are put after a packet that ends in a state.
const MOST_PADDING: usize = 512;

/// Whose parser it is, which decides what an error brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gress {
    Ingress {
        /// It looks at `parser_err`, so that packets with errors reach it.
        is_lenient: bool,
    },
    Egress,
}

impl Core {
    /// A parser has ended otherwise than well; returns what it found wrong, as `parser_err` has it.
    pub(super) fn parsed<F: Follow>(
        &mut self,
        carrier: &mut Carrier,
        packet: &Passing,
        block: u32,
        outcome: Outcome,
        follow: &mut F,
    ) -> u16 {
        let error = parser_error_of(outcome);
        match (error, packet.gress) {
            (parser_error::TOO_SHORT, Gress::Egress | Gress::Ingress { is_lenient: true }) => {
                self.read_zeros(carrier, block, follow);
            }
            (parser_error::NO_MATCH, Gress::Egress) => {
                follow.note(
                    "no case fits: what this state extracts is zero, and the payload begins where it began"
                        .to_string(),
                );
                self.leave_last_state(carrier, block);
            }
            _ => {}
        }
        error
    }

    /// Reads zeros after the packet, up to the end of the state in which it ends, and stops there.
    fn read_zeros<F: Follow>(&mut self, carrier: &mut Carrier, block: u32, follow: &mut F) {
        let given = carrier.machine.packet.bytes().to_vec();
        let mut padded = given.clone();
        padded.resize(given.len() + MOST_PADDING, 0);
        let mut watch = Watch::until(given.len() * 8);
        self.run_again(carrier, block, &padded, &mut watch);
        let end = match watch.ended {
            true => watch.began,
            false => carrier.machine.packet.cursor(),
        };
        if end <= given.len() * 8 {
            // It looked ahead too far, and went no further.
            self.run_again(carrier, block, &given, follow.tracer(block));
            return;
        }
        follow.note("the packet ends too early: zeros are read after it".to_string());
        padded.truncate(end.div_ceil(8));
        self.run_again(carrier, block, &padded, follow.tracer(block));
        if watch.ended {
            carrier.machine.frame.copy_from_slice(&watch.frame);
            carrier.machine.packet.set_cursor(end);
        }
    }

    /// Undoes the state in which the parser ended, but for the headers that are valid now, and for
    /// the intrinsic metadata, which the chip extracts apart.
    fn leave_last_state(&mut self, carrier: &mut Carrier, block: u32) {
        let given = carrier.machine.packet.bytes().to_vec();
        let mut watch = Watch::until(usize::MAX);
        self.run_again(carrier, block, &given, &mut watch);
        let machine = &mut carrier.machine;
        machine.frame.copy_from_slice(&watch.frame);
        for header in &watch.extracted {
            let own = &mut machine.frame[header.base as usize..];
            own[0] = 1;
            if header.at < EGRESS_BYTES * 8 {
                own[..header.words.len()].copy_from_slice(&header.words);
            }
        }
        let began = watch.began.max(EGRESS_BYTES * 8);
        machine.packet.set_cursor(began);
    }

    fn run_again<T: Tracer>(
        &mut self,
        carrier: &mut Carrier,
        block: u32,
        given: &[u8],
        tracer: &mut T,
    ) {
        self.externs.begin_parser();
        carrier.machine.reset(&self.image.prepared);
        carrier.machine.packet.load(given);
        let entry = self.image.program().blocks[block as usize].entry;
        carrier.run_block(self, entry, tracer);
    }
}

/// Keeps the frame as it was before the last state, or before the first that begins after `limit`.
#[derive(Debug)]
struct Watch {
    /// In bits
    limit: usize,
    /// A state began after the limit.
    ended: bool,
    frame: Vec<u64>,
    /// The bit at which the state began
    began: usize,
    /// By the state
    extracted: Vec<Extracted>,
}

#[derive(Debug)]
struct Extracted {
    base: Slot,
    at: usize,
    /// With the validity
    words: Vec<u64>,
}

impl Watch {
    fn until(limit: usize) -> Watch {
        Watch {
            limit,
            ended: false,
            frame: Vec::new(),
            began: 0,
            extracted: Vec::new(),
        }
    }
}

impl Tracer for Watch {
    const ON: bool = true;

    fn step(&mut self, prepared: &Prepared, pc: Pc, frame: &[u64]) {
        if !self.ended
            && matches!(
                prepared.program().code.get(pc as usize),
                Some(Op::State { .. })
            )
        {
            self.frame.clear();
            self.frame.extend_from_slice(frame);
        }
    }

    fn record(&mut self, _: Pc, event: Event) {
        if self.ended {
            return;
        }
        match event {
            Event::State { at, .. } => {
                self.began = at as usize;
                self.ended = self.began > self.limit;
                self.extracted.clear();
            }
            Event::Extract {
                base, at, words, ..
            } => self.extracted.push(Extracted {
                base,
                at: at as usize,
                words,
            }),
            _ => {}
        }
    }

    fn settle(&mut self, _: &Prepared, _: &[u64]) {}
    fn note(&mut self, _: Event) {}
}

/// `transition reject` is not an error to the chip, and neither is a full stack: parsing ends there.
fn parser_error_of(outcome: Outcome) -> u16 {
    match outcome {
        Outcome::Done | Outcome::Halted(_) => 0,
        Outcome::OutOfFuel => parser_error::TIMEOUT,
        Outcome::Rejected { error } => match error {
            errors::NO_MATCH => parser_error::NO_MATCH,
            errors::PACKET_TOO_SHORT | errors::HEADER_TOO_SHORT => parser_error::TOO_SHORT,
            _ => 0,
        },
    }
}

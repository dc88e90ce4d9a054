//! Several programs on one chip, each in pipes of its own.
//!
//! A program is a [`Switch`]: its tables, registers and blocks. One of them is the first, and others
//! have joined it. Between pipes of different programs packets go as between pipes of one: from the
//! traffic manager to the egress of their port. What belongs to the chip, such as mirror sessions and
//! multicast groups, is set in every program.

use super::pipes::PIPES;
use super::ports::pipe;
use super::queue::{Copy, Origin};
use super::switch::Switch;
use crate::error::ArchError;
use crate::tree::{Follow, Kind, Nothing};
use crate::{Port, Sink};
use p4_ir::trace::{NoTrace, Silent};
use p4_time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// The programs that have joined one.
#[derive(Default)]
pub(super) struct Others {
    joined: Vec<Switch>,
}

/// What goes from one program to others.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Pipes in which others run
    pipes: [bool; PIPES],
    /// Copies for ports of theirs
    leaving: VecDeque<Copy>,
}

impl Elsewhere {
    /// Keeps a copy that is for a port of another program.
    pub fn take(&mut self, copy: Copy) {
        self.leaving.push_back(copy);
    }

    /// Whether a port is in a pipe of another program.
    #[inline]
    pub fn have(&self, port: Port) -> bool {
        self.pipes
            .get(usize::from(pipe(port)))
            .is_some_and(|theirs| *theirs)
    }
}

impl Switch {
    /// Lets another program run on this chip, in pipes where none of those that are there runs, with
    /// the chip's loops and cables. The error is for people.
    pub fn join(&mut self, mut other: Switch) -> Result<(), String> {
        other.core.ports = self.core.ports.anew(self.core.config.seed);
        let taken = self.programs().find_map(|own| own.shared_pipe(&other));
        if let Some(pipe) = taken {
            return Err(format!("two programs cannot both run in pipe {pipe}"));
        }
        for own in 0..self.program_count() {
            let own = self.program_mut(own);
            own.knows(&other);
            other.knows(own);
        }
        self.others.joined.push(other);
        Ok(())
    }

    /// The pipelines of this program, by name, each with the pipes that it runs in.
    pub fn pipelines(&self) -> Vec<(String, Vec<u8>)> {
        self.core.pipes.placed()
    }

    fn shared_pipe(&self, other: &Switch) -> Option<usize> {
        (0..PIPES).find(|pipe| self.core.pipes.runs_in(*pipe) && other.core.pipes.runs_in(*pipe))
    }

    fn knows(&mut self, other: &Switch) {
        for (pipe, theirs) in self.core.elsewhere.pipes.iter_mut().enumerate() {
            *theirs |= other.core.pipes.runs_in(pipe);
        }
    }

    /// How many programs run here; their numbers begin with 0, which is this one.
    pub fn program_count(&self) -> usize {
        1 + self.others.joined.len()
    }

    /// A program by its number; this one if there is none.
    pub fn program(&self, number: usize) -> &Switch {
        let other = number.checked_sub(1);
        let other = other.and_then(|other| self.others.joined.get(other));
        other.unwrap_or(self)
    }

    pub fn program_mut(&mut self, number: usize) -> &mut Switch {
        match number.checked_sub(1) {
            Some(other) if other < self.others.joined.len() => &mut self.others.joined[other],
            _ => self,
        }
    }

    /// All programs of the chip, this one first.
    pub fn programs(&self) -> impl Iterator<Item = &Switch> {
        std::iter::once(self).chain(&self.others.joined)
    }

    /// Does the same with every program: for what belongs to the chip.
    pub fn each(&mut self, mut action: impl FnMut(&mut Switch)) {
        for number in 0..self.program_count() {
            action(self.program_mut(number));
        }
    }

    /// The program that runs in a pipe; this one if none does.
    pub fn in_pipe(&self, pipe: u8) -> &Switch {
        self.program(self.number_in(pipe))
    }

    pub fn in_pipe_mut(&mut self, pipe: u8) -> &mut Switch {
        self.program_mut(self.number_in(pipe))
    }

    fn number_in(&self, pipe: u8) -> usize {
        let mut programs = self.programs();
        let found = programs.position(|own| own.core.pipes.runs_in(usize::from(pipe)));
        found.unwrap_or(0)
    }

    /// A chip with the same programs in the same pipes, run in the same way, and with the same ports
    /// looped and plugged in; nothing is written yet.
    pub fn anew(&self) -> Result<Switch, ArchError> {
        let mut first = self.alone_anew()?;
        first.core.ports = self.core.ports.anew(self.core.config.seed);
        for other in &self.others.joined {
            let joined = first.join(other.alone_anew()?);
            debug_assert!(joined.is_ok(), "they have run beside each other");
        }
        Ok(first)
    }

    fn alone_anew(&self) -> Result<Switch, ArchError> {
        let mut own = Switch::new(Arc::clone(&self.core.image), self.core.config)?;
        own.set_native(self.carrier.engine.native().map(Arc::clone))?;
        own.core.pipes = self.core.pipes.clone();
        Ok(own)
    }

    /// When something happens by itself in another program.
    pub(super) fn next_elsewhere(&self) -> Option<Time> {
        let others = self.others.joined.iter();
        others.filter_map(Switch::next_departure).min()
    }

    /// Whether other programs share the chip with this one.
    #[inline]
    pub(super) fn has_company(&self) -> bool {
        !self.others.joined.is_empty()
    }

    /// A packet from outside for a port of another program; whether it is for one.
    pub(super) fn arrives_elsewhere(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) -> bool {
        if !self.core.elsewhere.have(port) {
            return false;
        }
        let other = self.in_pipe_mut(pipe(port));
        other.begin(now);
        other.come_in(port, data, out, &mut Nothing::<NoTrace>::default());
        true
    }

    /// Lets happen what happens by itself at `now` in other programs.
    pub(super) fn go_on_elsewhere(&mut self, now: Time, out: &mut dyn Sink) {
        for other in &mut self.others.joined {
            if other.next_departure().is_some_and(|next| next <= now) {
                other.advance(now, out);
            }
        }
    }

    /// Hands packets from program to program until none is under way.
    pub(super) fn settle_everywhere<F: Follow>(&mut self, out: &mut dyn Sink, follow: &mut F) {
        let now = self.core.now;
        for other in &mut self.others.joined {
            other.begin(now);
        }
        loop {
            for other in &mut self.others.joined {
                other.settle_quietly(out);
            }
            let mut copies = std::mem::take(&mut self.core.elsewhere.leaving);
            for copy in &copies {
                follow.resume(copy.origin.id);
                follow.note("it goes on in a pipe of another program".to_string());
            }
            for other in &mut self.others.joined {
                copies.append(&mut other.core.elsewhere.leaving);
            }
            if copies.is_empty() {
                return;
            }
            for mut copy in copies {
                let number = self.number_in(pipe(copy.port));
                if number == 0 {
                    // Its way so far is not in the trace of this program.
                    let id = follow.born(None, Kind::Replica, copy.origin.passes, None);
                    copy.origin = Origin { id, ..copy.origin };
                }
                self.program_mut(number).core.wait_for_egress(copy);
            }
            self.settle(out, follow);
        }
    }

    fn settle_quietly(&mut self, out: &mut dyn Sink) {
        match self.carrier.machine.shows_undefined() {
            true => self.settle(out, &mut Nothing::<Silent>::default()),
            false => self.settle(out, &mut Nothing::<NoTrace>::default()),
        }
    }
}

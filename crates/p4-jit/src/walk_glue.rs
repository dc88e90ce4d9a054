//! What an architecture does between blocks, on a path: words that are moved become values, and whether
//! something happens is asked where a path does not say it.

use crate::flow::Unsupported;
use crate::walk::{unsupported, Here, Place, Walker};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use p4_ir::glue::{Event, Glue, Source, Test};
use p4_ir::ir::Slot;
use p4_ir::paths::{Fired, Request};

/// What comes of a glue operation.
pub(crate) enum Goes {
    On,
    /// All paths have been followed to their ends.
    Ended,
}

/// Whether something happens.
enum Answer {
    Known(bool),
    /// Not zero if it does
    Value(Value),
}

impl Walker<'_> {
    /// Does operation `at` of the glue after the blocks that are over, and says in `here` what is next.
    pub fn glue(
        &mut self,
        here: &mut Here,
        at: usize,
        paths: &[usize],
    ) -> Result<Goes, Unsupported> {
        let Some(glue) = self.segment.glue(here.done).get(at) else {
            here.at = Place::Step(0);
            return Ok(Goes::On);
        };
        here.at = Place::Glue(at + 1);
        match glue {
            Glue::Set { slot, mask, source } => {
                let value = self.source(here, source)?;
                let value = match self.e.constant_of(value) {
                    Some(number) => self.e.number(number & *mask),
                    None => self.e.cut(value, *mask),
                };
                self.e.set(*slot, value);
            }
            Glue::Clear { slot, n } => self.e.clear(*slot, *n),
            Glue::Tell { index, slot } => {
                let value = self.e.get(*slot);
                here.told.push((*index, value));
            }
            Glue::Take => {
                here.asked = std::mem::take(&mut here.asking);
                if let Some(cut) = here.cutting.take() {
                    here.cut = Some(self.least(here.cut, cut));
                }
            }
            Glue::Guard(tests) => match self.all(here, tests) {
                Answer::Known(true) => {}
                Answer::Known(false) => return unsupported("something that is not so"),
                Answer::Value(holds) => self.go_on_if(holds),
            },
            Glue::Event(event) => return self.event(here, event, paths),
        }
        Ok(Goes::On)
    }

    fn source(&mut self, here: &Here, source: &Source) -> Result<Value, Unsupported> {
        Ok(match source {
            Source::Number(number) => self.e.number(*number),
            Source::Given(index) => self.word_given(*index),
            Source::Told(index) => {
                let last = here.told.iter().rev().find(|(own, _)| own == index);
                match last {
                    Some((_, value)) => *value,
                    None => self.e.number(0),
                }
            }
            // A parser that found an error is on no path.
            Source::Error => self.e.number(0),
            Source::Length if here.delta < -i64::from(here.have) => {
                return unsupported("less than nothing left");
            }
            Source::Length => {
                let (length, delta) = (self.length, here.delta);
                self.e.ins().iadd_imm_s(length, delta)
            }
        })
    }

    /// Whether all tests hold.
    fn all(&mut self, here: &Here, tests: &[Test]) -> Answer {
        let mut all: Option<Value> = None;
        for test in tests {
            match self.test(here, test) {
                Answer::Known(true) => {}
                Answer::Known(false) => return Answer::Known(false),
                Answer::Value(own) => {
                    all = Some(match all {
                        Some(others) => self.e.ins().band(others, own),
                        None => own,
                    });
                }
            }
        }
        all.map_or(Answer::Known(true), Answer::Value)
    }

    fn test(&mut self, here: &Here, test: &Test) -> Answer {
        match test {
            Test::Always => Answer::Known(true),
            Test::Busy => Answer::Known(false),
            Test::Asked(kind) => Answer::Known(here.asked.iter().any(|(own, _)| own == kind)),
            Test::Unasked(kind) => Answer::Known(here.asked.iter().all(|(own, _)| own != kind)),
            Test::Is { slot, mask, value } => self.compare(IntCC::Equal, *slot, *mask, *value),
            Test::Not { slot, mask, value } => self.compare(IntCC::NotEqual, *slot, *mask, *value),
        }
    }

    fn compare(&mut self, code: IntCC, slot: Slot, mask: u64, number: u64) -> Answer {
        let word = self.e.get(slot);
        match self.e.constant_of(word) {
            Some(known) => Answer::Known((known & mask == number) == (code == IntCC::Equal)),
            None => {
                let bits = self.e.cut(word, mask);
                Answer::Value(self.e.ins().icmp_imm_u(code, bits, number as i64))
            }
        }
    }

    fn event(
        &mut self,
        here: &mut Here,
        event: &Event,
        paths: &[usize],
    ) -> Result<Goes, Unsupported> {
        if event.tests.contains(&Test::Busy) {
            // Whoever goes first does so when this is met.
            self.fire(here, event, paths);
            return Ok(Goes::On);
        }
        let ends = |path: &usize| {
            let path = &self.paths[*path];
            event.ends && path.end == event.id && path.blocks.len() == here.done
        };
        let (ended, others): (Vec<usize>, Vec<usize>) = paths.iter().partition(|path| ends(path));
        match self.all(here, &event.tests) {
            Answer::Known(false) if ended.is_empty() => Ok(Goes::On),
            Answer::Known(true) if !event.ends => {
                self.fire(here, event, paths);
                Ok(Goes::On)
            }
            Answer::Known(true) if others.is_empty() => {
                self.fire(here, event, paths);
                self.leaf(std::mem::take(here))?;
                Ok(Goes::Ended)
            }
            Answer::Known(_) => unsupported("an event against its tests"),
            Answer::Value(_) if !event.ends => unsupported("an event only now and then"),
            Answer::Value(happens) => {
                let mut block = |group: &[usize]| match group.is_empty() {
                    true => self.miss,
                    false => self.e.builder.create_block(),
                };
                let (then, otherwise) = (block(&ended), block(&others));
                self.e.ins().brif(happens, then, &[], otherwise, &[]);
                if !ended.is_empty() {
                    let known = self.e.known.clone();
                    self.e.builder.switch_to_block(then);
                    let mut here = here.clone();
                    self.fire(&mut here, event, &ended);
                    self.leaf(here)?;
                    self.e.known = known;
                }
                if others.is_empty() {
                    return Ok(Goes::Ended);
                }
                self.e.builder.switch_to_block(otherwise);
                self.follow(here.clone(), others)?;
                Ok(Goes::Ended)
            }
        }
    }

    /// Notes the event with the request for it, whose words are told as they are now.
    fn fire(&mut self, here: &mut Here, event: &Event, paths: &[usize]) {
        let asked = |test: &Test| match test {
            Test::Asked(kind) => here.asked.iter().rev().find(|(own, _)| own == kind),
            _ => None,
        };
        let request = event.tests.iter().find_map(asked).map(|asked| asked.1);
        let request = request.map(|request| self.keep(here, request));
        let event = event.id;
        let list = request.and_then(|request| request.list);
        let fork = self.fork(here, event, list, paths);
        here.events.push(Fired {
            event,
            request,
            fork,
        });
    }

    /// Tells the words that go with a request.
    fn keep(&mut self, here: &mut Here, request: Request) -> Request {
        let lists = &self.segment.lists;
        let list = request.list;
        let known = lists.iter().find(|(number, _)| Some(*number) == list);
        let regions = known.map_or(&[][..], |(_, regions)| regions.as_slice());
        let first = here.n_told;
        for slot in regions.iter().flat_map(|(slot, n)| *slot..*slot + *n) {
            let value = self.e.get(slot);
            self.tell(here, value);
        }
        let kept = (first, here.n_told - first);
        Request { kept, ..request }
    }
}

//! What the externs do.

use super::calls::{Call, Checksum};
use super::image::Image;
use super::stages::asked;
use super::switch::{Assertions, Config};
use super::undo::Before;
use crate::frame::{pack, place_slice, store, unpack, Field};
use crate::hash::{Algorithm, Crc, CrcParameters};
use crate::random::Random;
use crate::segments::{Between, Requests, SegmentHost};
use crate::stats::{Stats, Stop};
use p4_ir::interp::{Halt, Host, Lookup, Machine, Plain};
use p4_ir::ir::{mask, words, CallId, InstanceId, Place, Program, TableId};
use p4_ir::packet::Packet;
use p4_ir::packet_plan::Join;
use p4_ir::trace::{Event, Tracer};
use p4_ir::trace_text::value;
use p4_state::State;
use p4_syntax::span::Span;
use std::mem::offset_of;

/// Tables and externs of one switch.
#[derive(Debug)]
#[repr(C, align(64))] // what every packet needs is together: the end of `stats`, and the beginning of `state`
pub(crate) struct Externs {
    /// Picoseconds
    pub now: u64,
    /// Bytes that counters and meters count for this packet
    pub bytes: u64,
    pub random: Random,
    bmv2_compat: bool,
    stops_at_assertions: bool,
    pub stats: Stats,
    pub state: State,
    pub(super) before: Before,
    pub requests: Requests,
    /// Words of the digest asked for
    pub digest: Vec<Vec<u64>>,
    /// Why the switch is to stop, if an extern found a reason
    pub stop: Option<Stop>,
    /// The colour of each direct meter's last hit, by instance
    pub(super) colors: Vec<u64>,
    /// CRCs with parameters of their own, by the image's list
    customs: Vec<Crc>,
    /// Fields being joined for a hash
    joined: Packet,
}

const _: () = assert!((offset_of!(Externs, stats) + size_of::<Stats>()).is_multiple_of(32));

impl Externs {
    pub fn new(image: &Image, state: State, config: &Config) -> Externs {
        let colors = vec![0; image.resources.len()];
        let random = Random::new(config.seed);
        Externs {
            state,
            before: Before::new(random),
            random,
            stop: None,
            bmv2_compat: config.bmv2_compat,
            stops_at_assertions: config.bmv2_compat || config.assertions == Assertions::Stop,
            stats: Stats::default(),
            requests: Requests::default(),
            digest: Vec::new(),
            now: 0,
            bytes: 0,
            colors,
            customs: image
                .customs
                .iter()
                .map(|custom| Crc::new(CrcParameters::standard(custom.width)))
                .collect(),
            joined: Packet::default(),
        }
    }

    /// Gives a custom CRC other parameters; they have its width.
    pub fn set_custom(&mut self, index: usize, parameters: CrcParameters) {
        let fits = |crc: &&mut Crc| crc.width() == parameters.width;
        if let Some(crc) = self.customs.get_mut(index).filter(fits) {
            *crc = Crc::new(parameters);
        }
    }

    /// The hash of the joined values `data` and of the bytes `more`.
    fn hash(&mut self, algorithm: Algorithm, data: &Join, frame: &[u64], more: &[u8]) -> u64 {
        data.write(frame, &mut self.joined);
        if !more.is_empty() {
            self.joined.append(more);
        }
        let data = self.joined.output();
        match algorithm {
            Algorithm::Custom(index) => self
                .customs
                .get(index as usize)
                .map_or(0, |crc| crc.hash(data)),
            Algorithm::Random => self.random.next(),
            _ => algorithm.hash(data),
        }
    }

    /// Starts a pass: nothing asked for yet.
    #[inline]
    pub fn begin(&mut self, now: u64, bytes: u64) {
        self.requests.clear();
        self.now = now;
        self.bytes = bytes;
    }

    /// Counts a use of a cell that there is not. simple_switch, built without checks, touches
    /// whatever memory lies there: a little outside nothing is seen of it, far outside it ends.
    fn out_of_range(&mut self, instance: InstanceId, index: u64) {
        self.stats.out_of_range += 1;
        let beyond = index.saturating_sub(self.state.size(instance));
        if self.bmv2_compat && beyond >= FAR {
            let span = Span::NONE;
            self.stop = Some(Stop::OutOfRange { span });
        }
    }

    /// Ends the run with [`Halt`] if there is a reason for the switch to stop.
    fn go_on(&self, call: CallId) -> Result<(), Halt> {
        match self.stop {
            Some(_) => Err(Halt::Call(call)),
            None => Ok(()),
        }
    }

    #[inline]
    pub fn count(&mut self, counter: InstanceId, index: u64, bytes: u64) {
        if !self.state.count(counter, index, bytes) {
            self.out_of_range(counter, index);
        }
    }

    fn meter(&mut self, meter: InstanceId, index: u64) -> u64 {
        let color = self.state.meter(meter, index, self.bytes, self.now);
        if color.is_none() {
            self.out_of_range(meter, index);
        }
        color.map_or(0, |color| color as u64)
    }

    fn register_read(
        &mut self,
        register: InstanceId,
        index: u64,
        result: &[Place],
        frame: &mut [u64],
    ) {
        match self.state.register(register, index) {
            Some(cell) => unpack(cell, result, frame),
            None => {
                self.out_of_range(register, index);
                for place in result {
                    frame[place.slot as usize..][..words(place.width) as usize].fill(0);
                }
            }
        }
    }

    fn register_write(&mut self, register: InstanceId, index: u64, value: &[Place], frame: &[u64]) {
        let Some(cell) = self.state.register_mut(register, index) else {
            self.out_of_range(register, index);
            return;
        };
        pack(value, frame, cell);
    }

    fn checksum(&mut self, image: &Image, checksum: &Checksum, machine: &mut Machine) {
        if machine.frame[checksum.condition as usize] == 0 {
            return;
        }
        let payload = if checksum.payload {
            machine.packet.payload()
        } else {
            &[]
        };
        let sum = self.hash(checksum.algorithm, &checksum.data, &machine.frame, payload);
        let frame = &mut machine.frame;
        if checksum.update {
            store(&checksum.value, sum, frame);
            return;
        }
        let slot = checksum.value.slot as usize;
        let given = &frame[slot..slot + words(checksum.value.width) as usize];
        let expected = if checksum.value.width >= 64 {
            sum
        } else {
            sum & mask(checksum.value.width)
        };
        if given[0] != expected || given[1..].iter().any(|word| *word != 0) {
            Field::set(image.standard.checksum_error, frame, 1);
        }
    }
}

/// Cells beyond the last that simple_switch was seen to survive
const FAR: u64 = 128;

/// The message with each `{}` replaced by a value; a `{}` too many stays.
fn log_text(program: &Program, message: &str, data: &[Place], frame: &[u64]) -> String {
    let mut values = data
        .iter()
        .map(|place| value(program, place, place_slice(place, frame)));
    let mut text = String::from("log: ");
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("{}") {
        text.push_str(before);
        text.push_str(&values.next().unwrap_or_else(|| "{}".into()));
        rest = after;
    }
    text.push_str(rest);
    text
}

/// `base + hash % max`, `base` if `max` is 0; the sum is cut only to the width of the result.
fn store_hash(result: &Place, hash: u64, base: &Place, max: &Place, frame: &mut [u64]) {
    let max = place_slice(max, frame);
    let large = max[1..].iter().any(|word| *word != 0);
    let mut carry = match (large, max[0]) {
        (true, _) => hash,
        (false, 0) => 0,
        (false, max) => hash % max,
    };
    let n = words(result.width) as usize;
    for i in 0..n {
        let word = if i < words(base.width) as usize {
            frame[base.slot as usize + i]
        } else {
            0
        };
        let (sum, over) = word.overflowing_add(carry);
        frame[result.slot as usize + i] = sum;
        carry = over.into();
    }
    let top = result.width - (n as u32 - 1) * 64;
    frame[result.slot as usize + n - 1] &= mask(top);
}

/// The externs together with the program that calls them, for one run of a block.
pub(crate) struct Running<'a> {
    pub image: &'a Image,
    pub externs: &'a mut Externs,
    /// If the run goes through several blocks
    pub between: Option<Between<'a>>,
}

impl<'a> Running<'a> {
    #[inline]
    pub fn new(image: &'a Image, externs: &'a mut Externs) -> Running<'a> {
        Running {
            image,
            externs,
            between: None,
        }
    }
}

impl<'a> SegmentHost<'a> for Running<'a> {
    #[inline]
    fn requests(&mut self) -> &mut Requests {
        &mut self.externs.requests
    }

    #[inline]
    fn be_between(&mut self, between: Between<'a>) {
        self.between = Some(between);
    }
}

impl Host for Running<'_> {
    #[inline]
    fn lookup_plain(&mut self, table: TableId, key: &[u64]) -> Option<Plain<'_>> {
        self.externs.state.lookup_plain(table, key)
    }

    #[inline]
    fn between(&mut self, last: usize, frame: &mut [u64], length: i64) -> bool {
        match &mut self.between {
            Some(between) => between.goes_on(last, frame, length, &mut self.externs.requests),
            None => true,
        }
    }

    #[inline]
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_> {
        let image = self.image;
        let Externs {
            state,
            joined,
            bytes,
            now,
            colors,
            before,
            customs,
            stop,
            bmv2_compat,
            ..
        } = &mut *self.externs;
        let is_noted = state.has_journal();
        let found = state.lookup(table, key, *bytes, *now, |profile, _, places| {
            let Some(Some(selector)) = image.selectors.get(profile as usize) else {
                return Some(0);
            };
            joined.clear_output();
            for (at, width) in &image.selector_keys[table as usize] {
                joined.put_wide(&key[*at..*at + words(*width) as usize], *width);
            }
            let hash = match selector.algorithm {
                Algorithm::Custom(index) => {
                    let crc = customs.get(index as usize);
                    crc.map_or(0, |crc| crc.hash(joined.output()))
                }
                algorithm => algorithm.hash(joined.output()),
            };
            Some((hash % places as u64) as usize)
        });
        if *bmv2_compat && found.action == u32::MAX {
            *stop = Some(Stop::EmptyGroup);
        }
        if let Some(meter) = image.direct_meters[table as usize] {
            let color = found.color.map_or(0, |color| color as u64);
            let old = std::mem::replace(&mut colors[meter as usize], color);
            if is_noted {
                before.colors.push((meter, old));
            }
        }
        Lookup {
            hit: found.hit,
            action: found.action,
            data: found.data,
            entry: found.entry,
        }
    }

    fn call<T: Tracer>(
        &mut self,
        id: CallId,
        machine: &mut Machine,
        tracer: &mut T,
    ) -> Result<(), Halt> {
        let Running { image, externs, .. } = self;
        let frame = &mut machine.frame;
        match &image.calls[id as usize] {
            Call::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                if let Some(slot) = egress_spec {
                    frame[*slot as usize] = super::switch::DROP_PORT;
                }
                if let Some(slot) = mcast_grp {
                    frame[*slot as usize] = 0;
                }
            }
            Call::Count { counter, index } => {
                externs.count(*counter, frame[*index as usize], externs.bytes);
                externs.go_on(id)?;
            }
            Call::DirectCount => {}
            Call::Meter {
                meter,
                index,
                result,
            } => {
                let color = externs.meter(*meter, frame[*index as usize]);
                store(result, color, frame);
                externs.go_on(id)?;
            }
            Call::DirectMeter { meter, result } => {
                store(result, externs.colors[*meter as usize], frame)
            }
            Call::RegisterRead {
                register,
                index,
                result,
            } => {
                externs.register_read(*register, frame[*index as usize], result, frame);
                externs.go_on(id)?;
            }
            Call::RegisterWrite {
                register,
                index,
                value,
            } => {
                externs.register_write(*register, frame[*index as usize], value, frame);
                externs.go_on(id)?;
            }
            Call::Random { result, low, high } => {
                let number = externs
                    .random
                    .between(frame[*low as usize], frame[*high as usize]);
                store(result, number.unwrap_or(0), frame);
            }
            Call::Hash {
                algorithm,
                result,
                base,
                data,
                max,
            } => {
                let number = externs.hash(*algorithm, data, frame, &[]);
                store_hash(result, number, base, max, frame);
            }
            Call::Checksum(checksum) => externs.checksum(image, checksum, machine),
            Call::Clone { session, list } => {
                let list = list.map(|slot| frame[slot as usize]);
                let session = frame[*session as usize];
                externs.requests.ask(asked::CLONE, session, list);
            }
            Call::Resubmit { list } => {
                let list = frame[*list as usize];
                externs.requests.ask(asked::RESUBMIT, 0, Some(list));
            }
            Call::Recirculate { list } => {
                let list = frame[*list as usize];
                externs.requests.ask(asked::RECIRCULATE, 0, Some(list));
            }
            Call::Truncate { length } => {
                let length = frame[*length as usize] as u32;
                let shortest = externs
                    .requests
                    .truncate
                    .map_or(length, |other| other.min(length));
                externs.requests.truncate = Some(shortest);
            }
            Call::Digest { data } => {
                externs.requests.ask(asked::DIGEST, id.into(), None);
                externs.digest.clear();
                externs
                    .digest
                    .extend(data.iter().map(|place| place_slice(place, frame).to_vec()));
            }
            Call::Require { check, name } => {
                if frame[*check as usize] == 0 {
                    if T::ON {
                        tracer.note(Event::Note {
                            text: format!("{name} failed"),
                        });
                    }
                    if externs.stops_at_assertions {
                        let span = image.program().calls[id as usize].span;
                        externs.stop = Some(Stop::AssertionFailed { name, span });
                    }
                    return Err(Halt::Call(id));
                }
            }
            Call::Native(native) => native.run(frame),
            Call::Log {
                message,
                data,
                missing,
            } => {
                if externs.bmv2_compat && *missing > 0 {
                    let span = image.program().calls[id as usize].span;
                    externs.stop = Some(Stop::TooFewValues { span });
                    return Err(Halt::Call(id));
                }
                if T::ON {
                    let text = log_text(image.program(), message, data, frame);
                    tracer.note(Event::Note { text });
                }
            }
        }
        Ok(())
    }

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool {
        self.externs.state.in_value_set(set, key)
    }
}

//! How a header type is copied between packet and frame, worked out once per layout.
//!
//! Reading, every limb of every field is one big-endian window: load, shift, mask. Writing, the
//! fields are joined to words of 64 bits, whatever their widths, and each word is one store; so
//! `4+4` bits or `20+3+1+8` bits cost no more than whole bytes.

use crate::interp_prepare::place_words;
use crate::ir::{mask, words, HeaderLayout, Place, ValueKind};
use crate::packet::{Packet, SLACK};

/// The copy plan of one [`HeaderLayout`].
#[derive(Clone, Debug)]
pub struct Plan {
    /// Packet bits without a varbit field
    pub bits: usize,
    /// Whole bytes but for a varbit: the quick way applies, if the varbit is empty.
    quick: bool,
    takes: Vec<Take>,
    puts: Vec<Put>,
    /// Index of the varbit field
    varbit: Option<usize>,
    fields: Vec<Field>,
}

/// One limb read from the packet.
#[derive(Clone, Copy, Debug)]
pub struct Take {
    /// First byte of the window
    pub byte: u32,
    /// Words from the header's base
    pub offset: u32,
    /// How far the window's bits are to be shifted down; the window is 16 bytes if `long`, else 8.
    pub down: u8,
    pub long: bool,
    pub mask: u64,
}

/// Some bits of a limb, appended to the word being built.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// Words from the header's base
    pub offset: u32,
    pub down: u8,
    pub bits: u8,
    /// Bits in the word after this one if it is to be stored now, else 0
    pub store: u8,
    pub mask: u64,
}

/// How a header without bits in its varbit field is copied, byte by byte.
#[derive(Clone, Copy, Debug)]
pub struct Copies<'a> {
    pub takes: &'a [Take],
    pub puts: &'a [Put],
    /// Frame words of the varbit field, its length first: from and to, both relative to the base
    pub varbit: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    offset: u32,
    width: u32,
    varbit: bool,
}

impl Plan {
    pub(crate) fn new(layout: &HeaderLayout) -> Plan {
        let fields: Vec<Field> = layout
            .fields
            .iter()
            .map(|field| Field {
                offset: field.offset,
                width: field.width,
                varbit: field.varbit,
            })
            .collect();
        let varbit = fields.iter().position(|field| field.varbit);
        let bits = layout.fixed_bits as usize;
        Plan {
            bits,
            quick: bits.is_multiple_of(8),
            takes: takes(&fields),
            puts: puts(&fields),
            varbit,
            fields,
        }
    }

    /// The copies for packets whose bits so far are whole bytes; `None` if the header has others.
    pub fn copies(&self) -> Option<Copies<'_>> {
        let words = |field: &Field| (field.offset, field.offset + words(field.width) + 1);
        self.quick.then_some(Copies {
            takes: &self.takes,
            puts: &self.puts,
            varbit: self.varbit.map(|index| words(&self.fields[index])),
        })
    }

    /// The largest number of bits of the varbit field; 0 without one.
    pub fn varbit_max(&self) -> u32 {
        self.varbit.map_or(0, |i| self.fields[i].width)
    }

    /// Bits that the header whose words are `header` takes in a packet.
    pub fn current_bits(&self, header: &[u64]) -> usize {
        let varbit = self.varbit.map(|i| self.fields[i]);
        self.bits
            + varbit.map_or(0, |f| {
                header[f.offset as usize].min(f.width.into()) as usize
            })
    }

    /// Copies the next header of the packet, which is known to be long enough, to the words of
    /// `header`, makes it valid and consumes it. `varbit` is the length of the varbit field.
    #[inline]
    pub(crate) fn extract(&self, packet: &mut Packet, header: &mut [u64], varbit: u32) {
        header[0] = 1;
        if self.quick && varbit == 0 && packet.cursor().is_multiple_of(8) {
            let ahead = packet.ahead();
            for take in &self.takes {
                let byte = take.byte as usize;
                let value = if take.long {
                    (word128(ahead, byte) >> take.down) as u64
                } else {
                    word(ahead, byte) >> take.down
                };
                header[take.offset as usize] = value & take.mask;
            }
            if let Some(index) = self.varbit {
                let Field { offset, width, .. } = self.fields[index];
                header[offset as usize..][..words(width) as usize + 1].fill(0);
            }
            packet.consume(self.bits);
            return;
        }
        self.extract_bits(packet, header, varbit);
    }

    fn extract_bits(&self, packet: &mut Packet, header: &mut [u64], varbit: u32) {
        let mut skip = 0;
        for field in &self.fields {
            let mut offset = field.offset as usize;
            let mut width = field.width;
            let n = words(width) as usize;
            if field.varbit {
                width = varbit;
                header[offset] = varbit.into();
                offset += 1;
            }
            packet.peek_wide(skip, width, &mut header[offset..offset + n]);
            skip += width as usize;
        }
        packet.consume(skip);
    }

    /// Appends the header whose words are `header`, valid or not, to the outgoing packet.
    #[inline]
    pub(crate) fn emit(&self, packet: &mut Packet, header: &[u64]) {
        let empty = |index: usize| header[self.fields[index].offset as usize] == 0;
        if self.quick && self.varbit.is_none_or(empty) {
            let bytes = self.bits / 8;
            if let Some(room) = packet.room(bytes) {
                write_words(&self.puts, room, header);
                packet.wrote(bytes);
                return;
            }
        }
        for field in &self.fields {
            let mut offset = field.offset as usize;
            let mut width = field.width;
            let n = words(width) as usize;
            if field.varbit {
                width = header[offset].min(width.into()) as u32;
                offset += 1;
            }
            packet.put_wide(&header[offset..offset + n], width);
        }
    }
}

/// Writes the words that `puts` build from the frame words `from`, one after the other.
#[inline]
fn write_words(puts: &[Put], room: &mut [u8], from: &[u64]) {
    let mut word = 0u64;
    let mut at = 0;
    for put in puts {
        let bits = (from[put.offset as usize] >> put.down) & put.mask;
        word = word.unbounded_shl(put.bits.into()) | bits;
        if put.store != 0 {
            let aligned = word << (64 - put.store);
            if let Some(place) = room.get_mut(at..at + 8) {
                place.copy_from_slice(&aligned.to_be_bytes());
            }
            at += 8;
            word = 0;
        }
    }
}

/// How values are joined to a string of bytes, from the left, as hashes and checksums take them.
#[derive(Clone, Debug)]
pub struct Join {
    places: Vec<Place>,
    /// For all places but varbits
    puts: Vec<Put>,
    bytes: usize,
    /// The words with the lengths of varbits
    varbits: Vec<usize>,
}

impl Join {
    pub fn new(places: Vec<Place>) -> Join {
        let is_varbit = |place: &&Place| place.kind == ValueKind::Varbit;
        let field = |place: &Place| Field {
            offset: place.slot,
            width: place.width,
            varbit: place.kind == ValueKind::Varbit,
        };
        let fields: Vec<Field> = places.iter().map(field).collect();
        let bits: u32 = fields
            .iter()
            .filter(|field| !field.varbit)
            .map(|f| f.width)
            .sum();
        let varbits = places.iter().filter(is_varbit);
        Join {
            puts: puts(&fields),
            bytes: bits.div_ceil(8) as usize,
            varbits: varbits.map(|place| place.slot as usize).collect(),
            places,
        }
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Makes the joined values, filled up with zero bits to a whole byte, the output of `buffer`.
    pub fn write(&self, frame: &[u64], buffer: &mut Packet) {
        buffer.clear_output();
        if self.varbits.iter().all(|slot| frame[*slot] == 0) {
            if let Some(room) = buffer.room(self.bytes) {
                write_words(&self.puts, room, frame);
                buffer.wrote(self.bytes);
            }
            return;
        }
        for place in &self.places {
            let value = &frame[place.slot as usize..][..place_words(place)];
            match place.kind {
                ValueKind::Varbit => {
                    buffer.put_wide(&value[1..], value[0].min(place.width.into()) as u32);
                }
                _ => buffer.put_wide(value, place.width),
            }
        }
        buffer.pad();
    }
}

/// The 8 bytes at `byte` as a big-endian word; zero beyond the slack, which no plan reads.
#[inline(always)]
fn word(data: &[u8], byte: usize) -> u64 {
    match data.get(byte..byte + 8) {
        Some(window) => u64::from_be_bytes(window.try_into().unwrap_or_default()),
        None => 0,
    }
}

#[inline]
fn word128(data: &[u8], byte: usize) -> u128 {
    match data.get(byte..byte + SLACK) {
        Some(window) => u128::from_be_bytes(window.try_into().unwrap_or_default()),
        None => 0,
    }
}

fn takes(fields: &[Field]) -> Vec<Take> {
    let mut takes = Vec::new();
    let mut start = 0;
    for field in fields.iter().filter(|field| !field.varbit) {
        for limb in 0..words(field.width) {
            let bits = field.width.saturating_sub(limb * 64).min(64);
            // The limb's last bit is `limb * 64` bits before the field's end.
            let from = start + field.width - limb * 64 - bits;
            let end = from % 8 + bits;
            let long = end > 64;
            let down = if long { 128 - end } else { 64 - end };
            takes.push(Take {
                byte: from / 8,
                offset: field.offset + limb,
                // An empty field at a byte boundary would be shifted by all 64 bits.
                down: down.min(63) as u8,
                long,
                mask: mask(bits),
            });
        }
        start += field.width;
    }
    takes
}

fn puts(fields: &[Field]) -> Vec<Put> {
    let mut puts: Vec<Put> = Vec::new();
    let mut filled = 0;
    for field in fields.iter().filter(|field| !field.varbit) {
        for limb in (0..words(field.width)).rev() {
            let mut left = field.width.saturating_sub(limb * 64).min(64);
            while left > 0 {
                let bits = left.min(64 - filled);
                left -= bits;
                filled += bits;
                puts.push(Put {
                    offset: field.offset + limb,
                    down: left as u8,
                    bits: bits as u8,
                    store: if filled == 64 { 64 } else { 0 },
                    mask: mask(bits),
                });
                filled %= 64;
            }
        }
    }
    if let Some(last) = puts.last_mut().filter(|_| filled != 0) {
        last.store = filled as u8;
    }
    puts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::FieldLayout;
    use proptest::prelude::*;

    fn layout(widths: &[(u32, bool)]) -> HeaderLayout {
        let mut offset = 1;
        let mut fixed_bits = 0;
        let fields = widths.iter().map(|&(width, varbit)| {
            let field = FieldLayout {
                name: "f".into(),
                offset,
                width,
                varbit,
                kind: ValueKind::Bit,
            };
            offset += words(width) + u32::from(varbit);
            fixed_bits += if varbit { 0 } else { width };
            field
        });
        let fields = fields.collect();
        HeaderLayout {
            name: "h".into(),
            fields,
            words: offset,
            fixed_bits,
        }
    }

    proptest! {
        // If this fails, a header leaves a switch other than it came: the quick way and the way by
        // bits must agree with each other for every mix of field widths, aligned or not.
        #[test]
        fn quick_and_slow_ways_agree(
            mut widths in prop::collection::vec(0u32..200, 1..12),
            data in prop::collection::vec(any::<u8>(), 320),
            unaligned in 0u32..8,
        ) {
            let total: u32 = widths.iter().sum();
            widths.push((8 - total % 8) % 8);
            let fields: Vec<_> = widths.iter().map(|w| (*w, false)).collect();
            let layout = layout(&fields);
            let plan = Plan::new(&layout);
            prop_assume!(plan.bits <= 300 * 8);
            prop_assert!(plan.quick);

            let mut packet = Packet::default();
            packet.load(&data);
            let mut quick = vec![3; layout.words as usize];
            plan.extract(&mut packet, &mut quick, 0);
            prop_assert_eq!(packet.cursor(), plan.bits);
            packet.rewind();
            let mut slow = vec![3; layout.words as usize];
            slow[0] = 1;
            plan.extract_bits(&mut packet, &mut slow, 0);
            prop_assert_eq!(&quick, &slow);

            plan.emit(&mut packet, &quick);
            prop_assert_eq!(packet.output(), &data[..plan.bits / 8]);

            // Behind bits that do not fill a byte
            packet.load(&data);
            packet.put(0, unaligned);
            plan.emit(&mut packet, &quick);
            let mut again = Packet::default();
            again.load(packet.output());
            again.set_cursor(unaligned as usize);
            let mut back = vec![3; layout.words as usize];
            plan.extract(&mut again, &mut back, 0);
            prop_assert_eq!(&back, &quick);
        }

        // If this fails, hashes and checksums are taken over the wrong bits.
        #[test]
        fn joined_values_are_their_bits(
            values in prop::collection::vec((any::<[u64; 3]>(), 0u32..190, any::<bool>(), 0u32..190), 0..8),
        ) {
            let mut frame = Vec::new();
            let mut places = Vec::new();
            let mut expected = Packet::default();
            for (limbs, width, varbit, length) in &values {
                let kind = if *varbit { ValueKind::Varbit } else { ValueKind::Bit };
                let place = Place { slot: frame.len() as u32, width: *width, kind };
                let used = if *varbit { *length.min(width) } else { *width };
                if *varbit {
                    frame.push(used.into());
                }
                let n = words(*width) as usize;
                // Limbs as a frame holds them: nothing above the width
                let mut own = limbs[..n].to_vec();
                for (i, limb) in own.iter_mut().enumerate() {
                    *limb &= mask(used.saturating_sub(i as u32 * 64).min(64));
                }
                for bit in (0..used).rev() {
                    expected.put(own[bit as usize / 64] >> (bit % 64) & 1, 1);
                }
                frame.extend(own);
                places.push(place);
            }
            expected.pad();
            let mut buffer = Packet::default();
            Join::new(places).write(&frame, &mut buffer);
            prop_assert_eq!(buffer.output(), expected.output());
        }

        // If this fails, headers with options change on their way.
        #[test]
        fn varbit_headers_come_out_as_they_came(
            before in 0u32..70, max in 0u32..330, after in 0u32..70, used in 0u32..330,
            data in prop::collection::vec(any::<u8>(), 70),
        ) {
            let layout = layout(&[(before, false), (max, true), (after, false)]);
            let plan = Plan::new(&layout);
            let used = used.min(max);
            let mut packet = Packet::default();
            packet.load(&data);
            let mut header = vec![3; layout.words as usize];
            plan.extract(&mut packet, &mut header, used);
            let bits = (before + used + after) as usize;
            prop_assert_eq!(packet.cursor(), bits);
            prop_assert_eq!(plan.current_bits(&header), bits);
            plan.emit(&mut packet, &header);
            prop_assert_eq!(packet.emitted(), bits);
            packet.append_payload();
            prop_assert_eq!(packet.output(), &data[..]);
        }
    }
}

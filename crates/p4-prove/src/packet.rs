//! A packet of known and unknown bytes, and of unknown length.
//!
//! A packet is some bytes, and then the rest of the packet that arrived, from some byte on. That rest
//! stays as it is until a parser reads it; so two packets with the same rest are compared without
//! saying how long it is.

use crate::path::{Paths, Step, Stop};
use crate::term::{Term, Terms};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// 8 bits each
    pub bytes: Vec<Term>,
    /// The first byte of the packet that arrived which comes after `bytes`
    pub rest: u32,
    /// Zeros behind the packet that arrived: its Ethernet checksum within a chip
    pub tail: u32,
}

/// The byte at `at` of the packet that arrived
pub fn arrived(at: u32, terms: &mut Terms) -> Term {
    terms.unknown(&format!("byte.{at}"), 8)
}

impl Packet {
    pub fn arriving() -> Packet {
        Packet {
            bytes: Vec::new(),
            rest: 0,
            tail: 0,
        }
    }

    /// Bytes in 32 bits; `length` is that of the packet that arrived, in 16.
    pub fn length(&self, length: Term, terms: &mut Terms) -> Term {
        let whole = terms.fit(length, 32);
        let own = (self.bytes.len() as u64 + u64::from(self.tail)).wrapping_sub(self.rest.into())
            & 0xffff_ffff;
        let own = terms.number(own, 32);
        terms.binary(crate::term::Binary::Add, whole, own)
    }

    /// Reads so much of the rest that there are `bytes` bytes; `false` if the packet is shorter.
    pub fn reach(
        &mut self,
        bytes: usize,
        length: Term,
        terms: &mut Terms,
        paths: &mut Paths<'_>,
    ) -> Step<bool> {
        let Some(missing) = bytes.checked_sub(self.bytes.len()).filter(|n| *n > 0) else {
            return Ok(true);
        };
        let needed = u64::from(self.rest) + missing as u64;
        if needed > u64::from(u16::MAX) {
            return Err(Stop::Bound("bytes of the longest packet"));
        }
        let needed = terms.number(needed, 16);
        let shorter = terms.less(length, needed);
        if paths.decide(terms, shorter)? {
            return self.reach_behind(missing as u32, length, terms, paths);
        }
        for _ in 0..missing {
            self.bytes.push(arrived(self.rest, terms));
            self.rest += 1;
        }
        Ok(true)
    }

    /// Reads on into the zeros behind the packet that arrived.
    fn reach_behind(
        &mut self,
        missing: u32,
        length: Term,
        terms: &mut Terms,
        paths: &mut Paths<'_>,
    ) -> Step<bool> {
        for zeros in 1..=self.tail.min(missing) {
            let end = self.rest + missing - zeros;
            let number = terms.number(end.into(), 16);
            let ends = terms.equal(length, number);
            if !paths.decide(terms, ends)? {
                continue;
            }
            let own = self.rest..end;
            self.bytes.extend(own.map(|at| arrived(at, terms)));
            let zero = terms.number(0, 8);
            self.bytes.extend((0..zeros).map(|_| zero));
            self.rest = end;
            self.tail -= zeros;
            return Ok(true);
        }
        Ok(false)
    }

    /// `width` bits from bit `from` on, which are there.
    pub fn bits(&self, from: usize, width: u32, terms: &mut Terms) -> Term {
        let (first, last) = (from / 8, (from + width as usize - 1) / 8);
        let mut joined = self.bytes[first];
        for byte in &self.bytes[first + 1..=last] {
            joined = terms.concat(joined, *byte);
        }
        let after = (last + 1) * 8 - from - width as usize;
        terms.slice(joined, after as u32, width)
    }
}

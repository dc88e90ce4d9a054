//! Hashes as clients have changed them: of other fields, or by another algorithm.

use super::hash::{crc, Algorithm};
use super::switch::Switch;
use crate::error::ArchError;
use p4_ir::ir::InstanceId;
use rustc_hash::FxHashMap;

/// An algorithm that clients choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashAlgorithm {
    Crc {
        /// 1 to 64 bits
        width: u32,
        /// Without its highest term
        polynomial: u64,
        initial: u64,
        xor: u64,
        reflected: bool,
    },
    /// The lowest bits of the fields
    Identity,
    /// Bytes, added without carry
    Xor,
}

impl HashAlgorithm {
    fn width(self) -> u32 {
        match self {
            HashAlgorithm::Crc { width, .. } => width,
            HashAlgorithm::Identity => 64,
            HashAlgorithm::Xor => 8,
        }
    }

    fn ready(self) -> Algorithm {
        match self {
            HashAlgorithm::Crc {
                width,
                polynomial,
                initial,
                xor,
                reflected,
            } => crc(width, polynomial, initial, xor, reflected),
            HashAlgorithm::Identity => Algorithm::Identity,
            HashAlgorithm::Xor => Algorithm::Xor(1),
        }
    }
}

/// Neighbouring bits of one of the fields that the program hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashSlice {
    /// Bits in front of it, all fields joined
    pub start: usize,
    pub length: usize,
    /// Slices are hashed in this order. Of two that share one, each is replaced by the exclusive or
    /// of both, as the chip's driver does it (dynamic_hash.c of open-p4studio).
    pub order: u64,
}

/// What is other than the program has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashChange {
    /// `None`: all fields
    pub slices: Option<Vec<HashSlice>>,
    /// `None`: the program's
    pub algorithm: Option<HashAlgorithm>,
    /// Lowest bits of the result that the program takes; 1 to 64
    pub width: u32,
    /// Repeats a result that is narrower
    pub extend: bool,
    /// By how many bits the result is turned to the left
    pub rotate: u32,
}

/// A change ready for use.
#[derive(Debug)]
pub(super) struct Changed {
    slices: Option<Vec<HashSlice>>,
    algorithm: Option<(Algorithm, u32)>,
    extend: bool,
    rotate: u32,
    width: u32,
}

pub(super) type Changes = FxHashMap<InstanceId, Changed>;

impl Changed {
    fn new(change: HashChange) -> Changed {
        let mut slices = change.slices;
        if let Some(slices) = &mut slices {
            slices.sort_by_key(|own| own.order);
        }
        Changed {
            slices,
            algorithm: change.algorithm.map(|own| (own.ready(), own.width())),
            extend: change.extend,
            rotate: change.rotate,
            width: change.width.clamp(1, 64),
        }
    }

    /// Whether the program's own pairs of fields still stand for each other.
    pub fn keeps_fields(&self) -> bool {
        self.slices.is_none()
    }

    /// The hash of `bits` bits, which `data` holds from its first byte on; `own` is the program's
    /// algorithm.
    pub fn hash(&self, own: &Algorithm, data: &[u8], bits: usize) -> u64 {
        let gathered = self.slices.as_ref().map(|slices| gather(slices, data));
        let (data, bits) = match &gathered {
            Some((data, bits)) => (data.as_slice(), *bits),
            None => (data, bits),
        };
        if bits == 0 {
            return 0;
        }
        let value = match &self.algorithm {
            Some((algorithm, width)) => self.extended(algorithm.hash(data, bits), *width),
            None => own.hash(data, bits),
        };
        self.rotated(value)
    }

    fn extended(&self, value: u64, width: u32) -> u64 {
        match self.extend {
            true => (0..64)
                .step_by(width.max(1) as usize)
                .fold(0, |sum, by| sum | value << by),
            false => value,
        }
    }

    fn rotated(&self, value: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.width);
        let (value, by) = (value & mask, self.rotate % self.width);
        match by {
            0 => value,
            by => (value << by | value >> (self.width - by)) & mask,
        }
    }
}

/// The slices of `data`, joined, and how many bits they have.
fn gather(slices: &[HashSlice], data: &[u8]) -> (Vec<u8>, usize) {
    let bit = |at: usize| data.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let bits = slices.iter().map(|own| own.length).sum::<usize>();
    let mut out = vec![0u8; bits.div_ceil(8)];
    let mut at = 0;
    for (place, slice) in slices.iter().enumerate() {
        let mut others = slices.iter().enumerate();
        let twin = others.find(|(other, own)| *other != place && own.order == slice.order);
        for offset in 0..slice.length {
            let mixed = twin.map_or(0, |(_, twin)| bit(twin.start + offset));
            out[at / 8] |= (bit(slice.start + offset) ^ mixed) << (7 - at % 8);
            at += 1;
        }
    }
    (out, bits)
}

impl Switch {
    /// Changes what a `Hash` does from now on; `None`: it is the program's again.
    pub fn change_hash(&mut self, hash: &str, change: Option<HashChange>) -> Result<(), ArchError> {
        let id = self.named_extern(hash, &["Hash"])?;
        match change {
            Some(change) => self.core.externs.hashes.insert(id, Changed::new(change)),
            None => self.core.externs.hashes.remove(&id),
        };
        Ok(())
    }

    /// The hash of fields that have `bits` bits, joined from the first byte of `data` on. Pairs that
    /// `@symmetric` names are not known here.
    pub fn hash_of(&self, hash: &str, data: &[u8], bits: usize) -> Result<u64, ArchError> {
        let id = self.named_extern(hash, &["Hash"])?;
        let own = self.core.image.hashes.get(id as usize);
        let Some(own) = own.and_then(Option::as_ref) else {
            return Ok(0);
        };
        Ok(match self.core.externs.hashes.get(&id) {
            Some(changed) => changed.hash(own, data, bits),
            None => own.hash(data, bits),
        })
    }
}

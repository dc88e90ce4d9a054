//! The hash units: TNA's algorithms over the fields in order, the first one uppermost.

use crate::error::ArchError;
use crate::hash::{Crc, CrcParameters};
use p4_ir::ir::{words, ConstArg, Instance, InstanceId, Place, Program};

/// A hash ready for use.
#[derive(Clone, Debug)]
pub(super) enum Algorithm {
    Crc(Crc),
    /// The lowest bits of the data
    Identity,
    /// Words of so many bytes, added without carry; the last one is filled up with zeros.
    Xor(usize),
}

pub(super) fn crc(
    width: u32,
    polynomial: u64,
    initial: u64,
    xor: u64,
    reflected: bool,
) -> Algorithm {
    Algorithm::Crc(Crc::new(CrcParameters {
        width,
        polynomial,
        initial,
        xor,
        reflect_data: reflected,
        reflect_remainder: reflected,
    }))
}

/// The algorithm of a `Hash`.
pub(super) fn algorithm(program: &Program, hash: &Instance) -> Result<Algorithm, ArchError> {
    let name = match hash.args.first() {
        Some(ConstArg::Member(name)) => &**name,
        _ => "",
    };
    let ones = u64::from(u32::MAX);
    Ok(match name {
        "IDENTITY" => Algorithm::Identity,
        "XOR8" => Algorithm::Xor(1),
        "XOR16" => Algorithm::Xor(2),
        "XOR32" => Algorithm::Xor(4),
        "CRC8" => crc(8, 0x07, 0, 0, false),
        "CRC16" => crc(16, 0x8005, 0, 0, true),
        "CRC32" => crc(32, 0x04c1_1db7, ones, ones, true),
        "CRC64" => crc(64, 0x42f0_e1eb_a9ea_3693, 0, 0, false),
        // The chip's is some linear function; any will do.
        "RANDOM" => crc(64, 0xad93_d235_94c9_35a9, 0, 0, true),
        "CUSTOM" => custom(program, hash)?,
        other => {
            let message = format!("{}: the hash algorithm {other} is not executed", hash.name);
            return Err(ArchError::new(message, hash.span));
        }
    })
}

fn custom(program: &Program, hash: &Instance) -> Result<Algorithm, ArchError> {
    let polynomial = match hash.args.get(1) {
        Some(ConstArg::Instance(id)) => program.instances.get(*id as usize),
        _ => None,
    };
    let wrong = |what: &str| ArchError::new(format!("{}: {what}", hash.name), hash.span);
    let polynomial =
        polynomial.ok_or_else(|| wrong("HashAlgorithm_t.CUSTOM needs a CRCPolynomial"))?;
    let width = polynomial
        .types
        .first()
        .and_then(|shape| shape.leaves.first());
    let width = width
        .map(|leaf| leaf.1)
        .filter(|width| (1..=64).contains(width));
    let width = width.ok_or_else(|| wrong("CRCs of 1 to 64 bits are executed"))?;
    let number = |at: usize| match polynomial.args.get(at) {
        Some(ConstArg::Int(value)) => u64::try_from(value).unwrap_or(0),
        _ => 0,
    };
    let reflected = matches!(polynomial.args.get(1), Some(ConstArg::Bool(true)));
    Ok(crc(width, number(0), number(4), number(5), reflected))
}

impl Algorithm {
    /// The hash of `bits` bits, which `data` holds from its first byte on, filled up with zeros.
    pub fn hash(&self, data: &[u8], bits: usize) -> u64 {
        let joined = |bytes: &[u8]| {
            let bytes = bytes.iter();
            bytes.fold(0u128, |sum, byte| sum << 8 | u128::from(*byte))
        };
        match self {
            Algorithm::Crc(crc) => crc.hash(data),
            Algorithm::Identity => {
                let last = &data[data.len().saturating_sub(16)..];
                (joined(last) >> (data.len() * 8 - bits)) as u64
            }
            Algorithm::Xor(size) => data.chunks(*size).fold(0, |sum, chunk| {
                sum ^ (joined(chunk) << (8 * (size - chunk.len()))) as u64
            }),
        }
    }
}

/// The pairs among the places of a hash's fields that `@symmetric("hdr.a.x", "hdr.a.y")` on it names.
/// The name of the block's parameter does not count: blocks call it as they like.
pub(super) fn symmetric(program: &Program, hash: InstanceId, places: &[Place]) -> Vec<[Place; 2]> {
    let path = |name: &str| name.split_once('.').map(|(_, path)| path.to_string());
    let named = |wanted: &str| {
        let wanted = path(wanted.trim().trim_matches('"'))?;
        let is_it = |place: &&Place| {
            let mut vars = program.vars.iter();
            vars.any(|var| {
                var.place.slot == place.slot && path(&var.name).as_ref() == Some(&wanted)
            })
        };
        places.iter().find(is_it).copied()
    };
    let annotations = program.instances[hash as usize].annotations.iter();
    let pairs = annotations.filter(|annotation| &*annotation.name == "symmetric");
    let pairs = pairs.filter_map(|annotation| {
        let (one, other) = annotation.body.split_once(',')?;
        let pair = [named(one)?, named(other)?];
        (pair[0].width == pair[1].width).then_some(pair)
    });
    pairs.collect()
}

/// Runs `hash` with each of a pair replaced by the exclusive or of both, as the chip's driver changes
/// the matrix of a symmetric hash (dynamic_hash.c of open-p4studio, update_symmetric_bits).
pub(super) fn mixed<R>(
    pairs: &[[Place; 2]],
    frame: &mut [u64],
    hash: impl FnOnce(&mut [u64]) -> R,
) -> R {
    let slots = |pair: &[Place; 2]| {
        let [one, other] = pair.map(|place| place.slot as usize);
        (0..words(pair[0].width) as usize).map(move |word| (one + word, other + word))
    };
    let all = || pairs.iter().flat_map(slots);
    let before: Vec<(u64, u64)> = all()
        .map(|(one, other)| (frame[one], frame[other]))
        .collect();
    for (one, other) in all() {
        frame[one] ^= frame[other];
        frame[other] = frame[one];
    }
    let result = hash(frame);
    for ((one, other), values) in all().zip(before) {
        (frame[one], frame[other]) = values;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, hashes differ from the chip's. What its model gave for these ten bytes.
    #[test]
    fn as_on_the_model() {
        let data = b"1234567890";
        let hash = |algorithm: Algorithm| algorithm.hash(data, 80);
        assert_eq!(hash(crc(8, 0x07, 0, 0, false)), 0x52);
        assert_eq!(hash(crc(16, 0x8005, 0, 0, true)), 0xc57a);
        assert_eq!(hash(Algorithm::Identity) & 0xffff_ffff, 0x3738_3930);
        assert_eq!(hash(Algorithm::Xor(1)), 0x01);
        assert_eq!(hash(Algorithm::Xor(2)), 0x3938);
        assert_eq!(hash(Algorithm::Xor(4)), 0x3d34_040c);
        assert_eq!(Algorithm::Identity.hash(&[0xab, 0x80], 9), 0x157);
    }
}

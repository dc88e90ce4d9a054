//! Packets from and to the controller: the fields of their headers as bits in front of them.

use crate::bytes::{number, shortest};
use crate::messages::{PacketIn, PacketMetadata, PacketOut};
use crate::schema::Header;
use crate::status::Refusal;
use num_bigint::BigUint;

/// The frame that the switch gets for a packet-out.
pub fn frame(header: Option<&Header>, packet: &PacketOut) -> Result<Vec<u8>, Refusal> {
    let Some(header) = header else {
        return match packet.metadata.first() {
            None => Ok(packet.payload.clone()),
            Some(_) => Err(Refusal::invalid(
                "the program has no packet_out header, so packets take no metadata",
            )),
        };
    };
    let mut bits = BigUint::default();
    for (seen, width) in &header.fields {
        let Some((id, name)) = seen else {
            bits <<= *width;
            continue;
        };
        let mut own = packet.metadata.iter().filter(|m| m.metadata_id == *id);
        let (Some(given), None) = (own.next(), own.next()) else {
            let message = format!("metadata field {name} (id {id}) needs one value");
            return Err(Refusal::invalid(message));
        };
        let value = number(&given.value, *width).map_err(|bad| {
            Refusal::invalid(bad.about(&format!("metadata field {name}"), *width))
        })?;
        bits = (bits << *width) + value;
    }
    let seen = || header.fields.iter().filter_map(|(seen, _)| seen.as_ref());
    if packet.metadata.len() > seen().count() {
        let known = |id: u32| seen().any(|(own, _)| *own == id);
        let mut strangers = packet.metadata.iter().filter(|m| !known(m.metadata_id));
        let id = strangers.next().map_or(0, |m| m.metadata_id);
        return Err(Refusal::invalid(format!(
            "there is no metadata field with id {id}"
        )));
    }
    let digits = bits.to_bytes_be();
    let digits = match header.bytes {
        0 => &[][..],
        _ => &digits[..],
    };
    let mut frame = vec![0; header.bytes.saturating_sub(digits.len())];
    frame.extend(digits);
    frame.extend(&packet.payload);
    Ok(frame)
}

/// The packet-in for a frame that the switch sent to the controller; `None` if the frame is shorter
/// than its header.
pub fn packet_in(header: Option<&Header>, frame: &[u8]) -> Option<PacketIn> {
    let Some(header) = header else {
        return Some(PacketIn {
            payload: frame.to_vec(),
            metadata: Vec::new(),
        });
    };
    let bits = BigUint::from_bytes_be(frame.get(..header.bytes)?);
    let mut below = 8 * header.bytes as u64;
    let field = |(seen, width): &(Option<(u32, String)>, u32)| {
        below -= u64::from(*width);
        let value = (&bits >> below) & ((BigUint::from(1u8) << *width) - 1u8);
        seen.as_ref().map(|(id, _)| PacketMetadata {
            metadata_id: *id,
            value: shortest(&value),
        })
    };
    Some(PacketIn {
        metadata: header.fields.iter().filter_map(field).collect(),
        payload: frame[header.bytes..].to_vec(),
    })
}

//! Ingress: what comes in, from outside or from a looped port, and what its parser meets in front of it.

use super::events::Passing;
use super::metadata::{FCS_BYTES, INGRESS_BYTES, PORT_BYTES};
use super::parsing::Gress;
use super::queue::{Arrival, Origin};
use super::switch::Switch;
use crate::segments::Architecture;
use crate::stats::Drop;
use crate::tree::{Follow, Kind};
use crate::{Port, Sink};

impl Switch {
    /// A packet from outside.
    pub(super) fn arrive<F: Follow>(
        &mut self,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let id = follow.born(None, Kind::Original, 0, Some(port));
        let origin = Origin {
            id,
            ..Origin::default()
        };
        self.ingress(origin, port, data, None, out, follow);
    }

    /// A packet that has been here before.
    pub(super) fn ingress_of<F: Follow>(
        &mut self,
        arrival: Arrival,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let Arrival {
            origin,
            port,
            bytes,
            resubmitted,
        } = arrival;
        let data = resubmitted.as_deref();
        self.ingress(origin, port, &bytes, data, out, follow);
        self.core.keep_blank(bytes);
    }

    /// One pass through ingress. The bytes are without a checksum; `resubmitted` are the data of a
    /// resubmission.
    fn ingress<F: Follow>(
        &mut self,
        origin: Origin,
        port: Port,
        bytes: &[u8],
        resubmitted: Option<&[u8]>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        follow.resume(origin.id);
        let Some(pipeline) = self.core.pipes.at(port) else {
            return self.core.dropped(Drop::BadPort { port }, follow);
        };
        let segment = pipeline.ingress(port, resubmitted.is_some());
        let is_lenient = pipeline.is_lenient;
        self.front_of_ingress(port, resubmitted);
        let front = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(&[0; FCS_BYTES]);
        let packet = Passing {
            origin,
            port,
            bytes: self.bytes.len() - front,
            front,
            queue: 0,
            gress: Gress::Ingress { is_lenient },
        };
        self.pass(segment, &packet, out, follow);
    }

    /// What the parser meets before the packet: intrinsic metadata, then port metadata or the data
    /// of a resubmission.
    fn front_of_ingress(&mut self, port: Port, resubmitted: Option<&[u8]>) {
        let flag = u64::from(resubmitted.is_some());
        let time = (self.core.now.picos() / 1000) & 0xffff_ffff_ffff;
        let word = flag << 63 | u64::from(port & 0x1ff) << 48 | time;
        self.bytes.clear();
        self.bytes.extend_from_slice(&word.to_be_bytes());
        match resubmitted {
            Some(data) => self.bytes.extend_from_slice(data),
            None => {
                let metadata = self.core.ports.metadata(port);
                self.bytes.extend_from_slice(&metadata.to_be_bytes());
            }
        }
        debug_assert!(self.bytes.len() >= INGRESS_BYTES && PORT_BYTES == 8);
    }
}

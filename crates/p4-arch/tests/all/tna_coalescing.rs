//! Mirror sessions that put the beginnings of several packets into one.

use crate::support;

use p4_arch::tna::{Coalescing, Direction, MirrorSession, Switch};
use p4_arch::{Port, Time};
use support::*;

/// Egress mirrors what leaves from ports 2 and 130 to session 1016, behind a header of one byte.
const COLLECTED: Parts<'static> = Parts {
    ingress: "apply { tm.ucast_egress_port = (PortId_t)h.h.b; }",
    egress: "apply {
        if (eg.egress_port != 3) { d.mirror_type = 2; m.tag = 0x99; d.coalesce_length = 6; }
    }",
    egress_deparser: "Mirror() mirror;
        apply {
            if (d.mirror_type == 2) { mirror.emit<tag_t>(1016, { m.tag }); }
            p.emit(h);
        }",
    ..PLAIN
};

const SESSION: u16 = 1016;
const MICRO: u64 = 1_000_000;

fn session(extracted: u16, most: u32) -> MirrorSession {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&[0xff, 1, 2, 3]);
    MirrorSession {
        direction: Direction::Egress,
        port: Some(3),
        // The chip closes a packet that is shorter than its most by three cells of 240 bytes.
        max_length: Some(most + 720),
        coalescing: Some(Coalescing {
            header,
            header_length: 4,
            timeout: 150,
            extracted,
        }),
        ..MirrorSession::default()
    }
}

fn collecting(session: MirrorSession) -> Switch {
    session.check(SESSION).expect("a session of the chip's");
    let mut switch = switch(&COLLECTED);
    switch.set_mirror(SESSION, Some(session));
    switch
}

/// What leaves from port 3 when a packet to `port` is sent.
fn mirrored(switch: &mut Switch, time: u64, port: u16, c: u32) -> Vec<Vec<u8>> {
    let sent = send_at(switch, time, 1, &frame(7, 8, port, c));
    assert!(sent.contains(&(port, frame(7, 8, port, c))), "itself");
    let copies = sent.into_iter().filter(|(port, _)| *port == 3);
    copies.map(|(_, bytes)| bytes).collect()
}

/// What leaves by itself until `time`.
fn later(switch: &mut Switch, time: u64) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut sink = |port: Port, data: &[u8]| out.push((port, data.to_vec()));
    switch.advance(Time::from_picos(time), &mut sink);
    assert!(out.iter().all(|(port, _)| *port == 3));
    out.into_iter().map(|(_, bytes)| bytes).collect()
}

/// The mirror of a packet, cut.
fn sample(port: u16, c: u32, bytes: usize) -> Vec<u8> {
    let whole = [&[0x99][..], &frame(7, 8, port, c), &[0; 4]].concat();
    whole[..bytes.min(whole.len())].to_vec()
}

// If this fails, a collector that reads several samples of a packet gets each in a packet of its own,
// or cannot find where they begin.
#[test]
fn samples_go_into_one_packet_until_it_is_long_enough() {
    let mut switch = collecting(session(20, 60));
    for round in 0..2 {
        let c = round * 10;
        assert_eq!(mirrored(&mut switch, 0, 2, c + 1), [] as [Vec<u8>; 0]);
        assert_eq!(mirrored(&mut switch, 0, 2, c + 2), [] as [Vec<u8>; 0]);
        let samples = [c + 1, c + 2, c + 3].map(|c| sample(2, c, 20)).concat();
        let expected = [&[3, 1, 2, 3][..], &samples].concat();
        assert_eq!(mirrored(&mut switch, 0, 2, c + 3), [expected]);
    }
    assert_eq!(switch.next_departure(), None, "nothing waits");
}

// If this fails, the last samples before a pause never arrive, or earlier than the session says.
#[test]
fn a_packet_whose_time_is_up_leaves_as_it_is() {
    let mut switch = collecting(session(40, 400));
    let start = 5 * MICRO;
    assert_eq!(mirrored(&mut switch, start, 2, 1), [] as [Vec<u8>; 0]);
    // 150 microseconds are two ticks of 100, and the one that is under way is not counted.
    let due = start + 300 * MICRO;
    assert_eq!(switch.next_departure(), Some(Time::from_picos(due)));
    assert_eq!(
        mirrored(&mut switch, start + 50 * MICRO, 2, 2),
        [] as [Vec<u8>; 0]
    );
    assert_eq!(later(&mut switch, due - 1), [] as [Vec<u8>; 0]);
    let samples = [1, 2].map(|c| sample(2, c, 40)).concat();
    let expected = [&[2, 1, 2, 3][..], &samples].concat();
    assert_eq!(later(&mut switch, due), [expected]);
    assert_eq!(switch.next_departure(), None);
}

// If this fails, a session that leaves the length to the program samples nothing, or all of a packet.
#[test]
fn a_program_may_say_how_much_is_taken() {
    let mut switch = collecting(session(0, 48));
    assert_eq!(mirrored(&mut switch, 0, 2, 1), [] as [Vec<u8>; 0]);
    // coalesce_length counts words of four bytes.
    let samples = [1, 2].map(|c| sample(2, c, 24)).concat();
    let expected = [&[2, 1, 2, 3][..], &samples].concat();
    assert_eq!(mirrored(&mut switch, 0, 2, 2), [expected]);
}

// If this fails, short packets are missing among the samples, or padded.
#[test]
fn a_packet_that_is_shorter_is_taken_whole() {
    let mut switch = collecting(session(240, 120));
    let expected = [&[1, 1, 2, 3][..], &sample(2, 1, 240)].concat();
    assert_eq!(expected.len(), 4 + 1 + 60 + 4);
    assert_eq!(mirrored(&mut switch, 0, 2, 1), [] as [Vec<u8>; 0]);
    assert_eq!(later(&mut switch, 1000 * MICRO), [expected]);
}

// If this fails, samples of ports in different pipes are mixed: each pipe has a buffer of its own.
#[test]
fn pipes_collect_on_their_own() {
    let mut switch = collecting(session(40, 80));
    assert_eq!(mirrored(&mut switch, 0, 2, 1), [] as [Vec<u8>; 0]);
    assert_eq!(mirrored(&mut switch, 0, 130, 2), [] as [Vec<u8>; 0]);
    for (port, first) in [(2, 1), (130, 2)] {
        let samples = [first, 9].map(|c| sample(port, c, 40)).concat();
        let expected = [&[2, 1, 2, 3][..], &samples].concat();
        assert_eq!(mirrored(&mut switch, 0, port, 9), [expected]);
    }
}

// If this fails, a session that the driver refuses seems to work.
#[test]
fn what_the_chip_cannot_do_is_refused() {
    let good = session(20, 60);
    let own = good.coalescing.expect("one that coalesces");
    let with = |own: Coalescing| MirrorSession {
        coalescing: Some(own),
        ..good
    };
    let refused = |session: MirrorSession, id: u16, word: &str| {
        let error = session.check(id).expect_err(word);
        assert!(error.contains(word), "{error}");
    };
    refused(good, 1015, "1016 to 1023");
    refused(
        MirrorSession {
            direction: Direction::Both,
            ..good
        },
        1016,
        "egress",
    );
    refused(
        MirrorSession {
            direction: Direction::Ingress,
            coalescing: None,
            ..good
        },
        1020,
        "egress",
    );
    refused(
        with(Coalescing {
            header_length: 6,
            ..own
        }),
        1016,
        "not 6",
    );
    refused(
        with(Coalescing {
            header_length: 0,
            ..own
        }),
        1016,
        "not 0",
    );
    refused(
        with(Coalescing {
            header_length: 20,
            ..own
        }),
        1016,
        "not 20",
    );
    refused(
        with(Coalescing {
            extracted: 22,
            ..own
        }),
        1016,
        "not 22",
    );
    refused(
        with(Coalescing {
            extracted: 244,
            ..own
        }),
        1016,
        "not 244",
    );
    refused(
        with(Coalescing {
            timeout: 25_501,
            ..own
        }),
        1016,
        "25501",
    );
    for fine in [
        with(Coalescing {
            header_length: 16,
            extracted: 240,
            timeout: 25_500,
            ..own
        }),
        MirrorSession {
            coalescing: None,
            ..good
        },
    ] {
        assert_eq!(fine.check(1023), Ok(()));
    }
}

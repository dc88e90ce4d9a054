//! Sums of a `Checksum` as part of a path.

use crate::tna::{frame, image, send, Parts, PLAIN};
use p4_arch::tna::Switch;
use std::sync::Arc;

// If this fails, packets on paths leave with wrong checksums, or good ones count as bad. What is expected is
// RFC 1071's arithmetic, in which numbers are the same if their difference is a multiple of 65535.
#[test]
fn sums_on_paths_are_right() {
    let image = image(&Parts {
        parser: "sum.add({ h.h.op, h.h.a, h.h.c }); sum.subtract({ h.h.b });
            m.tag = (bit<8>)(bit<1>)sum.verify(); h.h.c = (bit<32>)sum.get();",
        ingress: "apply { tm.ucast_egress_port = 2; h.h.op = m.tag; }",
        ..PLAIN
    });
    let image = Arc::new(image.expect("a program for TNA"));
    let code = p4_jit::compile(image.prepared()).expect("native code");
    let mut switch = Switch::new(image, Default::default()).expect("a switch");
    switch
        .set_native(Some(Arc::new(code)))
        .expect("its own code");
    switch.set_patience(0);
    for i in 0..64u32 {
        let (op, a, c) = (i as u8, (i * 5) as u8, i.wrapping_mul(0x9e37_79b9));
        let added = u64::from(u16::from_be_bytes([op, a])) + u64::from(c);
        // Every other packet is one whose sum is right.
        let b = match i % 2 {
            0 => (added % 65_535) as u16,
            _ => (i * 40_503) as u16,
        };
        let sent = send(&mut switch, &frame(op, a, b, c));
        let [(2, sent)] = &sent[..] else {
            panic!("one packet at port 2");
        };
        let expected = (added + 65_535 - u64::from(b)) % 65_535;
        assert_eq!(sent[14], u8::from(expected != 0), "packet {i}");
        let sum = u32::from_be_bytes([sent[18], sent[19], sent[20], sent[21]]);
        assert_eq!(u64::from(sum) % 65_535, expected, "packet {i}");
    }
    assert!(switch.passes_on_paths() > 64, "most are on paths");
}

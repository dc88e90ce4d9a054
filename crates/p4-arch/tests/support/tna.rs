//! Programs for the tests of TNA, and how they send packets.

use p4_arch::tna::{Image, Switch, Tna};
use p4_arch::{Port, Time};
use p4_state::{CloneSession, Update};
use std::sync::Arc;

/// A program with one header of 8 bytes, `h`, behind 14 of Ethernet, and a bridged byte `b`.
pub struct Parts<'a> {
    pub ingress: &'a str,
    pub deparser: &'a str,
    pub egress: &'a str,
    pub egress_deparser: &'a str,
    pub parser: &'a str,
}

pub const PLAIN: Parts<'static> = Parts {
    ingress: "apply { tm.ucast_egress_port = 2; }",
    deparser: "apply { p.emit(h); }",
    egress: "apply { }",
    egress_deparser: "apply { p.emit(h); }",
    parser: "",
};

pub fn text(parts: &Parts<'_>) -> String {
    let Parts {
        ingress,
        deparser,
        egress,
        egress_deparser,
        parser,
    } = parts;
    format!(
        "#include <core.p4>
         #include <tna.p4>
         header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
         header h_t {{ bit<8> op; bit<8> a; bit<16> b; bit<32> c; }}
         header data_t {{ bit<64> x; }}
         header tag_t {{ bit<8> x; }}
         struct headers {{ tag_t tag; eth_t eth; h_t h; }}
         struct meta {{ bit<64> again; bit<8> tag; }}
         parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {{
             data_t data;
             Checksum() sum;
             state start {{
                 m.again = 0; m.tag = 0;
                 p.extract(ig);
                 transition select(ig.resubmit_flag) {{ 1: again; default: port; }}
             }}
             state again {{ p.extract(data); m.again = data.x; transition rest; }}
             state port {{ p.advance(PORT_METADATA_SIZE); transition rest; }}
             state rest {{ p.extract(h.eth); p.extract(h.h); {parser} transition accept; }}
         }}
         control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t ig,
                   in ingress_intrinsic_metadata_from_parser_t pr,
                   inout ingress_intrinsic_metadata_for_deparser_t d,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {{ {ingress} }}
         control ID(packet_out p, inout headers h, in meta m,
                    in ingress_intrinsic_metadata_for_deparser_t d) {{ {deparser} }}
         parser EP(packet_in p, out headers h, out meta m, out egress_intrinsic_metadata_t eg) {{
             state start {{
                 m.again = 0; m.tag = 0;
                 p.extract(eg);
                 transition select(p.lookahead<bit<8>>()) {{ 0x77: tagged; default: rest; }}
             }}
             state tagged {{ p.extract(h.tag); transition rest; }}
             state rest {{ p.extract(h.eth); p.extract(h.h); transition accept; }}
         }}
         control E(inout headers h, inout meta m, in egress_intrinsic_metadata_t eg,
                   in egress_intrinsic_metadata_from_parser_t pr,
                   inout egress_intrinsic_metadata_for_deparser_t d,
                   inout egress_intrinsic_metadata_for_output_port_t o) {{ {egress} }}
         control ED(packet_out p, inout headers h, in meta m,
                    in egress_intrinsic_metadata_for_deparser_t d) {{ {egress_deparser} }}
         Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
         Switch(pipe) main;"
    )
}

pub fn image(parts: &Parts<'_>) -> Result<Image, String> {
    image_of(&text(parts))
}

/// The image of a whole program without a warning; the error is what stands against executing it.
pub fn image_of(text: &str) -> Result<Image, String> {
    let parsed = p4_syntax::parse_text("t.p4", text);
    let checked = p4_check::check(&parsed.program);
    let diagnostics = [parsed.diagnostics.clone(), checked.diagnostics.clone()].concat();
    assert_eq!(diagnostics, [], "{text}");
    let program = p4_ir::lower::lower(&checked, &Tna).map_err(|errors| format!("{errors:?}"))?;
    Image::new(Arc::new(program)).map_err(|error| error.to_string())
}

pub fn switch(parts: &Parts<'_>) -> Switch {
    let image = image(parts).expect("a program for TNA");
    Switch::new(Arc::new(image), Default::default()).expect("a switch")
}

/// 60 bytes: Ethernet, then the fields of `h`, then something.
pub fn frame(op: u8, a: u8, b: u16, c: u32) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 9, 0x12, 0x34, op, a];
    frame.extend_from_slice(&b.to_be_bytes());
    frame.extend_from_slice(&c.to_be_bytes());
    frame.extend(0x40..0x40 + 38);
    frame
}

pub fn send_at(switch: &mut Switch, time: u64, port: Port, data: &[u8]) -> Vec<(Port, Vec<u8>)> {
    let mut out = Vec::new();
    let mut sink = |port: Port, data: &[u8]| out.push((port, data.to_vec()));
    switch.process(Time::from_picos(time), port, data, &mut sink);
    out
}

pub fn send(switch: &mut Switch, data: &[u8]) -> Vec<(Port, Vec<u8>)> {
    send_at(switch, 0, 1, data)
}

pub fn session(session: u32, port: Port, truncate: Option<u32>) -> Update {
    let port = Some(port);
    let to = CloneSession {
        group: None,
        port,
        truncate,
    };
    let to = Some(to);
    Update::SetSession { session, to }
}

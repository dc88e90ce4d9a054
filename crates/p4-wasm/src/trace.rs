//! What packets met in a switch, in JSON, with the names that the Python side has for it.

use crate::compile::place;
use p4_arch::{Fate, Kind, PacketTrace, Trace};
use p4_ir::ir::Program;
use p4_ir::trace::Step;
use p4_ir::trace_text::describe;
use p4_syntax::SourceMap;
use serde_json::{json, Value};

/// The packet that arrived, and all that was made of it.
pub fn packets(program: &Program, sources: &SourceMap, trace: &Trace) -> Value {
    let one = |packet| packet_of(program, sources, packet);
    trace.packets.iter().map(one).collect::<Vec<_>>().into()
}

fn packet_of(program: &Program, sources: &SourceMap, packet: &PacketTrace) -> Value {
    let step = |step| step_of(program, sources, step);
    json!({
        "id": packet.id,
        "parent": packet.parent,
        "kind": kind(packet.kind),
        "pass": packet.pass,
        "ingress_port": packet.ingress_port,
        "steps": packet.steps.iter().map(step).collect::<Vec<_>>(),
        "omitted": packet.omitted,
        "fate": packet.fate.as_ref().map(|fate| fate_of(sources, fate)),
    })
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Original => "original",
        Kind::IngressClone => "ingress clone",
        Kind::EgressClone => "egress clone",
        Kind::Replica => "replica",
        Kind::Resubmitted => "resubmitted",
        Kind::Recirculated => "recirculated",
    }
}

fn step_of(program: &Program, sources: &SourceMap, step: &Step) -> Value {
    let mut found = place(step.span(program), sources);
    found.insert("text".into(), describe(program, step).into());
    found.into()
}

fn fate_of(sources: &SourceMap, fate: &Fate) -> Value {
    match fate {
        Fate::Sent { port, data } => json!({ "kind": "sent", "port": port, "data": hex(data) }),
        Fate::Dropped { reason, span } => {
            let mut found = place(*span, sources);
            found.insert("kind".into(), "dropped".into());
            found.insert("reason".into(), reason.to_string().into());
            found.into()
        }
        Fate::Replicated { group, ids } => {
            json!({ "kind": "replicated", "group": group, "ids": ids })
        }
        Fate::Again { id } => json!({ "kind": "again", "id": id }),
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The interpreter is what native code is judged by: random programs and random packets give the
//! same packets, counts, registers and digests on both.
//!
//! If this fails, a program behaves one way in a lab's check and another way in its experiments.

use crate::random::{self, Random};
use p4_arch::v1model::{Config, Image, Switch, V1Model};
use p4_arch::{Port, Time};
use p4_state::{CloneSession, Update};
use p4_syntax::{MemoryFiles, Options, Severity};
use std::sync::Arc;

const PROGRAMS: u64 = 80;
const PACKETS: u64 = 60;

fn image(source: &str) -> Arc<Image> {
    let mut files = MemoryFiles::default();
    files.0.insert("random.p4".into(), source.into());
    let parsed = p4_syntax::parse("random.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut all = parsed.diagnostics;
    all.extend(checked.diagnostics.clone());
    all.retain(|d| d.severity == Severity::Error);
    let lowered = match all.is_empty() {
        true => p4_ir::lower::lower(&checked, &V1Model),
        false => Err(all),
    };
    let program = lowered.unwrap_or_else(|all| {
        panic!(
            "{}\n{source}",
            p4_syntax::render(&all, &parsed.sources, false)
        );
    });
    Arc::new(Image::new(Arc::new(program)).expect("it can be executed"))
}

fn switch(image: &Arc<Image>, native: bool) -> Switch {
    let mut switch = Switch::new(Arc::clone(image), Config::default()).expect("a switch");
    let to = Some(CloneSession {
        port: Some(7),
        ..CloneSession::default()
    });
    switch
        .write(&[Update::SetSession { session: 5, to }])
        .expect("a session");
    if native {
        let code = p4_jit::compile(image.prepared()).expect("native code");
        switch
            .set_native(Some(Arc::new(code)))
            .expect("its own code");
        switch.set_patience(1);
    }
    switch
}

fn send(switch: &mut Switch, time: u64, port: Port, data: &[u8]) -> Vec<(Port, Vec<u8>)> {
    let mut sent = Vec::new();
    let mut sink = |port: Port, data: &[u8]| sent.push((port, data.to_vec()));
    switch.process(Time::from_micros(time), port, data, &mut sink);
    sent
}

/// A packet that is often long enough, and whose first bytes often lead somewhere.
fn packet(random: &mut Random) -> Vec<u8> {
    let length = match random.below(4) {
        0 => random.below(20),
        _ => random.below(160),
    };
    let mut data: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
    for (i, byte) in data.iter_mut().take(4).enumerate() {
        if !random.one_in(4) {
            *byte = random.below([62, 20, 97, 3][i]) as u8;
        }
    }
    data
}

/// All that a control plane can see.
fn visible(switch: &mut Switch) -> Vec<String> {
    let digests = format!("{:?}", switch.take_digests());
    let state = switch.state();
    let cells = (0..16).map(|i| format!("{:?}", state.read_register("cells", i)));
    let wide = (0..4).map(|i| format!("{:?}", state.read_register("wide_cells", i)));
    let counts = (0..8).map(|i| format!("{:?}", state.counter("counts", i)));
    let entries = format!("{:?}", state.entries("tab0"));
    let stats = format!("{:?}", switch.stats());
    let all = cells.chain(wide).chain(counts);
    all.chain([entries, digests, stats]).collect()
}

/// Gives how many packets took a path known from others.
fn check(seed: u64, usual: bool) -> u64 {
    let source = random::program(seed, usual);
    let image = image(&source);
    let (mut reference, mut native) = (switch(&image, false), switch(&image, true));
    let mut random = Random(!seed);
    let mut last = (Vec::new(), 0);
    for number in 0..PACKETS {
        // Packets that go where others went take another way through native code.
        if random.one_in(3) {
            last = (packet(&mut random), random.below(5) as Port);
        } else if let Some(byte) = last.0.last_mut().filter(|_| random.one_in(2)) {
            *byte = random.next() as u8;
        }
        let (data, port) = last.clone();
        let expected = send(&mut reference, number, port, &data);
        let found = send(&mut native, number, port, &data);
        assert_eq!(
            expected, found,
            "seed {seed}, packet {number} {data:02x?}\n{source}"
        );
    }
    assert_eq!(
        visible(&mut reference),
        visible(&mut native),
        "seed {seed}\n{source}"
    );
    native.packets_on_paths()
}

/// Checks the programs of all seeds, or of the one that is asked for; packets on paths.
fn check_all(usual: bool) -> u64 {
    let first = std::env::var("P4LAB_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let all = if usual { PROGRAMS / 2 } else { PROGRAMS };
    let seeds = first.map_or(0..all, |seed| seed..seed + 1);
    println!("seeds {seeds:?}; P4LAB_SEED runs another one alone");
    let on_paths = seeds.map(|seed| check(seed, usual)).sum();
    println!("{on_paths} packets on paths");
    on_paths
}

#[test]
fn interpreter_and_native_code_agree() {
    check_all(false);
}

#[test]
fn interpreter_and_native_code_agree_on_usual_programs() {
    let on_paths = check_all(true);
    assert!(on_paths > 0);
}

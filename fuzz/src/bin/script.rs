//! Any text as an STF script, run in both modes on a program of the corpus, which the first line
//! chooses by the end of its name (`# arith-bmv2.p4`); else it is the first one.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use p4_arch::v1model::Config;
use p4_arch::Switch;
use p4_stf::{Mode, OnSwitch};
use p4lab_fuzz::{mutate, programs, Named};
use std::sync::OnceLock;

static PROGRAMS: OnceLock<Vec<Named>> = OnceLock::new();

// Compiled before the first input, which would look slow otherwise.
fuzz_target!(init: { PROGRAMS.get_or_init(programs); }, |data: &[u8]| {
    let programs = PROGRAMS.get_or_init(programs);
    let text = String::from_utf8_lossy(data);
    let wanted = text.lines().next().and_then(|line| line.strip_prefix("# "));
    let named = wanted.and_then(|end| programs.iter().find(|named| named.name.ends_with(end)));
    let named = named.unwrap_or(&programs[0]);
    let script = p4_stf::parse("fuzz.stf", &text);
    let mut reports = Vec::new();
    for mode in [Mode::Strict, Mode::Lax, Mode::Strict] {
        let config = Config {
            max_passes: 64,
            max_packets: 256,
            ..Config::default()
        };
        let mut switch = Switch::new(&named.image, config).expect("a program that is ready");
        let report = p4_stf::run(&script, &mut OnSwitch::new(&mut switch), mode);
        assert!(!report.render().is_empty());
        reports.push(report);
    }
    // Same seed, same run.
    assert_eq!(reports[0], reports[2]);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 4 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let bytes = mutate(&data[..size], max_size, seed);
    let size = bytes.len().min(data.len());
    data[..size].copy_from_slice(&bytes[..size]);
    size
});

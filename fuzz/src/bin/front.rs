//! Any text through parser, checker and lowering, and what is to say about it as text.
#![no_main]

use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target, fuzzer_mutate};
use p4_syntax::Options;
use p4lab_fuzz::{alone, compile, cross, mutate};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let compiled = compile("fuzz.p4", &alone(&text), &Options::default());
    // Errors are told, and what is not an error makes a program.
    assert!(compiled.errors.is_empty() || !compiled.rendered.is_empty());
    assert!(compiled.errors.is_empty() || compiled.image.is_none());
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 8 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    put(data, &mutate(&data[..size], max_size, seed))
});

fuzz_crossover!(|data1: &[u8], data2: &[u8], out: &mut [u8], seed: u32| {
    let crossed = cross(data1, data2, out.len(), seed);
    put(out, &crossed)
});

fn put(out: &mut [u8], bytes: &[u8]) -> usize {
    let size = bytes.len().min(out.len());
    out[..size].copy_from_slice(&bytes[..size]);
    size
}

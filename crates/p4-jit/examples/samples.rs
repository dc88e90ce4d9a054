//! Native code against the interpreter on folders of v1model programs, such as p4c's samples:
//! `cargo run --release -p p4-jit --example samples -- FOLDER...`. Each program gets the same
//! random packets on both; says which programs differ, and what kept others from being compared.

#[path = "../../p4-arch/tests/support/subject.rs"]
#[allow(dead_code)] // what tests and benches need
mod subject;

use p4_arch::v1model::{Config, Image, Switch, V1Model};
use p4_arch::{Port, Time};
use p4_syntax::{Options, Severity};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use subject::Disk;

const PACKETS: u64 = 400;

/// How a program fared, in the words of the summary.
fn compare(path: &Path) -> Result<&'static str, String> {
    let parsed = p4_syntax::parse(&path.to_string_lossy(), &Disk, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut all = parsed.diagnostics.iter().chain(&checked.diagnostics);
    if all.any(|d| d.severity == Severity::Error) {
        return Ok("does not compile");
    }
    let Ok(program) = p4_ir::lower::lower(&checked, &V1Model) else {
        return Ok("does not compile");
    };
    let Ok(image) = Image::new(Arc::new(program)) else {
        return Ok("is not a v1model program");
    };
    let code = match p4_jit::compile(image.prepared()) {
        Ok(code) => Arc::new(code),
        Err(error) => return Err(format!("no native code: {error}")),
    };
    let image = Arc::new(image);
    let switch = || Switch::new(Arc::clone(&image), Config::default());
    let (Ok(mut reference), Ok(mut native)) = (switch(), switch()) else {
        return Ok("is not a v1model program");
    };
    native.set_native(Some(code)).map_err(|e| e.to_string())?;
    let mut state = 1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for number in 0..PACKETS {
        let length = next() as usize % 130;
        // Bytes that programs select on are mostly small.
        let data: Vec<u8> = (0..length)
            .map(|_| (next() as u8) & [0xff, 0x0f, 0x01, 0x88][next() as usize % 4])
            .collect();
        let expected = send(&mut reference, number, &data);
        let found = send(&mut native, number, &data);
        if expected != found {
            return Err(format!(
                "packet {data:02x?}\n  {expected:02x?}\n  {found:02x?}"
            ));
        }
        if reference.take_digests() != native.take_digests() {
            return Err(format!("digests of packet {data:02x?}"));
        }
    }
    match reference.stats() == native.stats() {
        true => Ok("is the same"),
        false => Err(format!("{:?}\n  {:?}", reference.stats(), native.stats())),
    }
}

fn send(switch: &mut Switch, number: u64, data: &[u8]) -> Vec<(Port, Vec<u8>)> {
    let mut sent = Vec::new();
    let mut sink = |port: Port, data: &[u8]| sent.push((port, data.to_vec()));
    let port = (number % 8) as Port;
    switch.process(Time::from_micros(number), port, data, &mut sink);
    sent
}

fn main() {
    let mut summary: BTreeMap<&str, usize> = BTreeMap::new();
    let mut differ = 0;
    for folder in std::env::args().skip(1) {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "p4"));
        paths.sort();
        for path in paths {
            match compare(&path) {
                Ok(what) => *summary.entry(what).or_default() += 1,
                Err(what) => {
                    differ += 1;
                    println!("{}: {what}", path.display());
                }
            }
        }
    }
    for (what, count) in &summary {
        println!("{count:6} programs: {what}");
    }
    println!("{differ:6} programs differ");
}

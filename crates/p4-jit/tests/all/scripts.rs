//! Scripts on both engines: everything that a script sees is the same. The programs are the lab's own
//! and those of the probes of real switches, `tests/recorded`.
//!
//! If this fails, a program that passes its checks does something else in an experiment, which runs
//! native code.

use p4_arch::v1model::Config;
use p4_arch::{AnyArchitecture, Image, Switch};
use p4_stf::{parse, run, Mode, OnSwitch, Report};
use p4_syntax::{FileProvider, Options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let found = Path::new(path).is_file();
        found.then(|| std::fs::read_to_string(path).map_err(|error| error.to_string()))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compile(path: &Path, defines: &[(String, String)], as_bmv2: bool) -> Image {
    let options = Options {
        defines: defines.to_vec(),
        ..Options::default()
    };
    let parsed = p4_syntax::parse(&path.to_string_lossy(), &Disk, &options);
    let checked = p4_check::check(&parsed.program);
    let program = p4_ir::lower::lower(&checked, &AnyArchitecture { as_bmv2 });
    let program = program.unwrap_or_else(|errors| {
        panic!("{}", p4_syntax::render(&errors, &parsed.sources, false));
    });
    Image::new(Arc::new(program)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn report(image: &Image, script: &Path, config: Config, is_native: bool) -> Report {
    let text = std::fs::read_to_string(script).expect("the script was listed");
    let mut switch = Switch::new(image, config).expect("a switch");
    if let Switch::Tna(switch) = &mut switch {
        switch.set_cpu_port(Some(64), false);
    }
    if is_native {
        let code = p4_jit::compile(switch.prepared()).expect("native code");
        let set = switch.set_native(Some(Arc::new(code)));
        set.expect("its own code");
        switch.set_patience(0);
    }
    let script = parse(&script.to_string_lossy(), &text);
    run(&script, &mut OnSwitch::new(&mut switch), Mode::Strict)
}

/// Runs the script on both; how many packets it sent.
fn compare(image: &Image, script: &Path, config: Config) -> usize {
    let [expected, found] = [false, true].map(|is_native| report(image, script, config, is_native));
    assert_eq!(expected, found, "{}", script.display());
    found.packets_sent
}

/// Files with this ending, in order.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(end));
    paths.sort();
    paths
}

/// The scripts of a folder on a program, each with the macros of its first line.
fn scripts(program: &Path, folder: &Path) {
    let mut sent = 0;
    let mut images: BTreeMap<Vec<(String, String)>, Image> = BTreeMap::new();
    for script in files(folder, ".stf") {
        let text = std::fs::read_to_string(&script).expect("the script was listed");
        let defines = p4_stf::defines(&text);
        let image = images
            .entry(defines.clone())
            .or_insert_with(|| compile(program, &defines, false));
        sent += compare(image, &script, Config::default());
    }
    assert!(sent > 0, "{} sends no packets", folder.display());
}

/// Every system of p4/ that has scripts, on every architecture it is for.
#[test]
fn the_systems_of_this_lab() {
    let mut found = Vec::new();
    let systems = std::fs::read_dir(root().join("p4")).expect("the systems");
    for system in systems.flatten().map(|entry| entry.path()) {
        for (program, tests) in [("v1model.p4", "tests"), ("tna.p4", "tests-tna")] {
            let (program, tests) = (system.join(program), system.join(tests));
            if tests.is_dir() {
                scripts(&program, &tests);
                found.push(tests);
            }
        }
    }
    assert!(found.len() >= 3, "only {found:?}");
}

/// The probes of real switches that were sent packets: the folder, and what was recorded, by a
/// script or line by line. Those that were only compiled are listed in p4-stf's `tests/all/tofino.rs`.
fn probes(architecture: &str) -> Vec<(PathBuf, PathBuf)> {
    let folder = root().join("tests/recorded").join(architecture);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("what real switches did, {}: {error}", folder.display()));
    let mut probes: Vec<(PathBuf, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), record(&entry.path())?)))
        .collect();
    probes.sort();
    assert!(!probes.is_empty(), "no recording in {}", folder.display());
    probes
}

fn record(probe: &Path) -> Option<PathBuf> {
    let names = ["session.txt", "test.stf"];
    let mut paths = names.iter().map(|name| probe.join(name));
    paths.find(|path| path.is_file())
}

#[test]
fn probes_of_simple_switch() {
    for (probe, record) in probes("v1model") {
        for bmv2_compat in [false, true] {
            let image = compile(&probe.join("prog.p4"), &[], bmv2_compat);
            let config = Config {
                bmv2_compat,
                ..Config::default()
            };
            compare(&image, &record, config);
        }
    }
}

#[test]
fn probes_of_tofino() {
    for (probe, record) in probes("tna") {
        let image = compile(&probe.join("prog.p4"), &[], false);
        compare(&image, &record, Config::default());
    }
}

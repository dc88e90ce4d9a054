//! Whole programs: the lab's own, beside which their scripts lie, and the probes of what real
//! switches did.

use p4_arch::v1model::{AsBmv2, Config, Image, Switch, V1Model as Binding};
use p4_stf::{parse, run, Mode, OnSwitch, Report};
use p4_syntax::{FileProvider, Options, Severity};
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

fn compile(
    path: &Path,
    defines: &[(&str, &str)],
    binding: &dyn p4_ir::lower::Binding,
) -> Result<Arc<Image>, String> {
    let defines = defines
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect();
    let options = Options {
        defines,
        ..Options::default()
    };
    let parsed = p4_syntax::parse(&path.to_string_lossy(), &Disk, &options);
    let checked = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(checked.diagnostics.clone());
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    if !diagnostics.is_empty() {
        return Err(p4_syntax::render(&diagnostics, &parsed.sources, false));
    }
    let program = p4_ir::lower::lower(&checked, binding)
        .map_err(|errors| p4_syntax::render(&errors, &parsed.sources, false))?;
    Image::new(Arc::new(program))
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

fn run_script(image: &Arc<Image>, script: &Path, config: Config) -> Report {
    let text = std::fs::read_to_string(script).expect("the script was listed");
    let switch = Switch::new(Arc::clone(image), config).expect("a switch");
    run(
        &parse(&script.to_string_lossy(), &text),
        &mut OnSwitch::new(&mut switch.into()),
        Mode::Strict,
    )
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder").flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "stf"));
    paths.sort();
    paths
}

/// p4/bier does what its scripts say, for every length of the BitString.
#[test]
fn bier() {
    let folder = root().join("p4/bier");
    let mut failures = Vec::new();
    let all = scripts(&folder.join("tests"));
    assert!(all.len() >= 20, "only {} scripts", all.len());
    for script in &all {
        let text = std::fs::read_to_string(script).expect("the script was listed");
        let defines = p4_stf::defines(&text);
        let defines: Vec<(&str, &str)> = defines.iter().map(|(n, v)| (&**n, &**v)).collect();
        let image =
            compile(&folder.join("v1model.p4"), &defines, &Binding).expect("p4/bier compiles");
        let report = run_script(&image, script, Config::default());
        if !report.passed {
            failures.push(report.render());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What simple_switch did with a probe, recorded by p4c's runner or line by line.
fn record(probe: &Path) -> Option<PathBuf> {
    let names = ["session.txt", "test.stf"];
    names
        .iter()
        .map(|name| probe.join(name))
        .find(|path| path.is_file())
}

/// If this fails, `--bmv2-compat` is not what it says: a lab made for the real simple_switch does
/// something else here. The probes were recorded on it.
#[test]
fn what_simple_switch_did() {
    let folder = root().join("tests/recorded/v1model");
    let probes = std::fs::read_dir(&folder)
        .expect("what simple_switch did is recorded in tests/recorded/v1model");
    let mut probes: Vec<_> = probes.flatten().map(|entry| entry.path()).collect();
    probes.retain(|path| path.is_dir());
    probes.sort();
    assert!(!probes.is_empty(), "no probe in {}", folder.display());
    let mut failures = Vec::new();
    for probe in &probes {
        let config = Config {
            bmv2_compat: true,
            ..Config::default()
        };
        let Some(record) = record(probe) else {
            failures.push(format!("{}: nothing recorded", probe.display()));
            continue;
        };
        let result = compile(&probe.join("prog.p4"), &[], &AsBmv2)
            .map(|image| run_script(&image, &record, config));
        match result {
            Ok(report) if report.passed => {}
            Ok(report) => failures.push(report.render()),
            Err(error) => failures.push(format!("{}: {error}", probe.display())),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        probes.len(),
        failures.join("\n")
    );
}

/// If this fails, what simple_switch does between the blocks, with parsers, hashes, checksums and
/// tables is no longer what `--bmv2-compat` gives. These programs ask what the pages of
/// `tests/recorded` only tell in words; the expected packets passed on simple_switch 1.15.5.
#[test]
fn what_is_known_of_simple_switch() {
    let folder = root().join("crates/p4-stf/tests/probes");
    let scripts = scripts(&folder);
    assert!(scripts.len() >= 4, "only {} probes", scripts.len());
    let mut failures = Vec::new();
    for script in &scripts {
        let program = script.with_extension("p4");
        let image = compile(&program, &[], &AsBmv2).expect("the probe compiles");
        let config = Config {
            bmv2_compat: true,
            ..Config::default()
        };
        let report = run_script(&image, script, config);
        if !report.passed {
            failures.push(report.render());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

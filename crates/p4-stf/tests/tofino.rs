//! TNA programs against what the real Tofino compiler and model did with them: `../shared/observed`,
//! where it is there.

use p4_arch::v1model::Config;
use p4_arch::{AnyArchitecture, Image, Switch};
use p4_check::lint::Target;
use p4_stf::{parse, run, Mode, OnSwitch, Report};
use p4_syntax::{MemoryFiles, Options};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const SUBSTITUTED: &str = "the compiler reads the old value inside one action; the lint says so";
const XOR: &str = "this compiler misplaces a byte of XOR16 and XOR32: README, hash_xor";
const RANGE: &str = "the harness installs range entries wrongly: README, match_range";
const POINTER: &str = "the compiler splits the state, and the payload begins in the middle of it";

/// Lines of probes that are about something else than what a packet should become, and why. No lines:
/// all of them.
const ELSEWHERE: &[(&str, &[u32], &str)] = &[
    ("action_parallel", &[17, 21], SUBSTITUTED),
    ("action_seq2", &[5, 17, 29], SUBSTITUTED),
    ("hash_basic", &[33, 37, 69, 73], XOR),
    ("match_range", &[], RANGE),
    ("parser_err", &[9], POINTER),
];

/// Codes of lints that a probe's program must be given.
const LINTED: &[(&str, &[&str])] = &[("action_parallel", &["W0710"]), ("action_seq2", &["W0710"])];

struct Built {
    image: Image,
    lints: Vec<&'static str>,
}

fn build(name: &str, text: &str) -> Built {
    let files = MemoryFiles([("prog.p4".to_string(), text.to_string())].into());
    let parsed = p4_syntax::parse("prog.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.extend(checked.diagnostics.iter().cloned());
    let shown = p4_syntax::render(&diagnostics, &parsed.sources, false);
    assert!(diagnostics.is_empty(), "{name}: {shown}");
    let lints = p4_check::lint::lint(&checked, &[Target::Tofino]);
    let program = p4_ir::lower::lower(&checked, &AnyArchitecture::default());
    let program = program.unwrap_or_else(|errors| {
        panic!(
            "{name}: {}",
            p4_syntax::render(&errors, &parsed.sources, false)
        )
    });
    Built {
        image: Image::new(Arc::new(program)).unwrap_or_else(|e| panic!("{name}: {e}")),
        lints: lints.iter().map(|lint| lint.code).collect(),
    }
}

fn report(image: &Image, script: &str) -> Report {
    let mut switch = Switch::new(image, Config::default()).expect("a switch");
    let mut target = OnSwitch::new(&mut switch);
    run(&parse("test.stf", script), &mut target, Mode::Strict)
}

/// Folders with a program; `None` if the observations are not beside the repository.
fn probes() -> Option<BTreeMap<String, PathBuf>> {
    let observed = "../../../shared/observed/tna";
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(observed);
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let probes = entries.filter(|entry| entry.path().join("prog.p4").is_file());
    let named = probes.map(|entry| (entry.file_name().to_string_lossy().into(), entry.path()));
    Some(named.collect())
}

// If this fails, a program does here what it does not on the chip.
#[test]
fn packets_are_those_of_the_real_model() {
    let Some(probes) = probes() else {
        println!("skipped: 1 test, ../shared/observed is not beside the repository");
        return;
    };
    let (mut held, mut elsewhere, mut wrong) = (0, 0, Vec::new());
    for (name, path) in &probes {
        let text = std::fs::read_to_string(path.join("prog.p4")).expect("the program");
        let built = build(name, &text);
        let exception = ELSEWHERE.iter().find(|(probe, ..)| probe == name);
        let lines = exception.map_or(&[][..], |(_, lines, _)| lines);
        let Ok(script) = std::fs::read_to_string(path.join("test.stf")) else {
            continue;
        };
        if exception.is_some() && lines.is_empty() {
            continue;
        }
        let report = report(&built.image, &script);
        let differs = |line: &u32| report.failures().any(|finding| finding.place.line == *line);
        let unknown = report.failures().filter(|f| !lines.contains(&f.place.line));
        if unknown.count() > 0 {
            wrong.push(format!("{name}\n{}", report.render()));
        }
        for line in lines.iter().filter(|line| !differs(line)) {
            wrong.push(format!(
                "{name}: line {line} holds and is no exception any more"
            ));
        }
        elsewhere += lines.len();
        held += report.findings.len() - lines.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (name, lines, why) in ELSEWHERE {
        println!("not held: {name}, {} lines: {why}", lines.len());
    }
    println!("{held} expectations hold, {elsewhere} are about something else");
    assert!(held > 200, "only {held} expectations were found");
}

// If this fails, somebody writes a program that the chip's compiler refuses or silently changes, and
// hears of it only there.
#[test]
fn what_the_compiler_refuses_or_changes_is_a_warning() {
    let Some(probes) = probes() else {
        println!("skipped: 1 test, ../shared/observed is not beside the repository");
        return;
    };
    for (name, codes) in LINTED {
        let Some(path) = probes.get(*name) else {
            continue;
        };
        let text = std::fs::read_to_string(path.join("prog.p4")).expect("the program");
        let lints = build(name, &text).lints;
        for code in *codes {
            assert!(
                lints.contains(code),
                "{name}: {code} is not among {lints:?}"
            );
        }
    }
}

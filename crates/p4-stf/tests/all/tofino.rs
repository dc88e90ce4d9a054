//! TNA programs against what the real Tofino compiler and model did with them: `tests/recorded/tna`.

use p4_arch::v1model::Config;
use p4_arch::{AnyArchitecture, Image, Switch};
use p4_check::lint::Target;
use p4_stf::{parse, run, Mode, OnSwitch, Report};
use p4_syntax::{MemoryFiles, Options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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

/// Probes of which nothing but what the compiler said is recorded, and why no packet was sent. The
/// other tests of this file compile them, and `test_fit.py` has the stages of those that fit.
const COMPILED_ONLY: &[(&str, &str)] = &[
    ("bier128_tbl", FITS),
    ("bier256_idx", FITS),
    ("bier64_tbl", FITS),
    ("reg_limits", REFUSED),
    ("seq_window_d", REFUSED),
];

const FITS: &str = "recorded for its stages and cycles";
const REFUSED: &str = "the compiler refuses it";

/// Codes of lints that a probe's program must be given: what the compiler refused of it, or changed.
const LINTED: &[(&str, &[&str])] = &[
    ("action_parallel", &["W0710"]),
    ("action_seq2", &["W0710"]),
    ("hash_basic", &["W0726"]),
    ("reg_limits", &["W0718"]),
    ("seq_window_d", &["W0719", "W0736"]),
];

/// Lints that a program may have which the compiler takes, for what it does with it is not what the
/// language says.
const CHANGED: &[&str] = &["W0710", "W0712", "W0726", "W0736"];

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

/// The folders of the probes by name.
fn probes() -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/recorded/tna"))
        .expect("what the chip's compiler and model did is recorded in tests/recorded/tna");
    let probes = entries.flatten().filter(|entry| entry.path().is_dir());
    let named = probes.map(|entry| (entry.file_name().to_string_lossy().into(), entry.path()));
    let named: BTreeMap<String, PathBuf> = named.collect();
    assert!(!named.is_empty(), "no probe in tests/recorded/tna");
    named
}

fn program(path: &Path) -> String {
    let path = path.join("prog.p4");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

// If this fails, a program does here what it does not on the chip.
#[test]
fn packets_are_those_of_the_real_model() {
    let probes = probes();
    let (mut held, mut elsewhere, mut wrong) = (0, 0, Vec::new());
    for (name, path) in &probes {
        if COMPILED_ONLY.iter().any(|(probe, _)| probe == name) {
            continue;
        }
        let built = build(name, &program(path));
        let exception = ELSEWHERE.iter().find(|(probe, ..)| probe == name);
        let lines = exception.map_or(&[][..], |(_, lines, _)| lines);
        let script = std::fs::read_to_string(path.join("test.stf")).unwrap_or_else(|error| {
            panic!("{name}: test.stf: {error}; COMPILED_ONLY lists probes that have none, and why")
        });
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
                "{name}: line {line} holds and is not an exception any more"
            ));
        }
        elsewhere += lines.len();
        held += report.findings.len() - lines.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (name, why) in COMPILED_ONLY {
        println!("not run: {name}: {why}");
    }
    for (name, lines, why) in ELSEWHERE {
        println!("not held: {name}, {} lines: {why}", lines.len());
    }
    println!("{held} expectations hold, {elsewhere} are about something else");
    assert!(held > 200, "only {held} expectations were found");
}

// If this fails, a recording is excused from being run that is there, or that nobody knows.
#[test]
fn only_probes_without_packets_are_not_run() {
    let probes = probes();
    for (name, why) in COMPILED_ONLY {
        let script = probes.get(*name).map(|path| path.join("test.stf"));
        assert_eq!(
            script.map(|path| path.is_file()),
            Some(false),
            "{name} ({why}): is its folder there, without test.stf?"
        );
    }
    for (name, ..) in ELSEWHERE {
        assert!(
            probes.contains_key(*name),
            "tests/recorded/tna/{name} is missing"
        );
    }
}

// If this fails, somebody writes a program that the chip's compiler refuses or silently changes, and
// hears of it only there.
#[test]
fn what_the_compiler_refuses_or_changes_is_a_warning() {
    let probes = probes();
    for (name, codes) in LINTED {
        let path = probes
            .get(*name)
            .unwrap_or_else(|| panic!("tests/recorded/tna/{name} is missing"));
        let lints = build(name, &program(path)).lints;
        for code in *codes {
            assert!(
                lints.contains(code),
                "{name}: {code} is not among {lints:?}"
            );
        }
    }
}

// If this fails, students are told that the chip takes no program that it does take.
#[test]
fn what_the_compiler_takes_is_no_warning() {
    let probes = probes();
    let mut wrong = Vec::new();
    let refused = |name: &str| COMPILED_ONLY.contains(&(name, REFUSED));
    for (name, path) in probes.iter().filter(|(name, _)| !refused(name)) {
        let lints = build(name, &program(path)).lints;
        let alarms = lints.iter().filter(|code| !CHANGED.contains(code));
        wrong.extend(alarms.map(|code| format!("{name}: {code}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The TNA program of p4/bier for a length of the BitString.
fn bier(bsl: &str) -> Image {
    let mut files = BTreeMap::new();
    for path in ["p4/bier/tna.p4", "p4/bier/bier.p4", "p4/include/headers.p4"] {
        let text = std::fs::read_to_string(root().join(path)).expect("p4/bier");
        files.insert(path.to_string(), text);
    }
    let options = Options {
        defines: vec![("BSL".to_string(), bsl.to_string())],
        ..Options::default()
    };
    let parsed = p4_syntax::parse("p4/bier/tna.p4", &MemoryFiles(files), &options);
    let checked = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.extend(checked.diagnostics.iter().cloned());
    diagnostics.extend(p4_check::lint::lint(&checked, &[Target::Tofino]));
    let shown = p4_syntax::render(&diagnostics, &parsed.sources, false);
    assert!(diagnostics.is_empty(), "{shown}");
    let program = p4_ir::lower::lower(&checked, &AnyArchitecture::default());
    let program = program
        .unwrap_or_else(|errors| panic!("{}", p4_syntax::render(&errors, &parsed.sources, false)));
    Image::new(Arc::new(program)).expect("it can be executed")
}

/// A script for v1model as one for TNA: the ports to the CPU and round have other numbers, two
/// recirculation ports share the work, and every BIFT entry gets a number, by which egress finds its
/// F-BM.
fn for_tna(script: &str) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(script.lines()) {
        // What comes round is counted by looped ports there, in scripts of tests-tna.
        if line.starts_with("check_counter sent(509)") {
            continue;
        }
        let line = line.replace(" 510 ", " 64 ").replace("port:510", "port:64");
        if line.starts_with("mirroring_add 1 509") {
            out += "mirroring_add 11 68\nmirroring_add 12 197\n\
                    setdefault loop_count use_loops(last:1)\n\
                    add loop_sessions loop:0 mirror_to(session:11)\n\
                    add loop_sessions loop:1 mirror_to(session:12)\n\
                    add loop_ports loop:0 loop_to(port:68)\n\
                    add loop_ports loop:1 loop_to(port:197)\n";
            continue;
        }
        let action = line
            .starts_with("add bift ")
            .then(|| line.split_once("(fbm:"))
            .flatten();
        let Some((before, fbm)) = action else {
            out += &format!("{line}\n");
            continue;
        };
        let bits = fbm.split([',', ')']).next().unwrap_or_default();
        out += &format!("{before}(entry:{number}, fbm:{fbm}\n");
        out += &format!("add served entry:{number} take_out(fbm:{bits})\n");
    }
    out
}

fn tna_report(image: &Image, name: &str, script: &str) -> Report {
    let mut switch = Switch::new(image, Config::default()).expect("a switch");
    if let Switch::Tna(switch) = &mut switch {
        switch.set_cpu_port(Some(64), false);
    }
    let mut target = OnSwitch::new(&mut switch);
    run(&parse(name, script), &mut target, Mode::Strict)
}

/// Scripts that need what the chip does not have: how many expectations, and what that is.
const NOT_ON_THE_CHIP: &[(&str, usize, &str)] = &[
    ("decap.stf", 1, "its checksum units take no IPv4 options"),
    ("encap.stf", 2, "its checksum units take no IPv4 options"),
    (
        "packet_out.stf",
        1,
        "a frame of one byte: the parser sees the checksum behind it",
    ),
];

// If this fails, a network of Tofino switches delivers other copies than one of v1model switches. The
// expected packets are the same, and were computed by hand from RFC 8279 and RFC 8296.
#[test]
fn bier_for_tna_does_what_bier_for_v1model_does() {
    let mut failures = Vec::new();
    let mut passed = 0;
    for bsl in ["64", "128", "256"] {
        let image = bier(bsl);
        let wanted = vec![("BSL".to_string(), bsl.to_string())];
        for folder in ["p4/bier/tests", "p4/bier/tests-tna"] {
            let entries = std::fs::read_dir(root().join(folder)).expect("the scripts");
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                let name = path.to_string_lossy().to_string();
                let mut known = NOT_ON_THE_CHIP.iter();
                let elsewhere = known.find(|(own, ..)| name.contains(&format!("/{own}")));
                let elsewhere = elsewhere.map_or(0, |(_, number, _)| *number);
                let text = std::fs::read_to_string(&path).expect("the script");
                if p4_stf::defines(&text) != wanted {
                    continue;
                }
                let report = tna_report(&image, &name, &for_tna(&text));
                match report.failures().count() == elsewhere {
                    true => passed += 1,
                    false => failures.push(report.render()),
                }
            }
        }
    }
    for (script, number, why) in NOT_ON_THE_CHIP {
        println!("not on the chip: {script}, {number} expectations: {why}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(passed >= 20, "only {passed} scripts were run");
}

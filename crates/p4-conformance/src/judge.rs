//! Judges every program and holds the results against the manifest.

use crate::compile::{compile, failed, Compiled, Mistake};
use crate::golden::{self, GoldenError};
use crate::manifest::{Line, Manifest};
use crate::pattern;
use crate::pool;
use crate::textproto;
use crate::tree::{Checkout, Program, Set};
use crate::verdict::{Board, Case, Excluded, Failure, Result, Stage};
use p4_arch::v1model::{Config, Image, Switch};
use p4_stf::Mode;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How far a run has come, in programs.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Scoreboard {
    /// In the order of boards, then files
    pub tallies: BTreeMap<Board, Tally>,
    pub excluded: Vec<Excluded>,
    /// Failures that the manifest does not foresee, or foresees differently
    pub unexpected_failures: Vec<(Case, Option<Line>)>,
    pub expected_failures: Vec<(Case, Line)>,
    /// Lines of the manifest whose case passes
    pub unexpected_passes: Vec<Line>,
    /// Lines of the manifest whose file is not in the checkout or not on that board
    pub stale: Vec<Line>,
    /// Sentences about boards that do not have the size that the manifest says
    pub sizes: Vec<String>,
    /// Whether those sizes are wrong for the very checkout that the manifest was made for
    pub sizes_are_wrong: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub total: usize,
    pub passed: usize,
    pub expected: usize,
}

impl Scoreboard {
    /// Whether everything passes or fails as the manifest says.
    pub fn ok(&self) -> bool {
        self.unexpected_failures.is_empty()
            && self.unexpected_passes.is_empty()
            && self.stale.is_empty()
            && !self.sizes_are_wrong
    }
}

/// Judges the programs of `checkout` of which a case fits `only`. `each` hears of every program done
/// and may stop the run by saying false, which gives `None`. The error is one sentence.
pub fn run(
    checkout: &Checkout,
    manifest: &Manifest,
    only: Option<&str>,
    mut each: impl FnMut(Progress) -> bool,
) -> std::result::Result<Option<Scoreboard>, String> {
    let programs = checkout.programs()?;
    let chosen: Vec<Program> = match only {
        None => programs,
        Some(only) => programs
            .into_iter()
            .filter(|program| may_fit(only, program))
            .collect(),
    };
    let mut progress = Progress {
        done: 0,
        total: chosen.len(),
    };
    let quiet = QuietPanics::new();
    let outcomes = pool::map(
        &chosen,
        |program| outcome(checkout, program),
        |_| {
            progress.done += 1;
            each(progress)
        },
    );
    drop(quiet);
    let Some(outcomes) = outcomes else {
        return Ok(None);
    };
    let mut cases = Vec::new();
    let mut excluded = Vec::new();
    for outcome in outcomes {
        cases.extend(outcome.cases);
        excluded.extend(outcome.excluded);
    }
    if let Some(only) = only {
        cases.retain(|case| pattern::matches(only, &case.id()));
    }
    cases.sort_by(|a, b| (a.board, &a.file).cmp(&(b.board, &b.file)));
    Ok(Some(hold_against(
        checkout, manifest, only, cases, excluded,
    )))
}

/// Whether some board's name for this program may fit the pattern.
fn may_fit(only: &str, program: &Program) -> bool {
    let file = program.file();
    Board::ALL
        .into_iter()
        .any(|board| pattern::matches(only, &crate::verdict::id(board, &file)))
}

/// While it lives, panics are not printed: they are results here.
struct QuietPanics(Option<Hook>);
type Hook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync + 'static>;

impl QuietPanics {
    fn new() -> QuietPanics {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        QuietPanics(Some(hook))
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        if let Some(hook) = self.0.take() {
            std::panic::set_hook(hook);
        }
    }
}

#[derive(Default)]
struct Outcome {
    cases: Vec<Case>,
    excluded: Vec<Excluded>,
}

impl Outcome {
    fn case(&mut self, board: Board, program: &Program, result: Result) {
        self.cases.push(Case {
            board,
            file: program.file(),
            result,
        });
    }

    fn excluded(&mut self, file: String, reason: impl Into<String>) {
        self.excluded.push(Excluded {
            file,
            reason: reason.into(),
        });
    }
}

fn outcome(checkout: &Checkout, program: &Program) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(reason) = no_program(program) {
        outcome.excluded(program.file(), reason);
        return outcome;
    }
    match program.set {
        Set::Samples => sample(checkout, program, &mut outcome),
        Set::Errors => error(checkout, program, &mut outcome),
        Set::P4_14 => p4_14(checkout, program, &mut outcome),
    }
    outcome
}

/// Why a file is not a program of its own: p4c's tests take only `fabric.p4` of these folders.
fn no_program(program: &Program) -> Option<&'static str> {
    let part = program.name.starts_with("fabric_") && !program.name.ends_with("/fabric.p4");
    part.then_some("part of fabric.p4")
}

fn compiled(checkout: &Checkout, file: &str) -> std::result::Result<Compiled, Failure> {
    let include = checkout.root.join("p4include");
    pool::catch(|| compile(&checkout.path(file), &include))
        .map_err(|message| Failure::new(Stage::Panic, "-", message))
}

fn sample(checkout: &Checkout, program: &Program, outcome: &mut Outcome) {
    let script = program.beside(".stf");
    let script = checkout.path(&script).is_file().then_some(script);
    let compiled = compiled(checkout, &program.file());
    let (architecture, result) = match &compiled {
        Err(failure) => (None, Err(failure.clone())),
        Ok(compiled) => (compiled.architecture, compiled.failed().map_or(Ok(()), Err)),
    };
    let board = match architecture {
        Some("v1model") => Board::AcceptedV1model,
        Some(_) => Board::AcceptedOther,
        None => Board::AcceptedCore,
    };
    outcome.case(board, program, result.clone());
    let golden = program.golden(".p4.p4info.txtpb");
    match (architecture, checkout.read(&golden)) {
        (_, None) => {}
        (Some("v1model"), Some(golden)) => {
            let result = match &compiled {
                Err(failure) => Err(failure.clone()),
                Ok(compiled) => pool::catch(|| info(compiled, golden))
                    .unwrap_or_else(|message| Err(Failure::new(Stage::Panic, "-", message))),
            };
            outcome.case(Board::P4Info, program, result);
        }
        (other, Some(_)) => {
            let other = other.unwrap_or("no architecture");
            outcome.excluded(golden, format!("P4Info for {other}, which is not judged"));
        }
    }
    match (architecture, script) {
        (_, None) => {}
        (Some("v1model"), Some(script)) => {
            let image = compiled.ok().and_then(|compiled| compiled.image);
            let boards = [(Board::StfLax, Mode::Lax), (Board::StfStrict, Mode::Strict)];
            scripts(checkout, program, &script, result, image, boards, outcome);
        }
        (Some(other), Some(script)) => {
            outcome.excluded(
                script,
                format!("script for {other}, which is not a v1model switch"),
            );
        }
        (None, Some(script)) => {
            outcome.excluded(script, "script for a program without architecture")
        }
    }
}

/// Our P4Info beside p4c's.
fn info(compiled: &Compiled, golden: std::result::Result<String, String>) -> Result {
    let differs = |detail: String| Failure::new(Stage::Differs, "-", detail);
    let ours = match &compiled.p4info {
        None => {
            return Err(compiled
                .failed()
                .unwrap_or_else(|| differs("there is none".into())))
        }
        Some(Err(mistakes)) => return Err(failed(Stage::P4Info, mistakes)),
        Some(Ok(text)) => textproto::parse(text).map_err(|e| differs(format!("ours: {e}")))?,
    };
    let theirs = golden.and_then(|text| textproto::parse(&text));
    let theirs = theirs.map_err(|error| Failure::new(Stage::Read, "-", error))?;
    match textproto::difference(&ours, &theirs) {
        None => Ok(()),
        Some(difference) => Err(differs(difference)),
    }
}

fn p4_14(checkout: &Checkout, program: &Program, outcome: &mut Outcome) {
    let script = program.beside(".stf");
    if !checkout.path(&script).is_file() {
        return outcome.excluded(program.file(), "P4_14 program without a script");
    }
    let translation = program.golden(".p4");
    if !checkout.path(&translation).is_file() {
        return outcome.excluded(script, "its program has no translation to P4_16");
    }
    let compiled = compiled(checkout, &translation);
    let result = match &compiled {
        Err(failure) => Err(failure.clone()),
        Ok(compiled) => compiled.failed().map_or(Ok(()), Err),
    };
    let image = compiled.ok().and_then(|compiled| compiled.image);
    let boards = [
        (Board::P4_14StfLax, Mode::Lax),
        (Board::P4_14StfStrict, Mode::Strict),
    ];
    scripts(checkout, program, &script, result, image, boards, outcome);
}

fn scripts(
    checkout: &Checkout,
    program: &Program,
    script: &str,
    compiled: Result,
    image: Option<Arc<Image>>,
    boards: [(Board, Mode); 2],
    outcome: &mut Outcome,
) {
    let text = match checkout.read(script) {
        Some(Ok(text)) => Ok(text),
        Some(Err(error)) => Err(error),
        None => Err("it is gone".to_string()),
    };
    for (board, mode) in boards {
        let result = match (&compiled, &image, &text) {
            (Err(failure), _, _) => Err(failure.clone()),
            (Ok(()), None, _) => Err(Failure::new(Stage::Lower, "-", "it declares no `main`")),
            (_, _, Err(error)) => Err(Failure::new(Stage::Read, "-", error)),
            (Ok(()), Some(image), Ok(text)) => pool::catch(|| stf(script, text, image, mode))
                .unwrap_or_else(|message| Err(Failure::new(Stage::Panic, "-", message))),
        };
        outcome.case(board, program, result);
    }
}

fn stf(name: &str, text: &str, image: &Arc<Image>, mode: Mode) -> Result {
    let script = p4_stf::parse(name, text);
    let fatal = script
        .errors
        .iter()
        .find(|error| !(mode == Mode::Lax && error.in_cli_command));
    if let Some(error) = fatal {
        return Err(Failure::new(
            Stage::Script,
            "-",
            format!("line {}: {}", error.place.line, error.message),
        ));
    }
    let switch = Switch::new(Arc::clone(image), Config::default())
        .map_err(|error| Failure::new(Stage::Image, "E0901", error.to_string()))?;
    let report = p4_stf::run(
        &script,
        &mut p4_stf::OnSwitch::new(&mut switch.into()),
        mode,
    );
    if report.passed {
        return Ok(());
    }
    let detail = match report.failures().next() {
        None => "it failed without a finding".to_string(),
        Some(finding) => {
            format!("line {}: {}", finding.place.line, finding.message)
        }
    };
    Err(Failure::new(Stage::Run, "-", detail))
}

/// A program that must be refused: that it is, where, and why.
fn error(checkout: &Checkout, program: &Program, outcome: &mut Outcome) {
    let golden = checkout.read(&program.golden(".p4-stderr"));
    let golden = golden.unwrap_or(Err("p4c has no golden output for it".to_string()));
    let theirs = golden.as_deref().map(golden::errors);
    let placeless = matches!(&theirs, Ok(errors) if errors.iter().all(|e| e.places.is_empty()));
    if placeless {
        let reason = "rejected-line: p4c names no place in it";
        outcome.excluded(program.file(), reason);
    }
    let all = |outcome: &mut Outcome, failure: Failure| {
        let line = (!placeless).then_some(Board::RejectedLine);
        for board in [Board::Rejected, Board::RejectedClass]
            .into_iter()
            .chain(line)
        {
            outcome.case(board, program, Err(failure.clone()));
        }
    };
    let compiled = match compiled(checkout, &program.file()) {
        Ok(compiled) => compiled,
        Err(failure) => return all(outcome, failure),
    };
    let refusal = match (&compiled.failure, &compiled.p4info) {
        // p4c writes P4Info before any back end looks at the program.
        (None | Some((Stage::Lower | Stage::Image, _)), Some(Err(mistakes))) => {
            Some((Stage::P4Info, mistakes))
        }
        (Some((stage, mistakes)), _) => Some((*stage, mistakes)),
        (None, _) => None,
    };
    let Some((stage, mistakes)) = refusal else {
        let text = golden.as_deref().unwrap_or_default();
        let said = text.lines().find(|line| line.contains("error"));
        let detail = format!("p4c says: {}", said.unwrap_or("nothing"));
        return all(outcome, Failure::new(Stage::Accepted, "-", detail));
    };
    let unread = (stage == Stage::Read).then(|| compiled.failed()).flatten();
    outcome.case(Board::Rejected, program, unread.map_or(Ok(()), Err));
    match theirs {
        Ok(theirs) => refused(program, mistakes, &theirs, outcome),
        Err(error) => {
            for board in [Board::RejectedLine, Board::RejectedClass] {
                outcome.case(board, program, Err(Failure::new(Stage::Read, "-", error)));
            }
        }
    }
}

/// Our errors beside p4c's. p4c goes on after an error in another order than we do, so it is enough
/// that one of ours is at a place of one of theirs; classes are compared there, or over all errors
/// where no place is shared.
fn refused(program: &Program, ours: &[Mistake], theirs: &[GoldenError], outcome: &mut Outcome) {
    let all = || ours.iter().flat_map(|o| theirs.iter().map(move |t| (o, t)));
    let mut pairs: Vec<(&Mistake, &GoldenError)> = all()
        .filter(|(o, t)| o.places.iter().any(|place| t.places.contains(place)))
        .collect();
    let code = ours.first().map_or("-", |mistake| mistake.code);
    if theirs.iter().any(|error| !error.places.is_empty()) {
        let lines = |places: Vec<&(String, u32)>| {
            let lines: Vec<String> = places.iter().map(|(_, line)| line.to_string()).collect();
            lines.join(", ")
        };
        let here = lines(ours.iter().flat_map(|o| o.places.first()).collect());
        let there = lines(theirs.iter().flat_map(|t| t.places.first()).collect());
        let detail = format!("ours at {here}, p4c's at {there}");
        let result = match pairs.is_empty() {
            true => Err(Failure::new(Stage::Line, code, detail)),
            false => Ok(()),
        };
        outcome.case(Board::RejectedLine, program, result);
    }
    if pairs.is_empty() {
        pairs = all().collect();
    }
    let agree = |(o, t): &(&Mistake, &GoldenError)| p4_syntax::class(o.code) == t.tag;
    let result = match pairs.iter().any(agree) {
        true => Ok(()),
        false => {
            let class = |pair: Option<&(&Mistake, &GoldenError)>| match pair {
                Some((o, t)) => format!(
                    "ours is {}, p4c's {}: {}",
                    p4_syntax::class(o.code),
                    t.tag,
                    o.message
                ),
                None => "one of the two has no error".to_string(),
            };
            let code = pairs.first().map_or(code, |(o, _)| o.code);
            Err(Failure::new(Stage::Class, code, class(pairs.first())))
        }
    };
    outcome.case(Board::RejectedClass, program, result);
}

fn hold_against(
    checkout: &Checkout,
    manifest: &Manifest,
    only: Option<&str>,
    cases: Vec<Case>,
    excluded: Vec<Excluded>,
) -> Scoreboard {
    let mut board = Scoreboard {
        excluded,
        ..Scoreboard::default()
    };
    let mut lines: HashMap<String, &Line> = manifest
        .lines
        .iter()
        .filter(|line| only.is_none_or(|only| pattern::matches(only, &line.id)))
        .map(|line| (line.id.clone(), line))
        .collect();
    for case in cases {
        let tally = board.tallies.entry(case.board).or_default();
        tally.total += 1;
        let line = lines.remove(&case.id());
        match (&case.result, line) {
            (Ok(()), None) => tally.passed += 1,
            (Ok(()), Some(line)) => {
                tally.passed += 1;
                board.unexpected_passes.push(line.clone());
            }
            (Err(failure), Some(line))
                if failure.stage == line.stage && failure.code == line.code =>
            {
                tally.expected += 1;
                board.expected_failures.push((case, line.clone()));
            }
            (Err(_), line) => board.unexpected_failures.push((case, line.cloned())),
        }
    }
    board.stale = lines.into_values().cloned().collect();
    board.stale.sort_by_key(|line| line.number);
    if only.is_none() {
        compare_sizes(checkout, manifest, &mut board);
    }
    board
}

fn compare_sizes(checkout: &Checkout, manifest: &Manifest, board: &mut Scoreboard) {
    for (&which, &count) in &manifest.counts {
        let total = board.tallies.get(&which).map_or(0, |tally| tally.total);
        if total != count {
            board.sizes.push(format!(
                "{which} has {total} programs here; the manifest was made for {count}."
            ));
        }
    }
    let same = match (&manifest.p4c, &checkout.version.commit) {
        (Some((_, made_for)), Some(commit)) => commit.starts_with(made_for.as_str()),
        _ => false,
    };
    board.sizes_are_wrong = same && !board.sizes.is_empty();
}

//! The scoreboard without Python: `scoreboard DIR [GLOB]`.

use p4_conformance::{open, run, Manifest, MANIFEST};
use std::path::Path;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("Usage: scoreboard DIR [GLOB]")?;
    let only = arguments.next();
    let manifest = Manifest::parse(MANIFEST).map_err(|errors| errors.join("\n"))?;
    let checkout = open(Path::new(&dir))?;
    let Some(board) = run(&checkout, &manifest, only.as_deref(), |_| true)? else {
        return Err("Stopped.".to_string());
    };
    for (case, line) in &board.unexpected_failures {
        if let Err(failure) = &case.result {
            let line = line.as_ref().map_or(String::new(), |line| {
                format!(" [line {} says {} {}]", line.number, line.stage, line.code)
            });
            println!(
                "{}  {}  {}  {}{line}",
                case.id(),
                failure.stage,
                failure.code,
                failure.detail
            );
        }
    }
    for line in &board.unexpected_passes {
        println!(
            "{} passes, but is line {} of the manifest",
            line.id, line.number
        );
    }
    for line in &board.stale {
        println!(
            "{} of line {} of the manifest is not there",
            line.id, line.number
        );
    }
    for sentence in &board.sizes {
        println!("{sentence}");
    }
    println!(
        "{:<18} {:>6} {:>6} {:>9} {:>11}",
        "board", "total", "passed", "expected", "unexpected"
    );
    for (which, tally) in &board.tallies {
        let bad = tally.total - tally.passed - tally.expected;
        println!(
            "{:<18} {:>6} {:>6} {:>9} {:>11}",
            which.word(),
            tally.total,
            tally.passed,
            tally.expected,
            bad
        );
    }
    println!("{} files are judged by no board", board.excluded.len());
    match board.ok() {
        true => Ok(()),
        false => Err("Not as the manifest says.".to_string()),
    }
}

//! Prints the graph of a program: `cargo run -p p4-fit --example graph -- PROG.p4 [NAME=VALUE...]`.

use p4_syntax::{parse, FileProvider, Options, Severity};

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Some(Ok(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

fn main() -> Result<(), String> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("which program?")?;
    let defines = args
        .map(|arg| match arg.split_once('=') {
            Some((name, value)) => (name.to_string(), value.to_string()),
            None => (arg, "1".to_string()),
        })
        .collect();
    let options = Options {
        defines,
        ..Options::default()
    };
    let parsed = parse(&file, &Disk, &options);
    let checked = p4_check::check(&parsed.program);
    let diagnostics = parsed.diagnostics.iter().chain(&checked.diagnostics);
    let errors: Vec<_> = diagnostics
        .filter(|d| d.severity == Severity::Error)
        .cloned()
        .collect();
    if !errors.is_empty() {
        return Err(p4_syntax::render(&errors, &parsed.sources, false));
    }
    let graph = p4_fit::graph(&checked)?;
    println!("{}", graph.json(&parsed.sources));
    Ok(())
}

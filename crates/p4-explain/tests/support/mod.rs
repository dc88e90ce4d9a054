//! Programs of pages, compiled as `p4lab compile` compiles them; those of lints with the lints.

use p4_arch::{AnyArchitecture, Image};
use p4_check::lint::Target;
use p4_syntax::{Diagnostic, FileProvider, MemoryFiles, Options, Severity, SourceMap};
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct Compiled {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
}

/// What the pages on files need: one that cannot be read.
struct Files {
    memory: MemoryFiles,
}

impl FileProvider for Files {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        match path {
            "secret.p4" => Some(Err("permission denied".into())),
            _ => self.memory.read(path),
        }
    }
}

/// The program as a file `CODE.p4`, or (on the page about it) no such file at all.
pub fn compile(code: &str, text: &str) -> Compiled {
    let name = format!("{code}.p4");
    let mut files = BTreeMap::new();
    if code != "E0006" || !text.contains(code) {
        files.insert(name.clone(), text.to_string());
    }
    let files = Files {
        memory: MemoryFiles(files),
    };
    let parsed = p4_syntax::parse(&name, &files, &Options::default());
    let mut diagnostics = parsed.diagnostics;
    let checked = p4_check::check(&parsed.program);
    diagnostics.extend(checked.diagnostics.iter().cloned());
    let broken = |found: &[Diagnostic]| found.iter().any(|d| d.severity == Severity::Error);
    // A program without `main` is a library, unless somebody wants to run it.
    if !broken(&diagnostics) && (checked.main.is_some() || code == "E0601") {
        match p4_ir::lower::lower(&checked, &AnyArchitecture::default()) {
            Err(errors) => diagnostics.extend(errors),
            Ok(program) => {
                if let Err(error) = Image::new(Arc::new(program)) {
                    let message = p4_check::sentence(&error.message);
                    diagnostics.push(Diagnostic::error("E0901", error.span, message));
                }
            }
        }
    }
    let targets: &[Target] = match code.get(..3) {
        Some("W06") => &[Target::Bmv2],
        Some("W07") => &[Target::Tofino],
        _ => &[],
    };
    if code.starts_with("E07") && !broken(&diagnostics) {
        if let Err(errors) = p4_info::p4info(&checked, &parsed.sources) {
            diagnostics.extend(errors);
        }
    }
    if !broken(&diagnostics) {
        diagnostics.extend(p4_check::lint::lint(&checked, targets));
    }
    diagnostics.sort_by_key(|d| d.span);
    Compiled {
        diagnostics,
        sources: parsed.sources,
    }
}

pub fn render(compiled: &Compiled) -> String {
    p4_syntax::render(&compiled.diagnostics, &compiled.sources, false)
}

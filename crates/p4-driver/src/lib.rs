//! From source text to a program ready to run: all passes in a row, for every binding of the engine.
#![forbid(unsafe_code)]

use p4_arch::{AnyArchitecture, ArchError, Image};
use p4_check::lint::Target;
use p4_check::Checked;
use p4_info::P4Info;
use p4_syntax::{Diagnostic, FileProvider, Options, Severity, SourceMap};
use std::sync::Arc;

/// The code of an `#include` whose file is not there
const NO_FILE: &str = "E0010";

/// What the passes have made of a program.
pub struct Built {
    /// In the order of the source, but for files that are not there: these come first
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
    /// `None` if there is an error, or nothing to run: no `main`
    pub image: Option<Image>,
    /// `None` for a program with errors
    pub p4info: Option<Result<Arc<P4Info>, Vec<Diagnostic>>>,
}

/// All passes, each as far as the ones before allow. `targets` are those whose refusals are warned
/// of.
pub fn build(
    main_file: &str,
    files: &dyn FileProvider,
    options: &Options,
    bmv2_compat: bool,
    targets: &[Target],
) -> Built {
    let parsed = p4_syntax::parse(main_file, files, options);
    let mut diagnostics = parsed.diagnostics;
    let checked = p4_check::check(&parsed.program);
    diagnostics.extend(checked.diagnostics.iter().cloned());
    diagnostics.extend(p4_check::lint::lint(&checked, targets));
    let is_right = !has_error(&diagnostics);
    let mut image = None;
    if is_right && checked.main.is_some() {
        match lowered(&checked, bmv2_compat) {
            Err(errors) => diagnostics.extend(errors),
            Ok(ready) => image = Some(ready),
        }
    }
    // What grows without end has no description that ends.
    let is_endless = diagnostics.iter().any(|one| one.code == "E0605");
    let p4info =
        (is_right && !is_endless).then(|| p4_info::p4info(&checked, &parsed.sources).map(Arc::new));
    // A file that is not there comes first: what it declares may be missed before it, in another file.
    diagnostics.sort_by_key(|diagnostic| (diagnostic.code != NO_FILE, diagnostic.span));
    Built {
        diagnostics,
        sources: parsed.sources,
        image,
        p4info,
    }
}

/// What stands in the way of running a program that the checker has accepted.
pub fn later_passes(checked: &Checked<'_>) -> Vec<Diagnostic> {
    lowered(checked, false).err().unwrap_or_default()
}

/// Whether one of the diagnostics is an error.
pub fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error)
}

fn lowered(checked: &Checked<'_>, as_bmv2: bool) -> Result<Image, Vec<Diagnostic>> {
    let program = p4_ir::lower::lower(checked, &AnyArchitecture { as_bmv2 })?;
    Image::new(Arc::new(program)).map_err(|error| vec![refused(&error)])
}

fn refused(error: &ArchError) -> Diagnostic {
    Diagnostic::error("E0901", error.span, p4_check::sentence(&error.message))
}

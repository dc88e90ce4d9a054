"""The command line. A verb's module imports what it needs only when the verb runs."""

from __future__ import annotations

import typer

from p4lab.cli import (
    bench_verb,
    check_verb,
    compile_verb,
    conformance_verb,
    doctor_verb,
    experiment_verb,
    explain_verb,
    fit_verb,
    fmt_verb,
    grade_verb,
    lsp_verb,
    matrix_verb,
    notebook_verb,
    provision_verb,
    recirculation_verb,
    run_verb,
    start_verb,
    stf_verb,
    switch_verb,
    trace_verb,
)

app = typer.Typer(
    name="p4lab",
    help="A P4 teaching lab in a box.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
PANELS = {
    "Learn": {
        "notebook": notebook_verb.notebook,
        "start": start_verb.start,
        "check": check_verb.check,
        "watch": check_verb.watch,
        "run": run_verb.run,
        "trace": trace_verb.trace,
    },
    "Write P4": {
        "compile": compile_verb.compile_program,
        "explain": explain_verb.explain,
        "stf": stf_verb.stf,
        "fit": fit_verb.fit,
        "fmt": fmt_verb.fmt,
        "lsp": lsp_verb.lsp,
    },
    "Teach": {
        "grade": grade_verb.grade,
        "matrix": matrix_verb.matrix,
        "cut": start_verb.cut,
    },
    "Measure": {
        "bench": bench_verb.bench,
        "conformance": conformance_verb.conformance,
        "provision": provision_verb.provision,
    },
    "This machine": {
        "doctor": doctor_verb.doctor,
    },
}
for panel, verbs in PANELS.items():
    for name, verb in verbs.items():
        app.command(name, rich_help_panel=panel)(verb)
# Its options are bmv2's, not ours to parse.
app.command(
    "switch",
    rich_help_panel="This machine",
    context_settings={"ignore_unknown_options": True},
)(switch_verb.switch)
experiment_verb.experiment.command("recirculation")(recirculation_verb.recirculation)
experiment_verb.experiment.command("provisioning")(recirculation_verb.provisioning)
app.add_typer(experiment_verb.experiment, rich_help_panel="Measure")

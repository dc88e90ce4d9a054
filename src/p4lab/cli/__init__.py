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
    fmt_verb,
    grade_verb,
    lsp_verb,
    matrix_verb,
    notebook_verb,
    run_verb,
    start_verb,
    stf_verb,
    trace_verb,
)

app = typer.Typer(
    name="p4lab",
    help="A P4 teaching lab in a box.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run_verb.run)
app.command("trace")(trace_verb.trace)
app.command("compile")(compile_verb.compile_program)
app.command("explain")(explain_verb.explain)
app.command("fmt")(fmt_verb.fmt)
app.command("lsp")(lsp_verb.lsp)
app.command("stf")(stf_verb.stf)
app.command("bench")(bench_verb.bench)
app.command("doctor")(doctor_verb.doctor)
app.command("conformance")(conformance_verb.conformance)
app.command("notebook")(notebook_verb.notebook)
app.add_typer(experiment_verb.experiment)
app.command("start")(start_verb.start)
app.command("cut")(start_verb.cut)
app.command("check")(check_verb.check)
app.command("watch")(check_verb.watch)
app.command("grade")(grade_verb.grade)
app.command("matrix")(matrix_verb.matrix)

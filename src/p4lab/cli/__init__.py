"""The command line. A verb's module is imported when the verb runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from p4lab import __version__
from p4lab.cli.errors import fail
from p4lab.cli.verbs import Later, Verbs

PANELS = {
    "Learn": {
        "notebook": "p4lab.cli.notebook_verb:notebook",
        "start": "p4lab.cli.start_verb:start",
        "check": "p4lab.cli.check_verb:check",
        "watch": "p4lab.cli.check_verb:watch",
        "run": "p4lab.cli.run_verb:run",
        "trace": "p4lab.cli.trace_verb:trace",
    },
    "Write P4": {
        "compile": "p4lab.cli.compile_verb:compile_program",
        "explain": "p4lab.cli.explain_verb:explain",
        "stf": "p4lab.cli.stf_verb:stf",
        "fit": "p4lab.cli.fit_verb:fit",
        "fmt": "p4lab.cli.fmt_verb:fmt",
        "lsp": "p4lab.cli.lsp_verb:lsp",
    },
    "Teach": {
        "grade": "p4lab.cli.grade_verb:grade",
        "autograder": "p4lab.cli.autograder_verb:autograder",
        "mutants": "p4lab.cli.mutants_verb:mutants",
        "prove": "p4lab.cli.prove_verb:prove",
        "strengthen": "p4lab.cli.strengthen_verb:strengthen",
        "import": "p4lab.cli.import_verb:import_",
        "starter": "p4lab.cli.start_verb:starter",
        "exercises": "p4lab.cli.exercises_verb:exercises",
    },
    "Serve": {
        "web": "p4lab.cli.web_verb:web",
        "build-web": "p4lab.cli.web_verb:build_web",
    },
    "Measure": {
        "bench": "p4lab.cli.bench_verb:bench",
        "conformance": "p4lab.cli.conformance_verb:conformance",
        "tofino-examples": "p4lab.cli.tofino_examples_verb:tofino_examples",
    },
    "This machine": {
        "doctor": "p4lab.cli.doctor_verb:doctor",
        "switch": "p4lab.cli.switch_verb:switch",
        "shims": "p4lab.cli.shims_verb:shims",
        "shell": "p4lab.cli.shims_verb:shell",
    },
}
"""The verbs as the help lists them, and where each is"""


class House(Verbs):
    """All verbs: ours, and `System.verbs`."""

    brought: ClassVar[str] = "verbs"
    panel: ClassVar[str | None] = "Measure"

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        ours = [
            Later(name, place, panel)
            for panel, verbs in PANELS.items()
            for name, place in verbs.items()
        ]
        self.commands = {**{str(verb.name): verb for verb in ours}, **self.commands}


class Experiments(Verbs):
    """What is below `p4lab experiment`: `System.experiments`."""

    brought: ClassVar[str] = "experiments"


CLASS = {
    "make": "p4lab.cli.class_verb:make",
    "serve": "p4lab.cli.class_verb:serve",
    "collect": "p4lab.cli.class_verb:collect",
    "password": "p4lab.cli.class_verb:password",
}
"""What is below `p4lab class`"""


class Classroom(Verbs):
    """What is below `p4lab class`; systems bring nothing there."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: Later(name, place) for name, place in CLASS.items()}

    def _ask_systems(self) -> None:
        pass


app = typer.Typer(
    name="p4lab",
    cls=House,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
experiment = typer.Typer(
    name="experiment",
    cls=Experiments,
    help="Repeat a measurement of a paper.",
    no_args_is_help=True,
)
app.add_typer(experiment, rich_help_panel="Measure")
classroom = typer.Typer(
    name="class",
    cls=Classroom,
    help="One server for a class: JupyterHub with an account for each student.",
    no_args_is_help=True,
)
app.add_typer(classroom, rich_help_panel="Serve")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"p4lab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    course: Annotated[
        list[Path] | None,
        typer.Option(
            "--course",
            metavar="DIR",
            help="Also look for labs in this folder (docs/instructors.md); several times for more.",
        ),
    ] = None,
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """A P4 teaching lab in a box."""
    if not course:
        return
    from p4lab.course import home  # heavy: topologies, and with them pydantic

    for folder in course:
        try:
            home.add(folder)
        except ValueError as error:
            fail(str(error))

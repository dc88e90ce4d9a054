"""`p4lab class`: one server for a class (docs/machine.md)."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p4lab.cli.errors import fail, fail_at
from p4lab.command import command
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from p4lab.classroom.place import Settings

# Other users than root can read neither, and the command tells them so.
At = Annotated[
    Path,
    typer.Option("--at", metavar="DIR", help="The folder of the class.", readable=False),
]
USUAL = Path("/srv/p4lab-class")

Roster = Annotated[
    Path,
    typer.Argument(
        metavar="ROSTER.csv", help="Who takes part, as `grade` reads it.", readable=False
    ),
]
Lab = Annotated[str | None, typer.Option(metavar="LAB", help="What opens, such as 01-bier.")]
Listen = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 is every network.")
]
Port = Annotated[int | None, typer.Option(min=1, max=65535, help="8000, if it is not said.")]
Certificate = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate, for HTTPS.")
]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key.")]
Memory = Annotated[int | None, typer.Option(min=300, metavar="MB", help="Most for each student.")]
LtiFile = Annotated[
    Path | None,
    typer.Option("--lti", metavar="FILE.toml", help="The learning platform they come from."),
]


def make(
    roster: Roster,
    at: At = USUAL,
    lab: Lab = None,
    listen: Listen = None,
    port: Port = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    memory: Memory = None,
    lti: LtiFile = None,
) -> None:
    """Make a class, or bring it up to date: a user and a password for each student, JupyterHub, a
    page for you. Needs root. Run again with a longer roster, it adds who is new; who is no longer
    on it cannot log in, and their files stay. What is not said stays as DIR/class.toml has it."""
    with _reporting():
        from p4lab.classroom.making import (
            make as make_class,
        )  # heavy: grading, and with it pydantic
        from p4lab.classroom.place import Place
        from p4lab.classroom.settings import given

        place = Place(at.absolute())
        said = {
            "lab": lab,
            "listen": listen,
            "port": port,
            "tls_cert": tls_cert and str(tls_cert.absolute()),
            "tls_key": tls_key and str(tls_key.absolute()),
            "memory_mb": memory,
        }
        settings = given(place, {k: v for k, v in said.items() if v is not None}, lti)
        made = make_class(place, roster, settings, lambda now: typer.echo(f"{now} ..."))
        typer.echo(f"{count_of(len(made.accounts), 'student')}, {len(made.new)} of them new.")
        if made.gone:
            typer.echo(
                f"{len(made.gone)} removed: {', '.join(made.gone)}; their files stay, and who "
                "comes back keeps the password."
            )
        started = _started(place, settings)
    if not settings.lti:
        typer.echo(f"Passwords to hand out, yours among them: {place.letters}")
    _tell(settings, started, at)


def _started(place: Any, settings: Settings) -> bool:
    """Whether systemd runs the class now."""
    from p4lab.classroom import units
    from p4lab.classroom.place import HAS_SYSTEMD

    if HAS_SYSTEMD:
        units.install(place, settings)
    return HAS_SYSTEMD


def _tell(settings: Settings, started: bool, at: Path) -> None:
    where = "" if at == USUAL else f" --at {shlex.quote(str(at))}"
    if started:
        typer.echo("It runs.")
    else:
        typer.echo(f"There is no systemd here: sudo {command()} class serve{where} runs it.")
    typer.echo(_addresses(settings))
    if not settings.tls_cert and settings.listen not in ("127.0.0.1", "localhost"):
        typer.echo("Over plain HTTP passwords can be read in transit: see --tls-cert.", err=True)


def _addresses(settings: Settings) -> str:
    scheme = "https" if settings.tls_cert else "http"
    host = socket.gethostname() if settings.listen in ("0.0.0.0", "::") else settings.listen
    address = f"{scheme}://{host}:{settings.port}"
    return f"Students go to {address}/, you to {address}/services/dashboard/"


def serve(at: At = USUAL) -> None:
    """Run a class in this terminal, where systemd does not; Ctrl-C ends it, and leaves students'
    servers running for the next time."""
    with _reporting():
        from p4lab.classroom.place import Place
        from p4lab.classroom.serve import check
        from p4lab.classroom.serve import serve as serve_class

        place = Place(at.absolute())
        check(place)
        typer.echo(f"{_addresses(place.settings())} in a few seconds; Ctrl-C ends the class.")
        typer.echo(f"Its log: {place.log}")
        serve_class(place)
        typer.echo("The class has ended. Servers of students go on for the next time.")


def collect(
    lab: Annotated[
        str | None, typer.Argument(metavar="[LAB]", help="The class's, if none.")
    ] = None,
    at: At = USUAL,
) -> None:
    """Collect everyone's files of a lab as they are now, for `p4lab grade`. Needs root."""
    with _reporting():
        from p4lab.classroom.accounts import accounts
        from p4lab.classroom.collecting import collect as collect_all
        from p4lab.classroom.collecting import now
        from p4lab.classroom.place import Place
        from p4lab.grading.course import load
        from p4lab.grading.known import wanted
        from p4lab.grading.roster import read

        place = Place(at.absolute())
        name = lab or place.settings().lab
        people = accounts(read(place.roster))
        found = collect_all(place, people, name, wanted(load(name)), now())
    new, same = len(found.new), len(found.same)
    typer.echo(f"{new} new, {same} unchanged, {len(found.missing)} without files.")
    typer.echo(f"{command()} grade {name} {place.handins(name)} --roster {place.roster}")


def password(
    who: Annotated[str, typer.Argument(metavar="WHO", help="An id, an email, or `instructor`.")],
    at: At = USUAL,
) -> None:
    """Print a new password for a student who has lost theirs. Needs root."""
    with _reporting():
        from p4lab.classroom.making import renew_password
        from p4lab.classroom.place import Place

        typer.echo(renew_password(Place(at.absolute()), who))


@contextmanager
def _reporting() -> Iterator[None]:
    """Ends the verb with a sentence for what an admin can put right."""
    try:
        import jupyterhub  # noqa: F401  # heavy: only servers of classes have it
    except ImportError:
        fail("JupyterHub is not installed: pip install 'p4lab[class]', or start ./lab class.")
    from p4lab.classroom.place import ClassError
    from p4lab.course.labs import LabError
    from p4lab.grading.workers import GradingError

    try:
        if os.geteuid() != 0:
            fail(f"students are users of this machine, which takes root: sudo {command()} class.")
        yield
    except (ClassError, GradingError, LabError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error)

"""`p4lab build-web` and `p4lab web`: the lab as a page that needs no server of ours."""

from __future__ import annotations

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.paths import INSTALLED, STATE
from p4lab.plurals import count_of

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the site.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]

SITE = STATE / "web"


Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Also judge every known answer of every lab as the page does and as check does, and "
        "exit 1 if they differ.",
    ),
]


Draft = Annotated[
    bool,
    typer.Option(
        "--draft",
        help="For a look: optimise little of the engine that has no Python, and spare a minute.",
    ),
]


def build_web(out: Out = SITE, verify: Verify = False, draft: Draft = False) -> None:
    """Build the lab as a page: a folder of files for any web server (docs/web.md)."""
    _build(out, draft)
    typer.echo(f"{out} is the site.")
    if verify:
        _verify(out)


def _verify(site: Path) -> None:
    from p4lab.website.toolchain import BuildError
    from p4lab.website.verify import differing, known

    answers, wrong = known(), 0
    try:
        for number, (name, told) in enumerate(differing(site, answers), 1):
            wrong += bool(told)
            typer.echo(f"{number}/{len(answers)} {name}{': ' if told else ''}{told}")
    except BuildError as error:
        fail(str(error))
    typer.echo(f"{count_of(len(answers), 'answer')}, {count_of(wrong, 'verdict')} not as expected.")
    if wrong:
        raise typer.Exit(VERDICT_NO)


def web(out: Out = SITE, port: Port = 8080) -> None:
    """Build the lab as a page and serve it on this machine (docs/web.md); Ctrl-C ends it."""
    _build(out)
    handler = functools.partial(_Quiet, directory=str(out))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        fail(f"port {port}: {error.strerror}; choose another with --port.")
    with server:
        typer.echo(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl-C to stop)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files and keeps silent."""

    extensions_map = {  # noqa: RUF012 - as the class above has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *args: object) -> None:
        """Nobody waits for lines of requests."""


def _build(out: Path, draft: bool = False) -> None:
    if INSTALLED:
        fail("the page is built in a checkout, which has its sources; releases have it ready.")
    from p4lab.course.labs import LabError  # heavy: pydantic
    from p4lab.website.book import BookError
    from p4lab.website.build import build
    from p4lab.website.toolchain import BuildError

    try:
        build(out.resolve(), lambda text: typer.echo(text, err=True), draft=draft)
    except (BookError, BuildError, LabError) as error:
        fail(str(error))

"""`p4lab notebook`: a lab's notebook in JupyterLab."""

from __future__ import annotations

import signal
import socket
import subprocess
import urllib.error
import urllib.request
import webbrowser
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail, fail_at
from p4lab.course.home import work_folder
from p4lab.course.labs import LabError
from p4lab.notebook.server import Server, end, free_port, has_desktop, student_server

FIRST = "01-bier"

Lab = Annotated[str, typer.Argument(metavar="[LAB]", help="The lab, such as 01-bier.")]
Port = Annotated[
    int | None,
    typer.Option(min=1, max=65535, help="The port; default: the first free one from 8888."),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]
Listen = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 is every network.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Read the token from there; default: a new one at each start."
    ),
]


def notebook(
    lab: Lab = FIRST,
    port: Port = None,
    no_browser: NoBrowser = False,
    listen: Listen = "127.0.0.1",
    token_file: TokenFile = None,
) -> None:
    """Open a lab's notebook in JupyterLab; Ctrl-C ends it. The notebook is your own copy in work/,
    next to your files of the lab."""
    if find_spec("jupyterlab") is None:
        fail("JupyterLab is not installed; pip install 'p4lab[notebook]', or start ./lab.")
    from rich.console import Console  # heavy: rich

    try:
        server = student_server(lab, port, listen, token_file)
    except LabError as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, token_file)
    log = work_folder() / "jupyter.log"
    try:
        process = server.start(log)
    except OSError as error:
        fail(f"JupyterLab does not start: {error}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Console(stderr=True).status("starting JupyterLab"):
            ready = server.await_ready(process) and _is_ours(server)
            while not ready and port is None and _somebody_else_has(server.port, process):
                server = replace(server, port=free_port())
                process = server.start(log)
                ready = server.await_ready(process) and _is_ours(server)
        if ready:
            server.warm()
            _tell(lab, server, has_desktop() and not no_browser)
            process.wait()
    except LabError as error:
        fail(str(error))
    except OSError as error:
        fail(f"JupyterLab starts no kernel: {error}")
    except KeyboardInterrupt:
        ready = True  # the same Ctrl-C has reached JupyterLab
    finally:
        end(process)
    if not ready:
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        fail("\n".join(["JupyterLab did not start:", *last]))


def _is_ours(server: Server) -> bool:
    """Whether what answers there takes our token: a port that was free may be another's by now."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        direct.open(f"{server.origin}/api/status?token={server.token}", timeout=30).close()
    except urllib.error.HTTPError:
        return False
    return True


def _somebody_else_has(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Ends a JupyterLab that has not got its port; whether it is still taken."""
    end(process)
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return True
    return False


def _tell(lab: str, server: Server, browser: bool) -> None:
    if server.news:
        typer.echo(server.news)
    typer.echo(f"Notebook {lab} in JupyterLab (Ctrl-C ends it):\n\n    {server.url}\n")
    if browser and webbrowser.open(server.url):
        typer.echo("Your browser opens it.")
        return
    typer.echo(
        "Open this address in a browser on this machine. From another machine, first\n"
        f"    ssh -L {server.port}:127.0.0.1:{server.port} THIS_MACHINE\n"
        "and then open it there."
    )

"""A student's server: it brings their labs up to date and becomes JupyterLab.

It runs as the student. What is theirs in a lab stays (`course.renewal`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from p4lab.classroom.place import OPENS
from p4lab.course.home import names, notebooks
from p4lab.course.labs import LabError
from p4lab.notebook.folder import lab_folder
from p4lab.notebook.server import Server, own_notebook, quick, student_server

TEMPORARY = ".tmp"
"""Where programs keep what is temporary: below the home, which is closed to others"""

RUNTIME = ".run"
"""Where sockets of kernels are: a short name, as the system allows 107 letters of a socket's"""


def main() -> None:
    """Does not return. What goes wrong with one lab is said in the server's log."""
    os.umask(0o077)
    home = Path.home()
    os.chdir(home)
    for name in (TEMPORARY, RUNTIME):
        (home / name).mkdir(mode=0o700, exist_ok=True)
    begin()
    opens = os.environ[OPENS]
    server = student_server(opens, port=1)
    os.environ.update(environment(server, home))
    os.execv(sys.executable, [*quick("jupyterhub.singleuser"), *server.settings, *PRIVATE])


# A kernel's TCP ports would be open to all of the machine, and its output goes to whoever asks.
PRIVATE = ["--ConnectionFileMixin.transport=ipc"]


def begin() -> None:
    """Puts every lab with a notebook into the student's folder, or brings it up to date."""
    known = notebooks()
    for lab in names():
        try:
            if lab in known:
                _, news = own_notebook(lab)
                for line in (news, *lab_folder(lab).news):
                    if line:
                        print(line, file=sys.stderr)
        except (LabError, OSError) as error:
            print(f"{lab}: {error}", file=sys.stderr)


def environment(server: Server, home: Path) -> dict[str, str]:
    """What JupyterLab and its kernels find in their environment."""
    return {
        **server.shown,
        "JUPYTERHUB_ROOT_DIR": str(server.root),
        "JUPYTERHUB_DEFAULT_URL": server.path,
        "JUPYTER_RUNTIME_DIR": str(home / RUNTIME),
        "TMPDIR": str(home / TEMPORARY),
        # A thread for each core and student would be far too many.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }

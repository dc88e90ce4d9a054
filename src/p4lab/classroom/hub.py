"""JupyterHub's settings: who gets in, how their servers start, what else runs.

JupyterHub, its spawner for systemd and the authenticator for LTI are packages of
requirements-class.lock, which only a class's server has.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from jupyterhub.auth import Authenticator
from jupyterhub.spawner import LocalProcessSpawner
from tornado.web import HTTPError

from p4lab.classroom import passwords
from p4lab.classroom.accounts import INSTRUCTOR, accounts
from p4lab.classroom.dropping import limit
from p4lab.classroom.place import HAS_SYSTEMD, OPENS, PLACE, SERVICE, Place, Settings
from p4lab.course.home import ENVIRONMENT as COURSES
from p4lab.grading.roster import Roster, login_of
from p4lab.grading.roster import read as read_roster

DASHBOARD = "dashboard"

WELCOME = "p4lab: sign in with your id or email, and the password from your instructor."


def python(module: str) -> list[str]:
    """Starts a module's `main`. Not -m: that would look for modules in the current folder first,
    which may be a student's. The hub ends it by SIGINT, of which Python would make a traceback."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        f"sys.path[:1] == [''] and sys.path.pop(0); from {module} import main; main()"
    )
    return [sys.executable, "-c", code]


class Listed(Authenticator):
    """Logs in the students on the roster and the instructor, with passwords. The name of a student
    who has left the roster is no longer valid, and the hub forgets their cookies."""

    place = Place()
    roster: Roster

    async def authenticate(self, handler: Any, data: dict[str, str]) -> str | None:
        """The login of whom it is, None for everyone else."""
        name = data["username"].strip()
        person = self.roster.person(name)
        login = login_of(person.id) if person else None
        if name == INSTRUCTOR:
            login = INSTRUCTOR
        kept = passwords.load(self.place.passwords).get(login or "")
        if login is None or kept is None:
            return None
        right = await asyncio.to_thread(passwords.fits, data["password"], kept)
        return login if right else None

    def normalize_username(self, username: str) -> str:
        """As it is typed: `authenticate` makes a login of it."""
        return username

    def validate_username(self, username: str) -> bool:
        """Whether it is the login of somebody on the roster."""
        return username in self.allowed_users


class Limited(LocalProcessSpawner):
    """A server as the student's own process, within limits of the kernel on each process and on
    their number: for machines without systemd."""

    seat: Settings

    def make_preexec_fn(self, name: str) -> Any:
        """What the child does before it becomes the server: it stops being root."""
        become = super().make_preexec_fn(name)

        def preexec() -> None:
            limit(self.seat.memory_mb << 20, self.seat.processes)
            become()

        return preexec


def configure(c: Any) -> None:
    """Fills in the hub's configuration from the folder of the class. Raises ClassError and
    GradingError."""
    place = Place(Path(os.environ[PLACE]))
    settings = place.settings()
    roster = read_roster(place.roster)
    _network(c, place, settings)
    _people(c, place, settings, roster)
    _servers(c, settings)
    _services(c, place, settings)


def _network(c: Any, place: Place, settings: Settings) -> None:
    c.JupyterHub.bind_url = f"http://{settings.listen}:{settings.port}"
    c.JupyterHub.hub_ip = "127.0.0.1"
    c.JupyterHub.hub_port = settings.hub_port
    c.JupyterHub.db_url = f"sqlite:///{place.hub}/jupyterhub.sqlite"
    c.JupyterHub.cookie_secret_file = str(place.hub / "cookie-secret")
    c.JupyterHub.pid_file = str(place.hub / "hub.pid")
    # Proxy and servers are processes of their own: students work on while the hub restarts.
    c.ConfigurableHTTPProxy.should_start = False
    c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{settings.proxy_port}"
    c.JupyterHub.cleanup_servers = False
    c.JupyterHub.concurrent_spawn_limit = 2 * (os.cpu_count() or 1)


def _people(c: Any, place: Place, settings: Settings, roster: Roster) -> None:
    if settings.lti:
        from p4lab.classroom.lti import configure_lti  # heavy: ltiauthenticator

        configure_lti(c, settings, roster)
    else:
        Listed.place, Listed.roster = place, roster
        c.JupyterHub.authenticator_class = Listed
        c.JupyterHub.template_vars = {"announcement_login": WELCOME}
    c.Authenticator.allowed_users = {one.login for one in accounts(roster)} | {INSTRUCTOR}
    c.Authenticator.delete_invalid_users = True
    c.JupyterHub.default_url = _first_page
    c.Spawner.pre_spawn_hook = _only_students


def _first_page(handler: Any) -> str | None:
    """Where a login leads: students to their server, which is what the hub does by itself."""
    user = handler.current_user
    return f"/services/{DASHBOARD}/" if user and user.name == INSTRUCTOR else None


def _only_students(spawner: Any) -> None:
    if spawner.user.name == INSTRUCTOR:
        raise HTTPError(403, "The instructor has a page, and no server: /services/dashboard/.")


def _servers(c: Any, settings: Settings) -> None:
    if HAS_SYSTEMD:
        c.JupyterHub.spawner_class = "systemdspawner.SystemdSpawner"
        c.SystemdSpawner.unit_name_template = "p4lab-student-{USERNAME}"
        c.SystemdSpawner.isolate_tmp = True
        c.SystemdSpawner.disable_user_sudo = True
        c.SystemdSpawner.default_shell = "/bin/bash"
        c.SystemdSpawner.unit_extra_properties = {"TasksMax": str(settings.processes)}
        c.Spawner.mem_limit = f"{settings.memory_mb}M"
        c.Spawner.cpu_limit = settings.cores
    else:
        Limited.seat = settings
        c.JupyterHub.spawner_class = Limited
    c.Spawner.cmd = python("p4lab.classroom.seat")
    c.Spawner.args = []
    c.Spawner.default_url = "/lab"
    c.Spawner.start_timeout = c.Spawner.http_timeout = 120
    c.Spawner.environment = {OPENS: settings.lab}
    c.Spawner.env_keep = ["PATH", "PYTHONPATH", "LANG", "LC_ALL", COURSES]


def _services(c: Any, place: Place, settings: Settings) -> None:
    here = {PLACE: str(place.path), "PATH": os.environ["PATH"]}
    if "PYTHONPATH" in os.environ:
        here["PYTHONPATH"] = os.environ["PYTHONPATH"]
    c.JupyterHub.services = [
        {"name": "watch", "command": python("p4lab.classroom.watch"), "environment": here},
        {
            "name": DASHBOARD,
            "url": f"http://127.0.0.1:{settings.dashboard_port}",
            "command": python("p4lab.classroom.dashboard"),
            "user": SERVICE,
            "cwd": "/",
            "environment": here,
            "oauth_no_confirm": True,
        },
        {
            "name": "idle",
            "command": [
                *python("jupyterhub_idle_culler"),
                f"--timeout={settings.idle_minutes * 60}",
            ],
            "cwd": "/",
            "user": SERVICE,
        },
    ]
    c.JupyterHub.load_roles = [
        {
            "name": DASHBOARD,
            "services": [DASHBOARD],
            "scopes": ["list:users", "read:users:activity", "read:servers"],
        },
        {
            "name": "idle",
            "services": ["idle"],
            "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        },
        {
            "name": "teaches",
            "users": [INSTRUCTOR],
            "scopes": [
                *("self", "admin-ui", "list:users", "read:users", "servers", "list:services"),
                *(f"read:services!service={DASHBOARD}", f"access:services!service={DASHBOARD}"),
            ],
        },
    ]

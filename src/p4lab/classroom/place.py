"""The folder of a class: its settings, and where everything of it is.

    class.toml       what follows in `Settings`
    roster.csv       who takes part (p4lab.grading.roster)
    passwords.csv    passwords to hand out
    passwords.json   what the hub compares with
    hub/             the hub's own: database, secrets, log
    seen/            what the dashboard shows; its user may read and write there
    handins/LAB/     what `p4lab grade` takes

All but `seen/` is for root alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from p4lab.command import command
from p4lab.course.words import TextError, refused, text_of
from p4lab.grading.toml import quoted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

USUAL = Path("/srv/p4lab-class")
PLACE = "P4LAB_CLASS"
"""The environment variable that names the folder of a class"""
OPENS = "P4LAB_CLASS_LAB"
"""The one that names the lab which a student's server opens"""
HAS_SYSTEMD = Path("/run/systemd/system").is_dir()
SERVICE = "p4lab-class"
"""The system's user of the proxy and the dashboard"""

Port = Annotated[int, Field(ge=1, le=65535)]


class ClassError(Exception):
    """The class cannot be served; the message says what to do."""


class Lti(BaseModel):
    """The table [lti]: the learning platform from which students come (LTI 1.3)."""

    model_config = ConfigDict(extra="forbid")
    issuer: str
    client_id: str
    authorize_url: str
    jwks_endpoint: str
    username_key: str = "email"
    """What of the platform's word is compared with the roster's id and email"""


class Settings(BaseModel):
    """What class.toml says."""

    model_config = ConfigDict(extra="forbid")
    lab: str = "01-bier"
    """What opens for a student, and what the dashboard shows"""
    listen: str = "127.0.0.1"
    port: Port = 8000
    hub_port: Port = 8081
    proxy_port: Port = 8001
    dashboard_port: Port = 8082
    tls_cert: str = ""
    tls_key: str = ""
    memory_mb: Annotated[int, Field(ge=300)] = 1500
    """Of a student's processes together where systemd counts them, else of each"""
    cores: Annotated[float, Field(gt=0)] = 2.0
    """Most that a student gets, where systemd counts"""
    processes: Annotated[int, Field(ge=50)] = 300
    idle_minutes: Annotated[int, Field(ge=1)] = 60
    """After so long without a browser a student's server ends; files stay"""
    look_seconds: Annotated[float, Field(gt=0)] = 60
    """How often the dashboard looks at files that have changed"""
    lti: Lti | None = None


@dataclass(frozen=True)
class Place:
    """A class by its folder."""

    path: Path = USUAL

    @property
    def settings_file(self) -> Path:
        return self.path / "class.toml"

    @property
    def roster(self) -> Path:
        return self.path / "roster.csv"

    @property
    def letters(self) -> Path:
        return self.path / "passwords.csv"

    @property
    def passwords(self) -> Path:
        return self.path / "passwords.json"

    @property
    def hub(self) -> Path:
        return self.path / "hub"

    @property
    def log(self) -> Path:
        """What proxy and hub report where `class serve` runs them."""
        return self.hub / "log"

    @property
    def seen(self) -> Path:
        return self.path / "seen"

    @property
    def standing(self) -> Path:
        return self.seen / "standing.json"

    @property
    def wish(self) -> Path:
        """There if the instructor has asked for a collection."""
        return self.seen / "collect"

    def handins(self, lab: str) -> Path:
        return self.path / "handins" / lab

    def settings(self) -> Settings:
        """What class.toml says. Raises ClassError."""
        text = ""
        try:
            text = text_of(self.settings_file)
            return Settings.model_validate(tomllib.loads(text))
        except OSError as error:
            raise ClassError(
                f"{self.settings_file}: {error.strerror}; "
                f"{command()} class make ROSTER.csv makes it."
            ) from error
        except ValidationError as error:
            raise ClassError(f"{self.settings_file}:{refused(error, Settings, text)}") from error
        except (tomllib.TOMLDecodeError, TextError) as error:
            raise ClassError(f"{self.settings_file}: {error}") from error


def written(settings: Settings) -> str:
    """The text of a class.toml."""
    values = settings.model_dump(exclude={"lti"})
    lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
    if settings.lti:
        lines += ["", "[lti]"]
        lines += [f"{name} = {quoted(value)}" for name, value in settings.lti]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return quoted(value) if isinstance(value, str) else str(value)

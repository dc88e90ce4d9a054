"""The settings of a class, from what is there and what is said."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from p4lab.classroom.place import ClassError, Lti, Place, Settings
from p4lab.course.home import names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def given(place: Place, said: Mapping[str, Any], lti: Path | None) -> Settings:
    """What class.toml has, with what is said instead. Raises ClassError, OSError."""
    before = place.settings() if place.settings_file.exists() else Settings()
    changes = dict(said)
    if lti:
        changes["lti"] = _lti(lti)
    settings = before.model_copy(update=changes)
    if settings.lab not in names():
        raise ClassError(f"there is no lab {settings.lab!r}; choose from {', '.join(names())}.")
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise ClassError("a certificate and its key go together: --tls-cert and --tls-key.")
    for path in filter(None, (settings.tls_cert, settings.tls_key)):
        with open(path, "rb"):
            pass
    return settings


def _lti(path: Path) -> Lti:
    try:
        return Lti.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClassError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise ClassError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error

"""The settings of a class, from what is there and what is said."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from p4lab.classroom.place import ClassError, Lti, Place, Settings
from p4lab.course.home import names
from p4lab.course.words import TextError, refused, text_of
from p4lab.notebook.server import address_misfit

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
    if misfit := address_misfit(settings.listen):
        raise ClassError(f"listen {misfit}")
    if settings.tls_cert:
        _check_certificate(settings.tls_cert, settings.tls_key)
    return settings


def _check_certificate(certificate: str, key: str) -> None:
    """Raises ClassError if the files are not a certificate and its key, and OSError."""
    for path in (certificate, key):
        with open(path, "rb"):
            pass
    try:
        # No one is there to type a key's passphrase when the class starts.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except (ssl.SSLError, ValueError) as error:
        raise ClassError(
            f"{certificate} and {key} are not a certificate and its key, as PEM and without a "
            "password: give others with --tls-cert and --tls-key."
        ) from error


def _lti(path: Path) -> Lti:
    try:
        text = text_of(path)
        return Lti.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise ClassError(f"{path}:{refused(error, Lti, text)}") from error
    except (tomllib.TOMLDecodeError, TextError) as error:
        raise ClassError(f"{path}: {error}") from error

"""Where the SDE's tests run: Python with PTF from PyPI, and the checkout's client with stubs made
from its own bfruntime.proto. It is made once, in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from p4lab.sde.checkout import CLIENT, PROTO, PTF_UTILS, THRIFT, SdeError

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
RUNNER = Path(__file__).with_name("runner.py")
MADE = "made"
"""A file that is written last"""

_STUB = "import bfruntime_pb2 as bfruntime__pb2"
_TYPES = """\
import thriftpy2

_types = thriftpy2.load({file!r}, module_name="{package}_thrift")
globals().update((name, one) for name, one in vars(_types).items() if not name.startswith("_"))
"""
_THRIFT = {"pal_rpc": "pal_rpc.thrift", "res_pd_rpc": "res.thrift"}
"""Packages that tests import the types of, and what they are made from"""


@dataclass(frozen=True)
class Environment:
    """Python and PTF, and the variables that tests are started with."""

    venv: Path
    modules: Path
    """What tests import of the checkout, with the stubs"""
    checkout: Path

    @property
    def python(self) -> str:
        """The interpreter of the tests."""
        return str(self.venv / "bin" / "python")

    @property
    def ptf(self) -> list[str]:
        """The words that start PTF."""
        return [self.python, str(RUNNER), str(self.venv / "bin" / "ptf")]

    @property
    def variables(self) -> dict[str, str]:
        """Of tests: our modules in front, and nothing written into the checkout."""
        path = os.pathsep.join(map(str, (self.modules, self.modules / "p4testutils")))
        tools = [str(self.checkout / PTF_UTILS), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]
        return {
            **{name: os.environ[name] for name in ("HOME", "LANG", "TERM") if name in os.environ},
            "PATH": os.pathsep.join(tools),
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONHASHSEED": "0",
        }


def cache() -> Path:
    """Where environments are kept. Raises SdeError without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "p4lab" / "tofino-examples"
    except RuntimeError as error:
        raise SdeError(
            "PTF is kept in a home folder, and this user has none; set XDG_CACHE_HOME."
        ) from error


def environment(checkout: Path, say: Callable[[str], None]) -> Environment:
    """The environment for a checkout; what is not there yet is made. Raises SdeError."""
    checkout = checkout.resolve()
    python = repr(sys.version_info[:2]).encode()
    venv = cache() / f"venv-{_key(python, REQUIREMENTS.read_bytes())}"
    sources = [Path(__file__), checkout / PROTO]
    key = _key(venv.name.encode(), str(checkout).encode(), *(one.read_bytes() for one in sources))
    made = Environment(venv, cache() / f"modules-{key}", checkout)
    if _begin(made.venv):
        say("getting PTF from PyPI, once")
        _install(made.venv)
    if _begin(made.modules):
        say("making the client's stubs")
        _stubs(made)
    return made


def _key(*parts: bytes) -> str:
    """Another one when anything has changed that something is made from."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _begin(place: Path) -> bool:
    """Whether a folder has to be made; then there is an empty one, without what was left half
    made."""
    if (place / MADE).is_file():
        return False
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return True


def _install(venv: Path) -> None:
    _run("PTF's environment", [sys.executable, "-m", "venv", str(venv)])
    install = [str(venv / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    _run("PTF", [*install, "--requirement", str(REQUIREMENTS)])
    (venv / MADE).touch()


def _run(what: str, words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SdeError(f"{what} cannot be installed: {' '.join(told)}")


def _stubs(made: Environment) -> None:
    """bfrt_grpc and p4testutils as the SDE installs them, and what tests import besides."""
    modules = made.modules
    client = modules / "bfrt_grpc"
    client.mkdir(parents=True)
    (client / "__init__.py").touch()
    proto = made.checkout / PROTO
    compiler = [made.python, "-m", "grpc_tools.protoc"]
    include = [f"-I{proto.parent}", f"-I{_google(made.venv)}"]
    out = [f"--python_out={client}", f"--grpc_python_out={client}"]
    _run("the client's stubs", [*compiler, *include, *out, str(proto)])
    stub = client / "bfruntime_pb2_grpc.py"
    stub.write_text(stub.read_text().replace(_STUB, f"from bfrt_grpc {_STUB}"))
    for source in (made.checkout / CLIENT).glob("*.py"):
        (client / source.name).symlink_to(source)
    utilities = modules / "p4testutils"
    utilities.mkdir()
    (utilities / "__init__.py").touch()
    for source in (made.checkout / PTF_UTILS).glob("*.py"):
        (utilities / source.name).symlink_to(source)
    for package, file in _THRIFT.items():
        if (made.checkout / THRIFT / file).is_file():
            (modules / package).mkdir()
            (modules / package / "__init__.py").touch()
            text = _TYPES.format(file=str(made.checkout / THRIFT / file), package=package)
            (modules / package / "ttypes.py").write_text(text)
    (modules / MADE).touch()


def _google(venv: Path) -> Path:
    """Where google/rpc/status.proto is, which googleapis-common-protos brings."""
    for found in venv.glob("lib/python*/site-packages/google/rpc/status.proto"):
        return found.parents[2]
    raise SdeError("googleapis-common-protos brings no google/rpc/status.proto any more.")

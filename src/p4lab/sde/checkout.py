"""What a checkout of open-p4studio has: example programs, their tests, and the client's sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path("pkgsrc/p4-examples/p4_16_programs")
CONFIGURATIONS = Path("pkgsrc/p4-examples/tofino")
PTF_UTILS = Path("pkgsrc/ptf-modules/ptf-utils")
CLIENT = Path("pkgsrc/bf-drivers/src/bf_rt/bfruntime_grpc_client/python")
PROTO = Path("pkgsrc/bf-drivers/src/bf_rt/proto/bfruntime.proto")
THRIFT = Path("pkgsrc/bf-drivers/pdfixed_thrift/thrift")
TESTS = "test.py"
PORTS = "ports.json"


class SdeError(Exception):
    """Why the examples cannot be run, in one sentence."""


@dataclass(frozen=True)
class Example:
    """A folder with tests, and the programs that these need: one, or several for a chip's pipes."""

    name: str
    folder: Path
    programs: tuple[Path, ...]
    conf: Path | None = None
    """In which pipes they run, as bf_switchd takes it; None: in all"""
    looped: tuple[int, ...] = ()
    """Pipes whose ports lead back to themselves, as the model's --int-port-loop says"""

    @property
    def ports(self) -> Path | None:
        """Its ports.json; None: it runs with the usual ports."""
        file = self.folder / PORTS
        return file if file.is_file() else None


def examples_of(checkout: Path) -> dict[str, Example]:
    """The examples with tests, by name. Raises SdeError if the folder is not such a checkout."""
    for part in (EXAMPLES, PTF_UTILS, CLIENT, PROTO):
        if not (checkout / part).exists():
            raise SdeError(
                f"{checkout} is not a checkout of p4lang/open-p4studio: it lacks {part.as_posix()}."
            )
    found = {}
    for tests in sorted((checkout / EXAMPLES).glob(f"*/{TESTS}")):
        folder = tests.parent
        if programs := _programs(folder):
            found[folder.name] = Example(
                folder.name, folder, programs, _conf(checkout, folder), _looped(folder)
            )
    return found


def _programs(folder: Path) -> tuple[Path, ...]:
    """Its own, or those of its folders program_a, program_b, ..."""
    own = folder / f"{folder.name}.p4"
    return (own,) if own.is_file() else tuple(sorted(folder.glob(f"program_*/{folder.name}_?.p4")))


def _conf(checkout: Path, folder: Path) -> Path | None:
    named = folder / "custom_conf_file"
    if not named.is_file():
        return None
    return checkout / CONFIGURATIONS / f"{named.read_text(encoding='utf-8').strip()}.in"


def _looped(folder: Path) -> tuple[int, ...]:
    options = folder / "custom_model_options"
    words = options.read_text(encoding="utf-8").split() if options.is_file() else []
    if "--int-port-loop" not in words:
        return ()
    bits = int(words[words.index("--int-port-loop") + 1], 0)
    return tuple(pipe for pipe in range(4) if bits >> pipe & 1)

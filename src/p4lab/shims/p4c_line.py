"""The command lines of p4c-bm2-ss and p4c, as far as our compiler can honour them.

Both take options and one program in any order, with `=` or a blank before a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

DRIVER = "p4c"
"""Its -o is a folder; that of the others is the JSON itself"""

# Options that change nothing here: name and whether a value follows.
_IGNORED = {
    "-T": True,
    "-v": False,
    "--debug": False,
    "-c": False,
    "--compile": False,
    "-g": False,
    "-S": False,
    "-e": False,
    "-W": True,
    "-U": True,
    "-MD": False,
    "--nocpp": False,
    "--top4": True,
    "--dump": True,
    "--ndebug": False,
    "--testJson": False,
    "--metrics": True,
    "--loopsUnroll": False,
    "--emit-externs": False,
    "--maxErrorCount": True,
    "--parser-inline-opt": False,
    "--doNotEmitIncludes": False,
    "--excludeFrontendPasses": True,
    "--excludeMidendPasses": True,
}
# The same with a value that only `=` gives.
_IGNORED_WITH = ("--Wdisable", "--Winfo", "--Wwarn", "--Werror", "--disable-annotations", "-O")
_REFUSED = {
    "-E": "it preprocesses and compiles at once",
    "-M": "it writes no dependencies for make",
    "-MF": "it writes no dependencies for make",
    "--pp": "it prints no program; `p4lab fmt` formats one",
    "--toJSON": "its tree is another than p4c's",
    "--fromJSON": "its tree is another than p4c's",
    "--p4runtime-entries-file": "it writes no entries; the switch has those of the program",
    "--p4runtime-entries-files": "it writes no entries; the switch has those of the program",
    "--listFrontendPasses": "its passes are others than p4c's",
    "--listMidendPasses": "its passes are others than p4c's",
}
_VERSIONS = {"p4-16", "p4_16", "16"}
_ARCHITECTURES = {"v1model", "ss"}


class LineError(Exception):
    """What is wrong with the command line, in one sentence."""


@dataclass(frozen=True)
class Line:
    """What is to be compiled, and what is to be written. `shown` is "help" or "version"."""

    program: Path | None = None
    output: Path | None = None
    p4info: tuple[Path, ...] = ()
    p4info_format: str | None = None
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    shown: str | None = None


def parse(tool: str, words: Sequence[str]) -> Line:
    """Reads the words behind a compiler's name; raises LineError."""
    line = Line()
    rest = iter(words)
    for word in rest:
        name, given = _split(word)
        if name in ("-h", "--help", "--version", "-V"):
            return replace(line, shown="help" if name in ("-h", "--help") else "version")
        if name in _REFUSED:
            raise LineError(f"this compiler has no {name}: {_REFUSED[name]}.")
        if name.startswith(_IGNORED_WITH):
            continue
        if name in _IGNORED:
            if _IGNORED[name] and given is None:
                _value(name, rest)
        elif name.startswith("-") and name != "-":
            line = _with(line, name, given if given is not None else _value(name, rest))
        elif line.program is not None:
            raise LineError(f"one program is enough: {line.program} or {word}.")
        else:
            line = replace(line, program=Path(word))
    if line.program is None:
        raise LineError("no program is named.")
    return replace(line, output=_json_of(tool, line))


def _with(line: Line, name: str, value: str) -> Line:
    """The line with an option that counts."""
    if name in ("-o", "--output"):
        return replace(line, output=Path(value))
    if name == "-I":
        return replace(line, include_dirs=(*line.include_dirs, value))
    if name == "-D":
        macro, _, text = value.partition("=")
        return replace(line, defines=(*line.defines, (macro, text or "1")))
    if name in ("--p4runtime-file", "--p4runtime-files"):
        files = tuple(Path(file) for file in value.split(",") if file)
        return replace(line, p4info=(*line.p4info, *files))
    if name == "--p4runtime-format":
        return replace(line, p4info_format=value)
    if name in ("--std", "-x", "--p4v"):
        if value not in _VERSIONS:
            raise LineError(f"{name} {value}: this compiler knows P4_16 only.")
        return line
    if name in ("--target", "-b"):
        if not value.startswith("bmv2"):
            raise LineError(f"{name} {value}: here is bmv2 only; `p4lab run` has other targets.")
        return line
    if name in ("--arch", "-a"):
        if value not in _ARCHITECTURES:
            raise LineError(f"{name} {value}: this switch is of the architecture v1model.")
        return line
    raise LineError(f"there is no option {name}.")


def _json_of(tool: str, line: Line) -> Path | None:
    """The file for the JSON; None if p4c-bm2-ss is to check the program only."""
    assert line.program is not None
    if tool != DRIVER:
        return line.output
    return (line.output or Path(".")) / f"{line.program.stem}.json"


def _split(word: str) -> tuple[str, str | None]:
    """An option and its value, if one word has both."""
    if word.startswith("--") and "=" in word:
        name, _, value = word.partition("=")
        return name, value
    if word[:2] in ("-I", "-D", "-T", "-U", "-o", "-b", "-a") and len(word) > 2:
        return word[:2], word[2:].removeprefix("=")
    return word, None


def _value(option: str, rest: Iterator[str]) -> str:
    """The value of an option that needs one."""
    word = next(rest, None)
    if word is None:
        raise LineError(f"{option} needs a value.")
    return word

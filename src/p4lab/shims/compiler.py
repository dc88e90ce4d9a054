"""`p4c-bm2-ss` and `p4c`: our compiler, with the files that theirs leaves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from p4lab import __version__, _engine
from p4lab.shims.device_json import device_json
from p4lab.shims.p4c_line import DRIVER, Line, LineError, parse
from p4lab.shims.source import whole_source

FAILED = 1  # as p4c's
FORMATS = {".txt": "text", ".txtpb": "text", ".json": "json", ".bin": "binary"}
"""What p4c makes of the end of a P4Info file's name"""
HELP = """{tool}: p4lab's compiler in the place of p4c ({version})

{tool} [OPTIONS] PROGRAM.p4
  -o FILE                     the JSON for the switch{folder}
  --p4runtime-files FILE,...  P4Info, by its ending as .txt, .txtpb, .json or .bin
  --p4runtime-format FORMAT   text, json or binary instead
  -I DIR, -D NAME[=VALUE]     for the preprocessor
  --std p4-16, --target bmv2, --arch v1model
p4c's other options are taken and change nothing, or are refused with the reason.
"""


def main(tool: str, words: Sequence[str]) -> int:
    """Compiles as the command line says; gives the exit status."""
    try:
        line = parse(tool, words)
        if line.shown:
            print(_about(tool, line.shown))
            return 0
        return _compile(tool, line)
    except (LineError, UnicodeDecodeError) as error:
        print(f"{tool}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{tool}: {error.filename}: {error.strerror}.", file=sys.stderr)
    return FAILED


def _about(tool: str, what: str) -> str:
    if what == "version":
        return f"{tool}\nVersion p4lab {__version__}"
    folder = "; for p4c the folder for it" if tool == DRIVER else ""
    return HELP.format(tool=tool, version=__version__, folder=folder)


def _compile(tool: str, line: Line) -> int:
    assert line.program is not None
    result = _engine.compile(str(line.program), list(line.include_dirs), list(line.defines))
    sys.stderr.write(result.render())
    if not result.ok:
        return FAILED
    if result.program is None:
        raise LineError(f"{line.program} has no package instance called main.")
    source = whole_source(line.program, line.include_dirs, line.defines)
    if line.output is not None:
        line.output.parent.mkdir(parents=tool == DRIVER, exist_ok=True)
        text = device_json(result.program, line.program.name, source, str(line.program))
        line.output.write_text(text, encoding="utf-8")
        if tool == DRIVER:  # it leaves the preprocessed program beside the JSON
            line.output.with_suffix(".p4i").write_text(source, encoding="utf-8")
    for file in line.p4info:
        _write_p4info(result.program, file, line.p4info_format)
    return 0


def _write_p4info(program: _engine.Program, file: Path, wanted: str | None) -> None:
    form = wanted or FORMATS.get(file.suffix)
    if form not in FORMATS.values():
        raise LineError(f"{file}: P4Info is a .txt, .txtpb, .json or .bin file.")
    try:
        text = program.p4info(json=form == "json")
    except ValueError as error:
        raise LineError(str(error)) from error
    if form != "binary":
        file.write_text(text, encoding="utf-8")
        return
    from finsy.proto import p4i  # heavy: the messages of P4Runtime
    from google.protobuf import text_format

    file.write_bytes(text_format.Parse(text, p4i.P4Info()).SerializeToString())

"""What bf_switchd's configuration says of pipes: which pipeline of a program runs in which."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from p4lab.p4runtime.command_line import PIPES


class ConfError(Exception):
    """What is wrong with a configuration, in a few words."""


def pipelines_in(conf: Path, program: str) -> list[str | None]:
    """The pipeline of each pipe, by the "pipe_scope" that a program's pipelines have there; None
    where none runs. Raises ConfError."""
    try:
        data = json.loads(conf.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfError(f"it cannot be read as JSON: {error}") from error
    placed: list[str | None] = [None] * PIPES
    for pipeline in _pipelines(data, program):
        name, scope = pipeline.get("p4_pipeline_name"), pipeline.get("pipe_scope")
        if not isinstance(name, str) or not isinstance(scope, list):
            raise ConfError(f"a pipeline of {program} lacks p4_pipeline_name or pipe_scope")
        for pipe in scope:
            if pipe not in range(PIPES):
                raise ConfError(f"the pipe_scope of {name} has {pipe}; pipes are 0 to {PIPES - 1}")
            if placed[pipe] is not None:
                raise ConfError(f"{placed[pipe]} and {name} cannot both run in pipe {pipe}")
            placed[pipe] = name
    return placed


def _pipelines(data: Any, program: str) -> Iterator[Mapping[str, Any]]:
    names = []
    for one in _objects(_first(data, "p4_devices"), "p4_programs"):
        names.append(str(one.get("program-name")))
        if names[-1] == program:
            return _objects(one, "p4_pipelines")
    raise ConfError(f"it has no program {program}, but {', '.join(names) or 'none'}")


def _first(data: Any, key: str) -> Mapping[str, Any]:
    for found in _objects(data, key):
        return found
    raise ConfError(f"its {key} is empty")


def _objects(data: Any, key: str) -> Iterator[Mapping[str, Any]]:
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ConfError(f"{key} is to be a list of objects")
    return iter(found)

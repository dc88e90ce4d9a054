"""Who is who in an export of Gradescope: its `submission_metadata.yml`, beside a folder for each.

Gradescope does not describe the file. This is how several programs that read it know it (looked at
in 2026-11), written by Ruby's YAML:

    submission_123:
      :submitters:
      - :name: Ada Lovelace
        :sid: '4711'
        :email: ada@example.edu
      :created_at: 2026-11-20 17:34:00.861687000 Z
      :results: ...

A team has several submitters. Nothing else of the file is looked at: what an autograder wrote into
it stands further to the right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

NAME = "submission_metadata.yml"

_FOLDER = re.compile(r"(?P<quote>[\"']?)(?P<name>[^\s:\"']+)(?P=quote):\s*")
_FIELD = re.compile(r"(?:  - |    ):(?P<key>name|sid|email): *(?P<value>.*)")
_TIME = re.compile(r"  :created_at: *(?P<value>.*)")


@dataclass(frozen=True)
class HandIn:
    """What is known of a folder: for each who handed it in what they may be called, the surest
    first (number, address, name), and when, as it is written."""

    submitters: tuple[tuple[str, ...], ...]
    when: str = ""


def read(lines: Iterable[str]) -> dict[str, HandIn]:
    """The hand-ins of a file, by folder."""
    return {folder: _hand_in(rows) for folder, rows in _blocks(lines)}


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each folder with the lines below it."""
    folder = ""
    rows: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")
        if found := _FOLDER.fullmatch(line):
            if folder:
                yield folder, rows
            folder, rows = found["name"], []
        else:
            rows.append(line)
    if folder:
        yield folder, rows


def _hand_in(rows: Iterable[str]) -> HandIn:
    people: list[dict[str, str]] = []
    when, inside = "", False
    for row in rows:
        if row.startswith("  ") and row[2:3] not in (" ", "-"):
            inside = row.startswith("  :submitters:")
            if found := _TIME.fullmatch(row):
                when = _scalar(found["value"])
        elif inside and (found := _FIELD.fullmatch(row)):
            if row.startswith("  - "):
                people.append({})
            if people:
                people[-1][found["key"]] = _scalar(found["value"])
    named = (tuple(filter(None, map(one.get, ("sid", "email", "name")))) for one in people)
    return HandIn(tuple(filter(None, named)), when)


def _scalar(text: str) -> str:
    """A value on one line of YAML."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return "" if text in ("~", "null", "''") else text

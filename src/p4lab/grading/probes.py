"""A student's program with a probe before every statement, so that a trace says which ran.

A trace shows what changes. A statement that writes what was there before, and a condition that does
not hold, leave no step. So each control, parser and function gets a variable, and each statement is
preceded by an assignment to it: its changes say the way of a packet, statement by statement. Lines
stay what they are, so that all other steps keep their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from p4lab import _engine

PROBE = "p4lab_at"
"""The variable of a control. Students' programs have none of this name"""

_TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:\\\n|[^\n])* | "(?:\\.|[^"\\\n])*"
    | [A-Za-z_]\w* | \d\w* | \+\+ | [=!<>]= | && | \|\| | <<= | \S""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_$]\w*)*")
_WRITTEN = re.compile(r"^(?:[\w<>]+ )?([A-Za-z_][\w. ]*?)(?:\[[^=]*\])? ?=(?!=)(.*)$")
_CALLED = re.compile(r"^(?:[^=(]*[^=!<>(]= ?)?([A-Za-z_][\w.]*)\(")
_OPEN, _CLOSE = {"(", "{", "["}, {")", "}", "]"}


@dataclass(frozen=True)
class Statement:
    """A statement: its text on one line, from `line` to `last`, the line where its last branch
    `closes`, and the conditions around it, the outermost first: each is the number of an `if` or a
    `switch` and the branch of it (such as "then"). `around` is the action, state or `apply` that it
    is in, `unit` the control or parser."""

    number: int
    file: str
    line: int
    last: int
    text: str
    kind: str
    unit: str
    around: str
    branches: tuple[tuple[int, str], ...] = ()
    closes: int = 0

    @cached_property
    def target(self) -> str:
        """The name that the statement writes; empty if it writes none."""
        found = _WRITTEN.match(self.text) if self.kind == "statement" else None
        if found:
            return re.sub(r"\s", "", found.group(1))
        valid = re.match(r"^([\w.]+)\.set(?:Inv|V)alid\(\)", self.text)
        return f"{valid.group(1)}.$valid" if valid else ""

    @cached_property
    def called(self) -> str:
        """What a statement calls that is a call alone, such as `bfr.apply`, or that keeps what it
        gives; else empty."""
        found = _CALLED.match(self.text) if self.kind == "statement" else None
        return found.group(1) if found else ""

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The names that its value, or its condition, is made from."""
        found = _WRITTEN.match(self.text) if self.kind == "statement" else None
        text = (found.group(2) if found else self.text).replace(".isValid", ".$valid")
        return tuple(re.sub(r"\s", "", word) for word in _WORD.findall(text))


@dataclass
class Probed:
    """A program with its probes: the texts by path, and the statements by their numbers."""

    files: dict[str, str]
    statements: dict[int, Statement]


@dataclass(frozen=True)
class ProbedProgram:
    """A program with its probes, ready to run; None if it does not compile with them."""

    program: _engine.Program | None
    statements: Mapping[int, Statement]


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int
    line: int


@dataclass
class _File:
    """A file under way: its tokens, and what is put in, by the place."""

    name: str
    source: str
    first: int
    tokens: list[_Token]
    inserts: list[tuple[int, str]] = field(default_factory=list)
    pairs: dict[int, int] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)


class _CannotProbeError(Exception):
    """The text is none that is understood here."""


def probed(files: Mapping[str, str]) -> Probed:
    """The files with probes. A file that is not understood stays as it is."""
    texts: dict[str, str] = {}
    statements: dict[int, Statement] = {}
    for name, source in files.items():
        texts[name], found = _probed_file(name, source, len(statements) + 1)
        statements.update((one.number, one) for one in found)
    return Probed(texts, statements)


@lru_cache(maxsize=128)
def _probed_file(name: str, source: str, first: int) -> tuple[str, tuple[Statement, ...]]:
    """A file with its probes, whose numbers begin with `first`, and its statements."""
    work = _File(name, source, first, list(_tokens(source)) if name.endswith(".p4") else [])
    work.pairs = _pairs(work.tokens)
    try:
        _units(work)
    except (_CannotProbeError, IndexError, RecursionError):
        return source, ()
    return _inserted(work), tuple(work.statements)


def with_counter(source: str, line: int, declared: str, counting: str) -> str:
    """A file with a counter in the control that is declared at a line, and a statement that counts
    at the beginning of what it applies; as it is, if it is not understood."""
    work = _File("", source, 1, list(_tokens(source)))
    work.pairs = _pairs(work.tokens)
    tokens = work.tokens
    begin = next((i for i, t in enumerate(tokens) if t.line >= line and t.text == "{"), None)
    if begin is None:
        return source
    at = begin + 1
    while at < work.pairs.get(begin, 0):
        if tokens[at].text == "apply" and tokens[at + 1].text == "{":
            work.inserts = [
                (tokens[begin].end, f" {declared}"),
                (tokens[at + 1].end, f" {counting}"),
            ]
        at = work.pairs.get(at, at) + 1
    return _inserted(work)


def _inserted(work: _File) -> str:
    parts, at = [], 0
    for place, text in sorted(work.inserts, key=lambda item: item[0]):
        parts += [work.source[at:place], text]
        at = place
    return "".join([*parts, work.source[at:]])


def _tokens(source: str) -> Iterator[_Token]:
    line, at = 1, 0
    for found in _TOKEN.finditer(source):
        line += source.count("\n", at, found.start())
        at = found.start()
        text = found.group()
        if not text.startswith(("//", "/*")) and not text.lstrip().startswith("#"):
            yield _Token(text, found.start(), found.end(), line)


def _closing(work: _File, at: int) -> int:
    """The index of the token that closes the bracket at index `at`."""
    if at not in work.pairs:
        raise _CannotProbeError
    return work.pairs[at]


def _pairs(tokens: Sequence[_Token]) -> dict[int, int]:
    """For each bracket that opens, the index of the token that closes it."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.text in _OPEN:
            opened.append(index)
        elif token.text in _CLOSE and opened:
            pairs[opened.pop()] = index
    return pairs


# ---- Declarations -----------------------------------------------------------------------------


def _units(work: _File) -> None:
    """The controls and parsers of a file."""
    at = 0
    while at < len(work.tokens):
        text = work.tokens[at].text
        if text in ("control", "parser"):
            name = work.tokens[at + 1].text
            while work.tokens[at].text not in ("{", ";"):
                at = _closing(work, at) + 1 if work.tokens[at].text in _OPEN else at + 1
            if work.tokens[at].text == "{":
                end = _closing(work, at)
                work.inserts.append((work.tokens[at].end, f" bit<32> {PROBE} = 0;"))
                _members(work, at + 1, end, name)
                at = end
        elif text == "{" and work.tokens[at - 1].text == ")":  # a function, or an action
            name = _named(work, at - 1)
            work.inserts.append((work.tokens[at].end, f" bit<32> {PROBE} = 0;"))
            at = _block(work, at, name, name, ()) - 1
        at += 1


def _named(work: _File, at: int) -> str:
    """The name before the parameters that end at index `at`."""
    depth = 0
    while True:
        text = work.tokens[at].text
        depth += (text in _CLOSE) - (text in _OPEN)
        at -= 1
        if depth == 0:
            return work.tokens[at].text


def _members(work: _File, at: int, end: int, unit: str) -> None:
    """What is declared in a control or a parser: bodies are those of actions, states, `apply`, and
    of the methods of an extern's instance."""
    around = ""
    while at < end:
        text = work.tokens[at].text
        if text in ("action", "state"):
            around = work.tokens[at + 1].text
        elif text in ("table", "value_set"):
            while work.tokens[at].text not in ("{", ";"):
                at += 1
            at = _closing(work, at) if work.tokens[at].text == "{" else at
        elif text == "apply" and work.tokens[at + 1].text == "{":
            around = "apply"
        elif text == "{" and work.tokens[at - 1].text == "=":
            instance = work.tokens[at - 2].text
            at = _methods(work, at + 1, _closing(work, at), unit, instance)
        elif text == "{" and around:
            close = _closing(work, at)
            _block(work, at, unit, around, ())
            at, around = close, ""
        elif text in _OPEN:
            at = _closing(work, at)
        at += 1


def _methods(work: _File, at: int, end: int, unit: str, instance: str) -> int:
    """The bodies of an instance's methods; gives the index of the brace behind them."""
    while at < end:
        if work.tokens[at].text == "{":
            if work.tokens[at - 1].text == ")":
                _block(work, at, unit, instance, ())
            at = _closing(work, at)
        at += 1
    return end


# ---- Statements -------------------------------------------------------------------------------

_Branches = tuple[tuple[int, str], ...]


def _block(work: _File, at: int, unit: str, around: str, branches: _Branches) -> int:
    """The statements of the block at index `at`; gives the index behind it."""
    end = _closing(work, at)
    at += 1
    while at < end:
        at = _statement(work, at, unit, around, branches)
    return end + 1


def _statement(
    work: _File, at: int, unit: str, around: str, branches: _Branches, bare: bool = False
) -> int:
    """The statement at index `at`, `bare` if it is a branch without braces of its own, which it
    then gets; gives the index behind it."""
    text = work.tokens[at].text
    if text == "{":
        return _block(work, at, unit, around, branches)
    start = work.tokens[at].start
    if text == "if":
        end = _if(work, at, unit, around, branches)
    elif text == "switch":
        end = _switch(work, at, unit, around, branches)
    elif text == "@":
        end = at + 2
        return _closing(work, end) + 1 if work.tokens[end].text == "(" else end
    else:
        end = _simple(work, at, unit, around, branches)
    if bare:
        place = next(i for i in reversed(range(len(work.inserts))) if work.inserts[i][0] == start)
        work.inserts[place] = (start, "{" + work.inserts[place][1])
        work.inserts.append((work.tokens[end - 1].end, "}"))
    return end


def _add(
    work: _File, at: int, end: int, kind: str, unit: str, around: str, branches: _Branches
) -> int:
    """Adds the statement from index `at` to before `end`, with its probe; gives its number."""
    number = work.first + len(work.statements)
    first, last = work.tokens[at], work.tokens[end - 1]
    text = " ".join(work.source[first.start : last.end].split())
    work.statements.append(
        Statement(number, work.name, first.line, last.line, text, kind, unit, around, branches)
    )
    work.inserts.append((first.start, f"{PROBE} = {number}; "))
    return number


def _simple(work: _File, at: int, unit: str, around: str, branches: _Branches) -> int:
    """A statement that ends with a semicolon, or with the braces of a `select`."""
    end = at
    while work.tokens[end].text != ";":
        if work.tokens[end].text in _OPEN:
            end = _closing(work, end)
            select = work.tokens[at].text == "transition" and work.tokens[end].text == "}"
            if select:
                break
        end += 1
    kind = "transition" if work.tokens[at].text == "transition" else "statement"
    if work.tokens[at].text != ";":
        _add(work, at, end + 1, kind, unit, around, branches)
    return end + 1


def _if(work: _File, at: int, unit: str, around: str, branches: _Branches) -> int:
    close = _closing(work, at + 1)
    number = _add(work, at, close + 1, "if", unit, around, branches)
    end = _statement(work, close + 1, unit, around, (*branches, (number, "then")), bare=True)
    if end < len(work.tokens) and work.tokens[end].text == "else":
        end = _statement(work, end + 1, unit, around, (*branches, (number, "else")), bare=True)
    _close(work, number, end)
    return end


def _switch(work: _File, at: int, unit: str, around: str, branches: _Branches) -> int:
    close = _closing(work, at + 1)
    number = _add(work, at, close + 1, "switch", unit, around, branches)
    brace = close + 1
    end = _closing(work, brace)
    label: list[str] = []
    at = brace + 1
    while at < end:
        text = work.tokens[at].text
        if text == "{" and work.tokens[at - 1].text == ":":
            at = _block(work, at, unit, around, (*branches, (number, " ".join(label[:-1]))))
            label = []
        else:
            label.append(text)
            at += 1
    _close(work, number, end + 1)
    return end + 1


def _close(work: _File, number: int, end: int) -> None:
    """Notes where a compound statement ends: before the token at index `end`."""
    place = number - work.first
    closes = work.tokens[end - 1].line
    work.statements[place] = replace(work.statements[place], closes=closes)

"""A lab as its graders see it: parts, checks, hints, the reference program and the cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from p4lab import _engine
from p4lab.command import command
from p4lab.course import marks
from p4lab.course.labs import LabError, at_key, author_text, home, read_lab, system_of
from p4lab.course.material import Inside, Student, given, source
from p4lab.course.words import PlacedError, refused
from p4lab.grading import frames, hints
from p4lab.grading.frames import Headers
from p4lab.grading.hints import Hint
from p4lab.grading.measuring import MeasureFile, Workload, drawn, measured
from p4lab.grading.plans import make_plan
from p4lab.grading.probes import ProbedProgram, probed
from p4lab.grading.rows import ScenarioError, Session
from p4lab.grading.scenario import (
    Case,
    Kit,
    Scenario,
    Sending,
    make_case,
    read,
)
from p4lab.model.run import Plan
from p4lab.model.system import System
from p4lab.network.cpu import CpuPort
from p4lab.policies import PolicyError, Program
from p4lab.policies import read as read_policies

if TYPE_CHECKING:
    from p4lab.grading.record import CheckResult

Defines = tuple[tuple[str, str], ...]
Counts = tuple[int, ...]
OfCheck = TypeVar("OfCheck", bound=BaseModel)

FOUND = "checks/found"
"""Below it in a lab's folder, by check: scenarios of one case each, that were found to tell a wrong
program from the solution"""

MAX_PASSES = 128
"""How often a packet may go around in a switch that is judged: far more than most need, and few
enough that a loop is told in an instant."""
MOST_PASSES = 512
"""How often it may where the reference goes around more often than that: 255 receivers may be
behind as many next hops."""
MAX_PACKETS = 2048
"""How many packets one arriving packet may become there."""
MISSPELT = 0.85
"""How alike two signatures are of which one is likely to be a misspelt other"""


class Part(BaseModel):
    """The table [[part]]: what a student solves as a whole; in one `file`, if it is one."""

    model_config = ConfigDict(extra="forbid")
    id: str
    title: str
    file: Inside | None = None


class Check(BaseModel):
    """The table [[check]]. What is checked is one of `stage` (compiles, contract), `parses` (a
    scenario whose packets the program must parse as the reference does), `scenario`, `numbers`
    (of an answers file of the student's), `breaks` (packets of the student's that break a faulty
    program), `measure` (what policies of the student's bring about) and `stf`; the files are below
    the lab's folder. `cases` and `hidden` are how many cases of a scenario or a measure students
    see and how many more a grader draws; of what is in `frugal` a program may spend no more than
    the solution.
    A `stage` looks at the program with its own `defines`, if it has some, and else with all.
    It is skipped while a check that it `needs` has not passed, for which failures in hidden cases
    count if it is a measure; and if it fails while one fails that it `suffers` from."""

    model_config = ConfigDict(extra="forbid")
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str
    part: str = ""
    points: Annotated[float, Field(ge=0)] = 0
    needs: list[str] = []
    suffers: list[str] = []
    stage: Annotated[str | None, Field(pattern="^(compiles|contract)$")] = None
    defines: dict[str, str | int] = {}
    parses: Inside | None = None
    scenario: Inside | None = None
    numbers: Inside | None = None
    breaks: Inside | None = None
    measure: Inside | None = None
    stf: list[Inside] = []
    frugal: list[Literal["tables", "copies"]] = []
    cases: Annotated[int, Field(ge=1, le=1000)] = 1
    hidden: Annotated[int, Field(ge=0, le=1000)] = 0

    @model_validator(mode="after")
    def _one_kind(self) -> Check:
        kinds = [self.stage, self.parses, self.scenario, self.numbers, self.breaks, self.measure]
        if sum(kind is not None for kind in [*kinds, self.stf or None]) != 1:
            raise ValueError(
                "a check has one of stage, parses, scenario, numbers, breaks, measure and stf"
            )
        if self.frugal and not self.scenario:
            raise ValueError("only a check with a scenario can be frugal")
        if self.defines and not self.stage:
            raise ValueError("defines in a check are for a stage; a scenario has its own")
        return self


class _Checks(BaseModel):
    """The table [checks]: what all checks share. `seconds` of processor time are what judging a
    submission may take, if the grader does not allow more."""

    model_config = ConfigDict(extra="forbid")
    starter_points: float = 0
    seconds: Annotated[int, Field(ge=1, le=600)] = 10
    defines: dict[str, str | int] = {}
    lints: list[Literal["bmv2", "tofino"]] = []
    vary: dict[str, Annotated[list[str | int], Field(min_length=1)]] = {}
    draw: dict[str, Any] = {}
    session: list[Session] = []
    header: dict[str, dict[str, Any]] = {}
    packet: dict[str, dict[str, Any]] = {}


class _HintsTable(BaseModel):
    """The table [hints]. `counted`: a grader's record has how many steps a student has asked
    for."""

    model_config = ConfigDict(extra="forbid")
    counted: bool = False


class _LabHead(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str
    title: str


class _CourseFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    lab: _LabHead
    student: Student
    checks: _Checks = _Checks()
    part: list[Part] = []
    check: list[Check] = []
    hint: list[Hint] = []
    hints: _HintsTable = _HintsTable()

    @model_validator(mode="after")
    def _sound(self) -> _CourseFile:
        parts = {part.id for part in self.part}
        seen: set[str] = set()
        for number, check in enumerate(self.check):
            at = ("check", number)
            if check.part and check.part not in parts:
                raise PlacedError((*at, "part"), f"there is no part {check.part}")
            if not check.part and check.points:
                raise PlacedError((*at, "points"), "only a check of a part has points")
            if check.id in seen:
                raise PlacedError((*at, "id"), f"there are two checks {check.id}")
            for need in check.needs:
                if need not in seen:
                    told = f"no check {need} stands before {check.id}"
                    raise PlacedError((*at, "needs"), told)
            seen.add(check.id)
        for number, hint in enumerate(self.hint):
            for name in [hint.check] if isinstance(hint.check, str) else hint.check or []:
                if name not in seen:
                    raise PlacedError(("hint", number, "check"), f"there is no check {name}")
        causes = {check.id: {*check.needs, *check.suffers} for check in self.check}
        for number, check in enumerate(self.check):
            at = ("check", number)
            for cause in check.suffers:
                if cause not in seen:
                    raise PlacedError((*at, "suffers"), f"there is no check {cause}")
                if check.id in _reached(cause, causes):
                    told = f"{check.id} and {cause} would blame each other"
                    raise PlacedError((*at, "suffers"), told)
        return self


def _reached(start: str, ways: Mapping[str, set[str]]) -> set[str]:
    """All that can be reached from a start, itself included."""
    found: set[str] = set()
    left = [start]
    while left:
        here = left.pop()
        if here not in found:
            found.add(here)
            left += ways.get(here, ())
    return found


@dataclass(frozen=True)
class Judged:
    """A case and what the reference makes of it: for each packet sent, what comes out, as bytes by
    port and in order of ports, and how many packets it has `counted` in the cells of the case. If
    looped ports share the work, `came_back` says how often each packet came back by one. Of a
    network `plan` is its run."""

    case: Case
    seed: str
    outputs: tuple[tuple[tuple[int, bytes], ...], ...] = ()
    counted: tuple[int, ...] = ()
    came_back: tuple[int, ...] = ()
    plan: Plan | None = None

    @cached_property
    def plain(self) -> Judged:
        """The same without noise, of which the reference makes the same."""
        if self.case.undefined is None:
            return self
        return replace(self, case=replace(self.case, undefined=None))


@dataclass
class Course:
    """A lab with everything that its checks need, read once."""

    name: str
    title: str
    student: Student
    parts: tuple[Part, ...]
    checks: tuple[Check, ...]
    hints: tuple[Hint, ...]
    starter_points: float
    kit: Kit
    folder: Path
    seconds: int = 10
    """Of processor time that a submission may take at least"""
    counts_hints: bool = False
    """Whether a grader's record has how many steps of hints a student has asked for"""
    _programs: dict[Defines, _engine.Program] = field(default_factory=dict, repr=False)
    _probed: dict[Defines, ProbedProgram] = field(default_factory=dict, repr=False)
    _layouts: dict[Defines, dict[str, dict[str, int]]] = field(default_factory=dict, repr=False)
    _cpus: dict[Defines, CpuPort] = field(default_factory=dict, repr=False)
    _scenarios: dict[str, Scenario] = field(default_factory=dict, repr=False)
    _cases: dict[tuple[str, str], Judged] = field(default_factory=dict, repr=False)
    _fits: bool = False
    """Whether what the lab says of headers is known to fit the reference"""
    _measures: dict[str, MeasureFile] = field(default_factory=dict, repr=False)
    _workloads: dict[str, Workload] = field(default_factory=dict, repr=False)
    ways: dict[tuple[str, int | None], tuple[Judged, Any]] = field(default_factory=dict, repr=False)
    """The reference's ways through cases, for who looks for the statement to blame"""
    exchanges: dict[str, tuple[Judged, Any]] = field(default_factory=dict, repr=False)
    """What switches are given and send in networks with the reference"""
    outs: dict[tuple[str, int], tuple[Judged, Any]] = field(default_factory=dict, repr=False)
    """What the reference sends in cases, as headers, by packet"""

    @cached_property
    def sources(self) -> dict[str, str]:
        """The solution's files by path, those of the student included. Raises LabError."""
        files = {}
        for name in [*self.student.files, *self.student.edit]:
            try:
                edited = name in self.student.edit
                files[name] = (
                    author_text(source(self.name, name), f"p4/{name}")
                    if edited
                    else given(self.name, name)
                )
            except OSError as error:
                raise LabError(f"labs/{self.name}: p4/{name}: {error.strerror}") from error
        return files

    @cached_property
    def begun(self) -> dict[str, str]:
        """What students begin with, as it is cut from the solution, by file. Raises LabError."""
        return {name: marks.starter(self.sources[name], f"p4/{name}") for name in self.student.edit}

    @cached_property
    def starter(self) -> dict[str, str]:
        """What students begin with: their files by path. Raises LabError."""
        try:
            return {
                name: author_text(
                    self.folder / "starter" / name, f"labs/{self.name}/starter/{name}"
                )
                for name in self.student.edit
            }
        except OSError as error:
            raise LabError(f"labs/{self.name}: {error}; {command()} starter {self.name}") from error

    def contract(self, defines: Defines) -> tuple[str, ...]:
        """The tables that every submission must have: those of the starter. (A table is not in a
        program while its control is never applied, which may be the student's task.)"""
        files = {**self.sources, **self.starter}
        compilation = compile_files(self.student.program, files, defines)
        if compilation.program is None:
            raise LabError(f"labs/{self.name}: the starter:\n{compilation.render()}")
        return tuple(table["name"] for table in compilation.program.summary["tables"])

    @property
    def defines(self) -> Defines:
        """The macros of all checks that do not say otherwise."""
        return tuple((name, str(value)) for name, value in self.kit.defines.items())

    def defines_of(self, check: Check) -> Defines:
        """The macros of a stage."""
        return self.defines_with(check.defines)

    def defines_with(self, own: Mapping[str, str | int]) -> Defines:
        """The macros of the lab, with some of one's own."""
        return tuple((name, str(value)) for name, value in {**self.kit.defines, **own}.items())

    @cached_property
    def offered(self) -> tuple[Defines, ...]:
        """The sets of macros that the lab offers as a whole, its own first: those that vary, and
        those of stages. What it promises of a switch's state holds with each."""
        seen = {self.defines: None}
        vary = self.kit.vary
        for values in product(*vary.values()):
            seen.setdefault(self.defines_with(dict(zip(vary, values, strict=True))))
        for check in self.checks:
            if check.defines:
                seen.setdefault(self.defines_of(check))
        return tuple(seen)

    @cached_property
    def settings(self) -> tuple[Defines, ...]:
        """Every set of macros with which a program is looked at: those that are offered, and those
        of single scenarios. Raises LabError."""
        seen = dict.fromkeys(self.offered)
        for check in self.checks:
            if check.scenario or check.parses:
                for label in public_seeds(check):
                    seen.setdefault(self.case(check, label).case.defines)
        return tuple(seen)

    @property
    def system(self) -> System:
        """What the lab's program belongs to: its settings, its notation, its CPU port."""
        return self.kit.system

    @property
    def is_p4(self) -> bool:
        """Whether students write P4, and not policies."""
        return self.student.program.endswith(".p4")

    @cached_property
    def policies(self) -> Program:
        """The reference, where students write policies. Raises LabError."""
        name = self.student.program
        try:
            return read_policies(marks.solution(self.sources[name], f"p4/{name}"), name)
        except PolicyError as error:
            raise LabError(f"labs/{self.name}: p4/{name}:{error.line}: {error}") from error

    @cached_property
    def asked(self) -> frozenset[str]:
        """The policies that checks are about. Raises LabError."""
        files = (check.measure for check in self.checks if check.measure)
        return frozenset(self.measure(file).policy for file in files)

    def measure(self, file: str) -> MeasureFile:
        """The file of a check of policies. Raises LabError."""
        if file not in self._measures:
            self._measures[file] = self._file(file, MeasureFile)
        return self._measures[file]

    def workload(self, check: Check, label: str) -> Workload:
        """The case of a check of policies that a label makes. Raises LabError."""
        assert check.measure is not None
        if label not in self._workloads:
            file = self.measure(check.measure)
            try:
                given = drawn(file, label, hidden=label not in public_seeds(check))
                best = measured(self.system, file, self.policies, given)
            except (ValueError, PolicyError) as error:
                raise LabError(f"labs/{self.name}/{check.measure}: {error}") from error
            self._workloads[label] = Workload(file, given, best)
        return self._workloads[label]

    @property
    def is_v1model(self) -> bool:
        """Whether the lab's program is for v1model, and not for TNA. Raises LabError."""
        return bool(self.program(self.defines).summary["package"] == "V1Switch")

    def program(self, defines: Defines) -> _engine.Program:
        """The reference. Raises LabError if it does not compile, or if there is none in P4."""
        if not self.is_p4:
            raise LabError(f"{self.name} has no P4 program: its students write policies.")
        if defines not in self._programs:
            compilation = compile_files(self.student.program, self.sources, defines)
            if compilation.program is None:
                raise LabError(f"labs/{self.name}: the reference:\n{compilation.render()}")
            self._programs[defines] = compilation.program
        return self._programs[defines]

    def probed(self, defines: Defines) -> ProbedProgram:
        """The reference with a probe before each statement."""
        if defines not in self._probed:
            self._probed[defines] = compile_probed(self.student.program, self.sources, defines)
        return self._probed[defines]

    def known(self, defines: Defines) -> Headers:
        """The reference's headers as its readers know them. Raises LabError."""
        return Headers(self.headers(defines), self.system.notation)

    def headers(self, defines: Defines) -> dict[str, dict[str, int]]:
        """The reference's headers: fields and widths. Raises LabError."""
        if defines not in self._layouts:
            try:
                self._layouts[defines] = frames.layout_of(self.program(defines))
            except frames.FrameError as error:
                raise LabError(f"labs/{self.name}: the reference: {error}") from error
        return self._layouts[defines]

    def scenario(self, file: str) -> Scenario:
        """A scenario below the lab's folder. Raises LabError."""
        if file not in self._scenarios:
            self._scenarios[file] = self._file(file, Scenario)
        return self._scenarios[file]

    def _file(self, file: str, kind: type[OfCheck]) -> OfCheck:
        """What a file below the lab's folder says. Raises LabError."""
        try:
            return kind.model_validate(read(self.folder / file))
        except ValidationError as error:
            text = author_text(self.folder / file, shown := f"labs/{self.name}/{file}")
            raise LabError(f"{shown}:{refused(error, kind, text)}") from error
        except ScenarioError as error:
            raise LabError(f"labs/{self.name}/{file}: {error}") from error

    def case(self, check: Check, seed: str) -> Judged:
        """The case that a seed makes, or a file of `found`, with the reference's outputs. Raises
        LabError."""
        file = seed if seed.startswith(FOUND) else check.scenario or check.parses
        assert file is not None
        key = (file, seed)
        if key not in self._cases:
            try:
                # In a case that was found everything is fixed, so nothing is left to be drawn.
                hidden = seed != file and seed not in public_seeds(check)
                self._headers_fit()
                case = make_case(self.scenario(file), self.kit, self, seed, hidden=hidden)
                self._cases[key] = self._judged(case, seed)
            except (ScenarioError, ValueError) as error:
                raise LabError(f"labs/{self.name}/{file}: {error}") from error
        return self._cases[key]

    def in_order(self, results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
        """Results in the order of the handout: what stands before all parts, then part by part.
        The checks of lab.toml are in the order in which they need each other."""
        places = {one.id: place for place, one in enumerate(self.parts, 1)}
        return tuple(sorted(results, key=lambda result: places.get(result.part, 0)))

    def hidden(self, check: Check, seed: int | None) -> list[str]:
        """What makes the hidden cases of a check that a grader with this seed judges: seeds, and
        files of cases that were found."""
        return [] if seed is None else [*hidden_seeds(check, seed), *self.found(check)]

    def found(self, check: Check) -> list[str]:
        """The cases that were found for a check, as files below the lab's folder."""
        files = sorted((self.folder / FOUND / check.id).glob("*.toml"))
        return [file.relative_to(self.folder).as_posix() for file in files]

    def offer(self, file: str, scenario: Scenario) -> None:
        """Makes a scenario known before there is a file of it."""
        self._scenarios[file] = scenario

    def forget(self, file: str) -> None:
        """The scenario of a file is read again when it is next asked for."""
        self._scenarios.pop(file, None)
        for key in [key for key in self._cases if key[0] == file]:
            del self._cases[key]

    def _headers_fit(self) -> None:
        """Raises LabError for a default of a header or field that the reference does not have, with
        none of the macros that the lab offers."""
        if self._fits:
            return
        known: dict[str, dict[str, int]] = {}
        for defines in self.offered:
            for name, fields in self.headers(defines).items():
                known[name] = {**known.get(name, {}), **fields}
            if all(set(own) <= set(known.get(name, ())) for name, own in self.kit.defaults.items()):
                break
        for name, own in self.kit.defaults.items():
            if name not in known:
                told = f"there is no header {name}; choose from {', '.join(known)}"
                raise LabError(f"{at_key(self.name, 'checks', 'header', name)}: {told}")
            for item in own:
                if item not in known[name]:
                    told = f"{name} has no field {item}; it has {', '.join(known[name])}"
                    raise LabError(f"{at_key(self.name, 'checks', 'header', name, item)}: {told}")
        self._fits = True

    def _judged(self, case: Case, seed: str) -> Judged:
        """Raises LabError, and ValueError for what does not fit."""
        if case.network is None:
            case = replace(case, is_long=self._takes_long(case))
            outputs, counts = self._answer(case)
            if case.undefined is not None and (outputs, counts) != self._answer(
                replace(case, undefined=None)
            ):
                raise ScenarioError(self._reads_undefined(case))
            return Judged(case, seed, outputs, counts, self._came_back(case))
        plan = make_plan(self.name, case.network)
        # What the system's settings say of the program goes before what the checks say.
        defines = tuple({**dict(case.defines), **dict(plan.defines)}.items())
        return Judged(replace(case, defines=defines), seed, plan=plan)

    def _takes_long(self, case: Case) -> bool:
        """Whether a packet of a case goes around in the reference more often than most do."""
        switch = self.set_up(self.program(case.defines), case)
        for sending in case.sendings:
            inject(switch, sending)
        return bool(switch.stats["too_many_passes"])

    def _answer(self, case: Case) -> tuple[tuple[tuple[tuple[int, bytes], ...], ...], Counts]:
        """What the reference sends for each packet, and what it has counted in the end."""
        switch = self.set_up(self.program(case.defines), case)
        outputs = tuple(tuple(sorted(inject(switch, sending))) for sending in case.sendings)
        return outputs, counted(switch, case)

    def _came_back(self, case: Case) -> tuple[int, ...]:
        """How often each packet comes back by a looped port, where a case has shares of them."""
        if not case.shares:
            return ()
        switch = self.set_up(self.program(case.defines), case)
        return tuple(len(came_back(inject_traced(switch, one))) for one in case.sendings)

    def _reads_undefined(self, case: Case) -> str:
        """Why a case with noise has no right answer: what the reference reads, and never wrote."""
        switch = self.set_up(self.program(case.defines), case)
        for number, sending in enumerate(case.sendings, 1):
            for packet in inject_traced(switch, sending)["packets"]:
                for step in packet["steps"]:
                    if step["kind"] == "undefined":
                        return (
                            f"packet {number}: the reference sends something else for each value "
                            f"of what P4 leaves undefined. It reads {step['name']}: {step['why']}."
                        )
        return "the reference sends something else with noise in what P4 leaves undefined."

    def switch(self, program: _engine.Program, passes: int = MAX_PASSES) -> _engine.Switch:
        """A switch to judge with. Raises ValueError for a program that no switch has the memory
        for."""
        switch = _engine.Switch(program, max_passes=passes, max_packets=MAX_PACKETS)
        switch.set_cpu_port(self.cpu_port(program))
        return switch

    def cpu(self, defines: Defines) -> CpuPort:
        """The reference's port to its control plane, with its headers. Raises LabError."""
        if defines not in self._cpus:
            program = self.program(defines)
            self._cpus[defines] = CpuPort.of(program, self.cpu_port(program))
        return self._cpus[defines]

    def cpu_port(self, program: _engine.Program) -> int:
        """The port by which a program reaches its control plane."""
        return self.system.cpu_port(program.summary["package"])

    def set_up(self, program: _engine.Program, case: Case) -> _engine.Switch:
        """The switch of a case, before its first packet. Raises ValueError for what does not
        fit."""
        if case.undefined is not None:
            program = program.with_undefined(case.undefined)
        switch = self.switch(program, MOST_PASSES if case.is_long else MAX_PASSES)
        for port, metadata in case.loops:
            switch.set_loop(port)
            switch.set_port_metadata(port, metadata)
        switch.write(list(case.updates))
        return switch

    def hint(self, check: Check, signature: str, field: str = "") -> str:
        """What to say of a kind of difference, in a field if it is in one; empty if nothing
        fits."""
        return hints.choose(self.hints, self.system.hints, check.id, signature, field)

    def own_hint(self, check: Check, signature: str, field: str) -> str:
        """The same, if the lab itself says something."""
        return hints.of_lab(self.hints, check.id, signature, field)

    def almost(self, check: Check, signature: str, field: str = "") -> str:
        """Nearly the code that a kind of difference asks for; empty if the lab does not say."""
        return hints.almost(self.hints, check.id, signature, field)

    def prepare(self, seed: int | None) -> None:
        """Makes all cases, so that what is forked afterwards has them. Raises LabError."""
        for check in self.checks:
            if check.scenario or check.parses:
                for label in [*public_seeds(check), *self.hidden(check, seed)]:
                    self.case(check, label)
            if check.measure:
                for label in [*public_seeds(check), *self.hidden(check, seed)]:
                    self.workload(check, label)


def public_seeds(check: Check) -> list[str]:
    """The seeds of the cases that everybody sees."""
    return [f"{check.id}/{number}" for number in range(1, check.cases + 1)]


def hidden_seeds(check: Check, seed: int | None) -> list[str]:
    """The seeds of the cases that only a grader with the secret seed draws."""
    if seed is None:
        return []
    return [f"{seed}/{check.id}/{number}" for number in range(1, check.hidden + 1)]


def load(lab: str) -> Course:
    """A lab's checks. Raises LabError with the line of what is not sound."""
    file = read_lab(lab, _CourseFile)
    if not file.check:
        raise LabError(f"labs/{lab}/lab.toml has no [[check]], so there is nothing to check.")
    _names_fit(lab, file)
    checks = file.checks
    system = system_of(lab)
    _signatures_fit(lab, file, system)
    kit = Kit(
        checks.header,
        checks.packet,
        checks.defines,
        tuple(checks.lints),
        system,
        checks.vary,
        checks.draw,
        checks.session,
    )
    folder = home(lab).labs / lab
    known = {check.id for check in file.check if check.scenario or check.parses}
    for path in sorted((folder / FOUND).glob("*")):
        if path.name not in known:
            raise LabError(f"labs/{lab}/{FOUND}/{path.name}: no check of that name takes cases.")
    return Course(
        file.lab.name,
        file.lab.title,
        file.student,
        tuple(file.part),
        tuple(file.check),
        tuple(file.hint),
        file.checks.starter_points,
        kit,
        folder,
        checks.seconds,
        file.hints.counted,
    )


def _names_fit(lab: str, file: _CourseFile) -> None:
    """Raises LabError for a name in a lab.toml that nothing has: of the lab, or of a file."""
    if file.lab.name != lab:
        told = f"write {lab!r}, as its folder is called, and not {file.lab.name!r}"
        raise LabError(f"{at_key(lab, 'lab', 'name')}: {told}")
    student, folder = file.student, home(lab).labs / lab
    for key, names in (
        ("program", [student.program]),
        ("edit", student.edit),
        ("files", student.files),
    ):
        for name in names:
            if not source(lab, name).is_file():
                raise LabError(f"{at_key(lab, 'student', key)}: p4/{name} does not exist")
    if student.program not in (*student.edit, *student.files):
        told = f"{student.program} is not among the files of edit, nor of files"
        raise LabError(f"{at_key(lab, 'student', 'program')}: {told}")
    for number, check in enumerate(file.check):
        for key in ("parses", "scenario", "numbers", "breaks", "measure"):
            name = getattr(check, key)
            if name is not None and not (folder / name).is_file():
                told = f"labs/{lab}/{name} does not exist"
                raise LabError(f"{at_key(lab, 'check', number, key)}: {told}")
        for name in check.stf:
            if not any((place / name).is_file() for place in (folder, home(lab).sources)):
                raise LabError(f"{at_key(lab, 'check', number, 'stf')}: p4/{name} does not exist")


def _signatures_fit(lab: str, file: _CourseFile, system: System) -> None:
    """Raises LabError for a hint whose signature is a misspelt one. A system may have signatures of
    its own, and so have measures."""
    known = {*hints.GENERAL, *system.hints}
    free = {check.id for check in file.check if check.measure}
    for number, hint in enumerate(file.hint):
        its = [hint.check] if isinstance(hint.check, str) else hint.check or free
        if hint.signature is None or hint.signature in known or free.intersection(its):
            continue
        if near := get_close_matches(hint.signature, known, 1, MISSPELT):
            told = f"nothing is called {hint.signature!r}; did you mean {near[0]!r}?"
            raise LabError(f"{at_key(lab, 'hint', number, 'signature')}: {told}")


def counted(switch: _engine.Switch, case: Case) -> Counts:
    """Packets in the cells that a case counts. Raises ValueError for a cell that is not there."""
    return tuple(switch.read_counter(name, cell)[0] for name, cell in case.counts)


def inject(switch: _engine.Switch, sending: Sending) -> list[tuple[int, bytes]]:
    """A packet of a case is sent into its switch: what comes out, as (port, bytes)."""
    if sending.updates:
        switch.write(list(sending.updates))
    return switch.process(sending.port, sending.data, sending.now)


def inject_traced(switch: _engine.Switch, sending: Sending) -> dict[str, Any]:
    """The same with all that happens on the way, as a trace."""
    if sending.updates:
        switch.write(list(sending.updates))
    return switch.trace(sending.port, sending.data, sending.now)


def came_back(trace: Mapping[str, Any]) -> list[int]:
    """The looped port of each time that a packet or a copy of it came back."""
    packets = trace["packets"]
    return [packet["ingress_port"] for packet in packets if packet["kind"] == "recirculated"]


def compile_files(
    program: str, files: Mapping[str, str], defines: Defines, lints: tuple[str, ...] = ()
) -> _engine.Compilation:
    """Compiles a program whose files are in memory: it can include nothing else. `lints` are
    targets whose refusals are warnings."""
    return _engine.compile_text(
        program, files[program], dict(files), list(defines), lints=list(lints)
    )


def compile_probed(program: str, files: Mapping[str, str], defines: Defines) -> ProbedProgram:
    """Compiles a program with a probe before each statement."""
    done = probed(files)
    return ProbedProgram(compile_files(program, done.files, defines).program, done.statements)

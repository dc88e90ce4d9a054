"""The lab of a notebook: a student's program in a running network, and views of what it does.

Views and checks are imported when they are asked for: anywidget, ipywidgets and what judges are
heavy, and who only sends packets needs none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from p4lab import _engine, registry
from p4lab.course.labs import MOST_PACKETS, home, load_plan
from p4lab.course.material import differing
from p4lab.errors import ArgumentError, Interrupted, interruptible
from p4lab.model.entries import Update
from p4lab.model.notation import Notation
from p4lab.model.run import Plan
from p4lab.model.system import System
from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.running import Running
from p4lab.notebook.saying import DoesNotCompile, does_not_compile, say
from p4lab.session.run import MILLISECOND
from p4lab.topology import Link, Topology
from p4lab.widgets.known import known_link, known_router
from p4lab.widgets.offers import offered
from p4lab.widgets.sent import Cut, Ends, Sent

if TYPE_CHECKING:
    from p4lab.notebook.checks import Checked
    from p4lab.notebook.policies import PolicyLab
    from p4lab.widgets.links import LinkButtons
    from p4lab.widgets.losses import LossCounter
    from p4lab.widgets.packet import PacketView
    from p4lab.widgets.table import TableView
    from p4lab.widgets.topology import TopologyView


class Cell(Protocol):
    """A program from a `%%p4` cell."""

    name: str
    compilation: _engine.Compilation
    sources: Mapping[str, str]
    own: str


class Lab:
    """A running lab. A changed file is compiled anew before the next packet. The views of its
    system (`System.views`) are methods, too."""

    def __init__(
        self,
        name: str,
        folder: Folder,
        topology: str | Path | None,
        seed: int,
        cell: Cell | None = None,
        **settings: Any,
    ) -> None:
        self.name = name
        self.folder = folder
        self.cell = cell
        self.plan = load_plan(
            name, program=folder.program, topology=topology, packets=1, seed=seed, **settings
        )
        self.sent: Sent | None = None
        self._watchers: list[Callable[[], None]] = []
        self._look: Mapping[Path, int] | None = None
        self._age = folder.age()
        self._running = self._begin()

    def _begin(self) -> Running:
        running = Running(self.plan, self._compile())
        for table in sorted(running.unused):
            say(f"The program does not apply the table {table} yet; nothing is written to it.")
        if running.unheard:
            say(f"{running.unheard} So nobody will get anything.")
        return running

    def _compile(self) -> _engine.Program:
        """The program that is to run; shows what the compiler said if there is none."""
        compilation = self.cell.compilation if self.cell else self.folder.compile(self.plan.defines)
        if compilation.program is None:
            if not self.cell and (lacks := self.folder.lacks(compilation)):
                raise DoesNotCompile(lacks)
            name = self.cell.name if self.cell else "Your program"
            raise does_not_compile(name, compilation, self.folder.path)
        self._made_of = {os.path.normpath(file) for file in compilation.files}
        return compilation.program

    def __repr__(self) -> str:
        return f"Lab {self.name}: {self.whose} on {self.topology.name}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "plan" not in vars(self):  # nothing that a system offers
            raise AttributeError(name)
        return offered(self, self.system.views, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.system.views]

    @property
    def system(self) -> System:
        """Who knows what the lab's packets carry."""
        return registry.find(self.plan.system)

    @cached_property
    def notation(self) -> Notation:
        """How the values of the lab are written."""
        return self.system.notation_for(self.plan)

    @property
    def whose(self) -> str:
        """Which program runs, in words."""
        if self.cell:
            return f"the cell's program {self.cell.name}"
        return "the finished program" if self.folder.is_reference else "your program"

    @property
    def topology(self) -> Topology:
        return self.plan.topology

    @property
    def program(self) -> _engine.Program:
        """The program that runs."""
        return self._running.program

    @property
    def down(self) -> frozenset[Ends]:
        """The links that are down."""
        return self._running.down

    @property
    def begins(self) -> Path | None:
        """The first of the files with tasks that the running program is made of, if one is."""
        own = (file for file in self.folder.edit if os.path.normpath(file) in self._made_of)
        return next(own, None)

    @property
    def given(self) -> str:
        """The file of a program without tasks, which a student does not write; empty for others."""
        names = (file for file in self.folder.files if file != self.folder.program)
        made_of = (file.name for file in names if os.path.normpath(file) in self._made_of)
        return "" if self.begins else next(made_of, "")

    @property
    def own_files(self) -> frozenset[str]:
        """The files with tasks, or the cell's, as traces name them."""
        return frozenset([self.cell.own] if self.cell else map(str, self.folder.edit))

    def source(self, file: str) -> str:
        """The text of a file that a trace names; empty if it is built in or gone."""
        if self.cell:
            return self.cell.sources.get(os.path.normpath(file), "")
        try:
            return Path(file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def reload(self) -> None:
        """Compiles the files anew; the network begins anew, with its own table entries and all
        links up. Raises DoesNotCompile."""
        try:
            self._restart()
        finally:
            self._tell()  # views show the errors in place of what they have

    def _restart(self) -> None:
        age = self.folder.age()
        running = self._begin()
        self._age, self._running = age, running

    def again(self) -> Sent:
        """What was sent last once more, in a network that begins anew with the files as they are
        now. Links that are down stay down: who tries one thing after the other does not cut them
        each time. Raises DoesNotCompile and NetworkError."""
        down = self.down
        of = [self.sent is not None and self.sent.is_of(one) for one in self.plan.streams]
        try:
            self._restart()
        except Exception:
            self._tell()
            raise
        for ends in down:
            self._running.set_link(self.link(*ends), False)
        return self._send(of.index(True) + 1 if True in of else 1, 1, None)

    def send(
        self,
        stream: int = 1,
        packets: int = 1,
        *,
        cut: tuple[str, str, float] | tuple[str, str, float, float] | None = None,
    ) -> Sent:
        """Sends packets of a stream of the lab (1 is the first) and follows each of them.

        `cut` is a link that fails on the way: its ends, so many milliseconds after the first packet
        has left, and when it works again; without that it stays down. What is on the link then is
        lost, and nobody is told. Raises ValueError for a stream that there is not and for a cut
        that cannot be, and DoesNotCompile if the files have changed and no longer compile.
        """
        count = len(self.plan.streams)
        if not isinstance(stream, int) or not 1 <= stream <= count:
            raise ArgumentError(
                f"this lab has streams 1 to {count}; there is no stream {stream!r}."
            )
        if not isinstance(packets, int) or not 1 <= packets <= MOST_PACKETS:
            raise ArgumentError(
                f"packets is how many, from 1 to {MOST_PACKETS}, such as 3; it is {packets!r}."
            )
        failing = None if cut is None else self._cut(cut)
        return self._send(stream, packets, failing)

    def _send(self, stream: int, packets: int, cut: Cut | None) -> Sent:
        self.renew()
        try:
            with interruptible("Interrupted: the network was restarted, with all links up."):
                sent = self._running.send(stream, packets, cut)
        except Interrupted:
            self._running = Running(self.plan, self._running.program)
            raise
        self.sent = replace(sent, age=self._age, whose=self.whose)
        if self.sent.problem:
            self._running = Running(self.plan, self._running.program)
        self._tell(self._age)
        return self.sent

    def _cut(self, cut: object) -> Cut:
        given = (*cut, None) if isinstance(cut, tuple) and len(cut) == 3 else cut
        if not _is_cut(given):
            raise ArgumentError(
                'cut is a link and when it fails, in ms, such as ("r1", "r2", 5); a fourth value '
                f"says when it works again. It is {cut!r}."
            )
        a, b, start, end = given
        ends = self.link(a, b).ends
        if ends in self.down:
            raise ArgumentError(f"{a}-{b} is down already: take it up first, by set_link.")
        if not 0 <= start < inf or (end is not None and not start < end < inf):
            raise ArgumentError("a link fails at 0 ms or later, and works again after that.")
        whole = None if end is None else round(end * MILLISECOND)
        return Cut(ends, round(start * MILLISECOND), whole)

    def renew(self) -> None:
        """Does `reload` if the files have changed, and says so."""
        if self.cell is None and self.folder.age() != self._age:
            self.reload()  # which says why if it does not compile
            say("Your program has changed: it was compiled again, and the network was restarted.")

    def is_old(self, sent: Sent) -> bool:
        """Whether the files have changed since something was sent: its traces are another
        program's."""
        return self.cell is None and sent.age != (self._look or self.folder.age())

    def errors(self) -> str:
        """What the compiler says of the files as they are now; empty if they compile."""
        if self.cell:
            return ""
        compilation = self.folder.compile(self.plan.defines)
        if compilation.program is not None:
            return ""
        lacks = self.folder.lacks(compilation)
        return lacks or compilation.render().rstrip() or "There is no package instance called main."

    def last(self) -> Sent:
        """What was sent last. The first packet is sent if there was none, and the same again if
        the program has changed since."""
        if self.sent is None:
            return self.send()
        if not self.is_old(self.sent):
            return self.sent
        of = [self.sent.is_of(stream) for stream in self.plan.streams]
        return self._send(of.index(True) + 1, self.sent.stream.packets, self.sent.cut)

    def to_show(self, sent: Sent | None) -> Sent:
        """What a view shows: what it was given, else what was sent last, anew if the program has
        changed since. Raises ValueError for packets of another lab."""
        if sent is None:
            return self.last()
        if sent.whose != self.whose:
            raise ArgumentError(
                f"this ran through {sent.whose}, and not through {self.whose}: show it with the "
                "lab that has sent it, or send it again."
            )
        if _setting(sent.plan) != _setting(self.plan):
            raise ArgumentError(
                "this ran through another folder's program or another network, or with other "
                "settings: show it with the lab that has sent it, or send it again."
            )
        return sent

    def link(self, a: str, b: str) -> Link:
        """The link between two nodes. Raises ValueError."""
        return known_link(self.topology, a, b)

    def set_link(self, a: str, b: str, up: bool, *, tell: bool = False, seen: bool = True) -> None:
        """Takes the link between two nodes down or up. The routers at its ends see it unless not
        `seen`, which only those with fast reroute act on; the control plane hears of it if told."""
        self._running.set_link(self.link(a, b), up, tell=tell, seen=seen)
        self._tell()

    def entries(self, router: str, table: str) -> list[dict[str, Any]]:
        """The rows of a table of a running switch. Raises ValueError."""
        return self._running.entries(known_router(self.topology, router), table)

    def read_cell(self, router: str, name: str, index: int) -> int:
        """What a cell of a running switch's register holds, or the packets in one of a counter.
        Raises ValueError."""
        return self._running.read_cell(known_router(self.topology, router), name, index)

    def write(self, router: str, updates: list[Update]) -> None:
        """Changes rows of a running switch by hand, all or none. Raises ValueError."""
        self._running.write(known_router(self.topology, router), updates)
        self._tell()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Calls `watcher` whenever something was sent, a row written or a link switched."""
        self._watchers.append(watcher)

    def _tell(self, look: Mapping[Path, int] | None = None) -> None:
        """Tells the views. One `look` at the files is enough for all of them."""
        self._look = look or self.folder.age()
        try:
            for watcher in self._watchers:
                watcher()
        finally:
            self._look = None

    def topology_view(self, sent: Sent | None = None, **options: Any) -> TopologyView:
        """The network, with the packets of `sent` (else the last) on their way."""
        from p4lab.widgets.topology import TopologyView  # heavy: ipywidgets and anywidget

        return TopologyView(self, sent, **options)

    def packet_view(self, router: str, sent: Sent | None = None) -> PacketView:
        """What a router made of a packet: header by header, before and after."""
        from p4lab.widgets.packet import PacketView

        return PacketView(self, router, sent)

    def table_view(self, router: str, table: str) -> TableView:
        """The rows of a table of a running switch, to be edited."""
        from p4lab.widgets.table import TableView

        return TableView(self, router, table)

    def check(self, part: str | None = None) -> Checked:
        """The verdict of `p4lab check` on the student's folder, of one part or of all."""
        with interruptible("Interrupted: nothing was judged."):
            from p4lab.notebook.checks import check

            return check(self.folder, part)

    def link_buttons(self) -> LinkButtons:
        """A button for every link between routers."""
        from p4lab.widgets.links import link_buttons

        return link_buttons(self)

    def loss_counter(self, stream: int = 1, packets: int = 20) -> LossCounter:
        """Counts what the subscribers of a stream do not get from now on; a button sends so many
        packets more."""
        from p4lab.widgets.losses import LossCounter

        return LossCounter(self, stream, packets)


def _is_cut(given: object) -> TypeGuard[tuple[str, str, float, float | None]]:
    if not isinstance(given, tuple) or len(given) != 4:
        return False
    *ends, start, end = given
    names = all(isinstance(one, str) for one in ends)
    return names and isinstance(start, int | float) and isinstance(end, int | float | None)


def _setting(plan: Plan) -> tuple[object, ...]:
    """What packets of one lab have in common, also of a lab that was opened twice."""
    network = plan.topology
    parts = network.routers, network.hosts, network.links
    return plan.lab, plan.program, plan.defines, plan.settings, *parts


def open_lab(
    name: str,
    *,
    folder: str | Path | None = None,
    program: Cell | None = None,
    topology: str | Path | None = None,
    seed: int = 1,
    finished: bool = False,
    **settings: Any,
) -> Lab | PolicyLab:
    """Starts a lab in virtual time, with the program in the student's folder; of a lab whose
    students write policies, opens these.

    `folder` is another folder than `lab_folder` finds, `program` a program from a `%%p4` cell to
    run instead, `topology` another than the lab's own; `finished` runs the lab's solution, to show
    where it goes. `settings` are those of the lab's system, which its lab.toml may set, too. Raises
    LabError, TopologyError, NetworkError, and DoesNotCompile after showing what the compiler said.
    """
    place = lab_folder(name, home(name).sources if finished else folder)
    if not place.is_p4:
        from p4lab.notebook.policies import open_policies

        return open_policies(name, place, finished)
    lab = Lab(name, place, topology, seed, program, **settings)
    if finished:
        say(f"Running {lab.given or 'the finished program'} on {lab.topology.name}.")
    elif program is None:
        mine = lab.given or "your program"
        whose = "the reference solution" if lab.folder.is_reference else mine
        say(f"Running {whose} on {lab.topology.name}:", lab.begins)
        others = [file for file in lab.folder.edit if file != lab.begins]
        if lab.begins and others:
            say("You also write:", *others)
        for news in lab.folder.news:
            say(news)
        for changed in differing(name, lab.folder.path):
            say(f"{changed} differs from the starter's: lab.check() judges without it.")
    return lab

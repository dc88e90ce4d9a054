"""What outlives the control plane: kill -9 in the middle of 1,000 set-ups, a RADIUS server that is
gone, a switch that has lost everything.

If these fail, someone is billed twice after a crash, or someone surfs without being billed.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bng_world import SECOND, MemorySwitch, World, account, gateway, users
from p4lab.systems.bng.accounting import Accounting
from p4lab.systems.bng.entries import entries
from p4lab.systems.bng.radius import detail
from p4lab.systems.bng.radius.client import Client, ClientSettings, Recorded
from p4lab.systems.bng.radius.exchange import Patience
from p4lab.systems.bng.radius.freeradius import MISSING, FreeRadius, program
from p4lab.systems.bng.radius.sockets import Sockets
from p4lab.systems.bng.store import KeptSession, Store, StoreError
from p4lab.systems.bng.subscriber.client import State, Subscriber
from p4lab.systems.bng.subscriber.crowd import Crowd, Schedule

needs_freeradius = pytest.mark.skipif(program() is None, reason=MISSING)
QUICK = Patience(timeout=SECOND // 2, tries=2, failures=2, probe=SECOND // 10, waiting=60 * SECOND)
RECORDS_QUICK = QUICK._replace(waiting=None)


def kept(number: int) -> KeptSession:
    return KeptSession(
        f"{number:014x}", number, number, 7, b"\2\0\0\0\0\1", number, b"alice", "", b"{}", b"[]"
    )


# ---- The store


def test_a_batch_is_kept_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.batch():
        store.put_session(kept(1))
        store.put_record("1", 5, b"start")
    with pytest.raises(RuntimeError), store.batch():
        store.put_session(kept(2))
        store.remove_session(kept(1).acct_id)
        raise RuntimeError("a crash")
    store.close()
    again = Store(tmp_path / "store")
    assert list(again.sessions()) == [kept(1)]
    assert [record.body for record in again.records(10)] == [b"start"]
    assert again.boot == 2


def test_two_gateways_do_not_share_a_file(tmp_path: Path) -> None:
    first = Store(tmp_path / "store")
    with pytest.raises(StoreError, match="another gateway"):
        Store(tmp_path / "store")
    first.close()
    (tmp_path / "text").write_text("this is not a database, and long enough to see that" * 50)
    with pytest.raises(StoreError, match=r"text cannot be used"):
        Store(tmp_path / "text")


class Careless:
    """A server that acknowledges when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, bytes]] = []

    def accounting(self, now: int, token: str, body_at: Any) -> None:
        self.asked.append((token, now, body_at(now)))


def test_records_of_a_session_follow_each_other_and_say_how_late_they_are() -> None:
    store, server = Store(), Careless()
    accounting = Accounting(store, server, wall_offset=0)
    with store.batch():
        for session in ("a", "b"):
            accounting.add(0, session, b"start")
        accounting.add(0, "a", b"stop")
    accounting.send(0)
    assert [token for token, _, _ in server.asked] == ["a", "b"], "the Stop of a waits"
    accounting.recorded(SECOND, Recorded("a", False))
    accounting.tick(2 * SECOND)
    assert server.asked[-1] == ("a", 2 * SECOND, b"start" + bytes((41, 6, 0, 0, 0, 2)))
    accounting.recorded(3 * SECOND, Recorded("a", True))
    assert server.asked[-1][2].startswith(b"stop")
    accounting.recorded(3 * SECOND, Recorded("a", True))
    with store.batch():
        accounting.keep()
    assert [record.acct_id for record in store.records(9)] == ["b"]


def test_records_that_memory_has_no_room_for_are_sent_in_the_end() -> None:
    store, server = Store(), Careless()
    accounting = Accounting(store, server, wall_offset=0)
    with store.batch():
        for number in range(5000):
            accounting.add(0, f"{number}", b"start")
    done = 0
    while done < 5000:
        accounting.send(0)
        assert accounting.waiting <= 2000
        batch, server.asked = server.asked, []
        assert batch
        for token, _, _ in batch:
            accounting.recorded(0, Recorded(token, True))
            done += 1
        with store.batch():
            accounting.keep()
    assert store.records(1) == [] and accounting.waiting == 0


# ---- With FreeRADIUS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreeRadius]:
    with FreeRadius(tmp_path_factory.mktemp("radius"), users(1000)) as running:
        yield running


class Wired(World):
    """A world whose gateway has a real RADIUS server; its time is the machine's."""

    def __init__(self, gateway: Any, crowd: Crowd, sockets: Sockets) -> None:
        super().__init__(gateway, crowd, time.monotonic_ns())
        self.sockets = sockets

    def datagrams(self, out: list[Any]) -> None:
        self.sockets.send(out)

    def until(self, done: Any, seconds: float = 30) -> None:
        """Go on until `done()`, for one step at least."""
        end = time.monotonic() + seconds
        ready = False
        while not ready:
            assert time.monotonic() < end, self.crowd.report()
            self.now = time.monotonic_ns()
            busy = self.step()
            for heard in self.sockets.receive(0 if busy else 0.002):
                self.gateway.answered(self.now, heard.service, heard.port, heard.data)
            ready = done()


def wired(
    server: FreeRadius,
    sockets: Sockets,
    count: int,
    file: Path,
    switch: MemorySwitch,
    crowd: Crowd | None = None,
) -> Wired:
    settings = ClientSettings(server.secret, ports=2, access=QUICK, accounting=RECORDS_QUICK)
    random = Random(3)
    made = gateway(
        count,
        store=Store(file),
        aaa=Client(settings),
        switch=switch,
        now=time.monotonic_ns(),
        seed=time.monotonic_ns(),
        wall=time.time_ns(),
    )
    if crowd is None:
        people = [Subscriber(account(number), random) for number in range(1, count + 1)]
        crowd = Crowd(people, Schedule(2000, 2000, max_outstanding=200))
    return Wired(made, crowd, sockets)


def ways_in(server: FreeRadius) -> Sockets:
    return Sockets("127.0.0.1", server.access_port, server.accounting_port, 2)


def run_until_killed(folder: Path, access: int, accounting: int) -> None:
    """The process that is killed: 1,000 subscribers dial in, and some hang up again."""
    server = FreeRadius.__new__(FreeRadius)
    server.access_port, server.accounting_port = access, accounting
    server.secret = b"testing123"
    with ways_in(server) as sockets:
        made = wired(server, sockets, 1000, folder / "store", MemorySwitch())
        made.crowd.start(time.monotonic())
        said = 0

        def report() -> bool:
            nonlocal said
            if made.gateway.sessions >= said + 50:
                said = made.gateway.sessions
                print(said, flush=True)
                made.hang_up(said - 50)
            return False

        made.until(report, 60)


def check_bills(server: FreeRadius, running: Any) -> None:
    bills = detail.bills(detail.read(server.detail))
    wrong = detail.complaints(bills, running)
    assert wrong[:5] == [], len(wrong)


@needs_freeradius
@pytest.mark.beside(seconds=12, group="radius")
def test_kill_9_during_a_thousand_set_ups(server: FreeRadius, tmp_path: Path) -> None:
    """Nothing is billed twice, no one surfs without a Start, and everyone gets in in the end."""
    command = [sys.executable, __file__, str(tmp_path)]
    command += [str(server.access_port), str(server.accounting_port)]
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= 400:
                break
        child.send_signal(signal.SIGKILL)
    with sqlite3.connect(tmp_path / "store") as after:
        left = after.execute("SELECT COUNT(*) FROM sessions").fetchone()[0]
    after.close()
    assert left >= 300
    switch = MemorySwitch()
    with ways_in(server) as sockets:
        made = wired(server, sockets, 1000, tmp_path / "store", switch)
        assert made.gateway.sessions == left
        assert switch.entries() == entries(made.gateway.api.known)
        # The modems have lost their sessions with the line card, and dial again.
        made.crowd.start(time.monotonic())
        made.until(lambda: made.crowd.report().established == 1000)
        dialled = {each.dialer.session_id for each in made.crowd.subscribers if each.dialer}
        for one in made.gateway.find({}):
            if one.session.id not in dialled:
                made.gateway.disconnect(made.now, one)
        made.until(lambda: made.gateway.accounting.waiting == 0)
        assert made.gateway.sessions == 1000
        assert switch.entries() == entries(made.gateway.api.known)
        check_bills(server, made.gateway.running)
        made.is_cut = True  # Else everyone dials again.
        made.gateway.close(made.now)
        made.until(lambda: made.gateway.accounting.waiting == 0)
        check_bills(server, [])
        made.gateway.store.close()


@needs_freeradius
@pytest.mark.beside(seconds=6, group="radius")
def test_freeradius_goes_and_comes_back(server: FreeRadius, tmp_path: Path) -> None:
    """Who is in stays in; who comes waits or is refused; what is used meanwhile is billed."""
    switch = MemorySwitch()
    with ways_in(server) as sockets:
        made = wired(server, sockets, 60, tmp_path / "store", switch)
        for number in range(30):
            made.dial(number)
        made.until(lambda: made.gateway.sessions == 30 and made.gateway.accounting.waiting == 0)
        server.stop()
        for number in range(10):
            made.hang_up(number)
        for number in range(30, 60):
            made.dial(number)
        end = time.monotonic() + 1.5
        made.until(lambda: time.monotonic() > end)
        assert made.gateway.sessions == 20, "nobody is half in"
        server.start()
        for number in range(30, 60):
            if made.crowd.subscribers[number].state is State.DOWN:
                made.dial(number)
        made.until(lambda: made.gateway.sessions >= 50 and made.gateway.accounting.waiting == 0)
        check_bills(server, made.gateway.running)
        made.is_cut = True  # Else everyone dials again.
        made.gateway.close(made.now)
        made.until(lambda: made.gateway.accounting.waiting == 0)
        check_bills(server, [])
        assert switch.entries() == entries(made.gateway.api.known)
        made.gateway.store.close()


if __name__ == "__main__":
    run_until_killed(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

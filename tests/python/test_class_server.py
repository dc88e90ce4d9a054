"""One server for a class, from a roster to grades, with real users, JupyterHub and kernels.

If these fail, a class of eighty waits in front of one address, a student reads another's work, or
what was handed in does not reach the grader.
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli_runner import ROOT
from p4lab.classroom import rehearsal
from p4lab.classroom.rehearsal import Machine, await_class
from p4lab.course.marks import solution

pytestmark = [
    pytest.mark.beside(seconds=100),
    pytest.mark.skipif(bool(why := rehearsal.missing()), reason=f"a class's server: {why}"),
]

ADA, EVE, ZOE = "ada", "../../etc", "Zoë Müller"
ROSTER = f"""id,name,email
{ADA},Ada Lovelace,ada@example.org
{EVE},<script>alert(1)</script>,eve@example.org
{ZOE},Zoë Müller,zoe@example.org
root,Ruth Root,ruth@example.org
"""
SOLVED = solution((ROOT / "p4/bier/bier.p4").read_text(), "bier.p4")
WRITE = (
    "import pathlib; pathlib.Path.home().joinpath('p4lab/01-bier/bier/bier.p4').write_text({!r})"
)


@dataclass
class Served:
    """A class that runs: the machine, its hub and proxy, and everyone's password by id."""

    machine: Machine
    hub: subprocess.Popen[bytes]
    address: str
    passwords: dict[str, str]

    def visitor(self, who: str, password: str | None = None):
        from p4lab.classroom.visitor import Visitor

        known = self.passwords[who] if password is None else password
        return Visitor(self.address, who, known)

    def home(self, login: str) -> Path:
        return self.machine.home / login


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    scratch = tmp_path_factory.mktemp("class")
    machine = Machine(scratch)
    try:
        bring = ["mkdir", "-p", f"{ROOT}/solutions/01-bier/variants"]
        assert machine.start(*bring).wait() == 0
        machine.place.path.mkdir()
        machine.place.settings_file.write_text(machine.free_settings(look_seconds=2))
        (machine.srv / "roster.csv").write_text(ROSTER)
        made = machine.run("class", "make", "/srv/roster.csv", "--lab", "01-bier")
        assert made.returncode == 0, made.stderr
        assert "4 students, 4 of them new" in made.stdout
        hub = machine.start(*_p4lab("class", "serve"), stdin=subprocess.DEVNULL)
        address = f"http://127.0.0.1:{machine.place.settings().port}"
        await_class(address, hub)
        with machine.place.letters.open(newline="") as file:
            passwords = {row["id"]: row["password"] for row in csv.DictReader(file)}
        yield Served(machine, hub, address, passwords)
    finally:
        machine.close()
        log = machine.place.log
        print(log.read_text()[-4000:] if log.exists() else "")


def _p4lab(*words: str) -> list[str]:
    return [sys.executable, "-m", "p4lab", *words]


def visiting(visit: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(visit(), 300))


async def at_work(served: Served, who: str):
    """A student's browser with a kernel."""
    visitor = served.visitor(who)
    assert await visitor.log_in()
    await visitor.start()
    await visitor.open_kernel()
    return visitor


async def until(served: Served, visitor, pattern: str) -> str:
    """The instructor's page, once it shows this."""
    for _ in range(150):
        page = (await visitor.ask("/services/dashboard/")).body.decode()
        if re.search(pattern, page, re.DOTALL):
            return page
        await asyncio.sleep(0.4)
    raise AssertionError(f"no {pattern} in {page}")


def test_a_password_opens_one_account_and_a_wrong_one_none(served: Served) -> None:
    async def visit() -> None:
        asks = (await served.visitor(ADA).ask("/hub/login")).body.decode()
        assert "your id or email" in asks and "from your instructor" in asks  # what to type
        assert not await served.visitor(ADA, "wrong").log_in()
        assert not await served.visitor(ADA, served.passwords[ZOE]).log_in()
        assert not await served.visitor("nobody", "x").log_in()
        assert not await served.visitor("p4lab-class", "").log_in()
        assert await served.visitor("ADA@example.org", served.passwords[ADA]).log_in()

    visiting(visit)


def test_the_instructor_comes_to_the_page_and_gets_no_server(served: Served) -> None:
    async def visit() -> None:
        teacher = served.visitor("instructor")
        assert await teacher.log_in()
        assert (await teacher.ask("/")).effective_url.endswith("/services/dashboard/")
        assert (await teacher.ask("/hub/spawn")).code == 403

    visiting(visit)


def test_from_the_login_to_the_grade(served: Served, tmp_path: Path) -> None:
    async def visit() -> None:
        ada = await at_work(served, ADA)
        names = {one["name"] for one in (await ada.api("contents"))["content"]}
        assert {"01-bier", "01-bier.ipynb"} <= names, "the labs are begun"
        await ada.run("%load_ext p4lab\nfrom p4lab.notebook import open_lab")
        await ada.run("lab = open_lab('01-bier')")
        assert "✗" in await ada.run(WRITE.format(SOLVED.replace("- 1", "- 2")) + "\nlab.check()")
        shown = await ada.run(WRITE.format(SOLVED) + "\nlab.check()")
        assert "✗" not in shown and "✓" in shown
        teacher = served.visitor("instructor")
        assert await teacher.log_in()
        page = await until(served, teacher, r"<b>1</b> done")
        assert "<b>1</b> here now" in page
        assert "<script>alert" not in page and "&lt;script&gt;alert" in page
        assert (await ada.ask("/services/dashboard/")).code == 403
        ada.leave()

    visiting(visit)
    done = served.machine.run("class", "collect")
    assert done.returncode == 0 and done.stdout.startswith("1 new, 0 unchanged, 3 without")
    again = served.machine.run("class", "collect", "01-bier")
    assert again.stdout.startswith("0 new, 1 unchanged"), "what is as it was is not a new attempt"
    place, out = served.machine.place, tmp_path / "grades"
    graded = subprocess.run(
        [
            *_p4lab("grade", "01-bier", str(place.handins("01-bier")), "--json", "--no-prove"),
            *("--roster", str(place.roster), "--seed", "7", "--out", str(out)),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(graded.stdout)
    points = {one["student"]: one["points"] for one in found["students"]}
    assert points == {ADA: 100, EVE: 0, ZOE: 0, "root": 0}
    assert found["strangers"] == []


SPY = """
import os, pathlib
others = 0
def tried(path):
    try:
        path = pathlib.Path(path)
        print(path, "READ", os.listdir(path) if path.is_dir() else path.read_bytes()[:40])
    except OSError as error:
        print(path, "refused", error.errno)
for path in {paths!r}:
    tried(path)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if os.stat(f"/proc/{{pid}}").st_uid != os.getuid():
            print(pid, "READ", open(f"/proc/{{pid}}/environ", "rb").read()[:20])
            others += 1
    except PermissionError:
        others += 1
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended meanwhile
print("others", others)
import resource
most = resource.getrlimit(resource.RLIMIT_NPROC)[1], resource.getrlimit(resource.RLIMIT_DATA)[1]
print("uid", os.getuid(), "most", *most)
"""


def test_no_student_reaches_what_is_anothers(served: Served) -> None:
    """Neither files nor kernels nor servers nor secrets; and a link of one's own leads nowhere."""
    secrets = ["", "class.toml", "passwords.csv", "passwords.json", "hub", "seen/standing.json"]
    paths = [f"/srv/p4lab-class/{name}" for name in [*secrets, "handins", "roster.csv"]]
    paths += ["/home/p4-ada", "/home/p4-ada/p4lab/01-bier/bier/bier.p4", "/home/p4-ada/.run"]
    paths += ["/etc/shadow", f"{ROOT}/solutions/01-bier"]
    paths += [f"{ROOT}/.git/HEAD"] * (ROOT / ".git").is_dir()  # solutions are in the history, too

    async def visit() -> None:
        ada = await at_work(served, ADA)
        await ada.run(WRITE.format(SOLVED))
        eve = await at_work(served, EVE)
        said = await eve.run(SPY.format(paths=paths))
        assert "READ" not in said, said
        assert int(re.search(r"others (\d+)", said)[1]) > 3, "there are processes of others"
        assert said.count("refused 13") == len(paths), said
        assert re.search(r"uid 3\d{5} most 300 1572864000$", said), "not root, and within limits"
        for path in ("api/contents", "lab", "api/kernels"):
            answer = await eve.ask(f"{ada.base}{path}")
            assert answer.code in (403, 404), f"{path}: {answer.code}"
        # What a kernel shows goes to everyone who connects; so its sockets are in the home.
        channels = await ada.run(
            "import json, ipykernel\nprint(json.loads(ipykernel.get_connection_info())['ip'])"
        )
        assert channels.startswith("/home/p4-ada/.run/")
        await eve.run(
            "import os, pathlib, shutil\n"
            "lab = pathlib.Path.home() / 'p4lab/01-bier'\n"
            "shutil.rmtree(lab)\n"
            "lab.symlink_to('/home/p4-ada/p4lab/01-bier')\n"
        )
        ada.leave()
        eve.leave()

    visiting(visit)
    collected = served.machine.run("class", "collect")
    assert collected.returncode == 0, collected.stderr
    logins = {
        path.name.partition("@")[0] for path in served.machine.place.handins("01-bier").iterdir()
    }
    assert logins == {"p4-ada"}, "Eve's link to Ada's work is not her work"


def test_students_work_on_while_the_hub_restarts(served: Served) -> None:
    async def visit() -> None:
        ada = await at_work(served, ADA)
        await ada.run("kept = 41")
        leaver = served.visitor("root")
        assert await leaver.log_in()
        fewer = ROSTER.replace("root,Ruth Root,ruth@example.org\n", "")
        (served.machine.srv / "fewer.csv").write_text(fewer)
        assert served.machine.run("class", "make", "/srv/fewer.csv").returncode == 0
        assert served.machine.end(served.hub) == 0
        # Servers outlive both hub and proxy; without systemd they restart together.
        served.hub = served.machine.start(*_p4lab("class", "serve"), stdin=subprocess.DEVNULL)
        await_class(served.address, served.hub)
        back = served.visitor(ADA)
        assert await back.log_in()
        assert await back.start() < 20
        (kernel,) = [one["id"] for one in await back.api("kernels") if one["id"] == ada.kernel]
        await back.listen(kernel)
        assert await back.run("print(kept + 1)") == "42\n", "the same kernel as before"
        home = await leaver.ask("/hub/home")
        assert "/hub/login" in home.effective_url, "who has left the roster is logged out"
        assert not await served.visitor("root").log_in()
        assert (served.home("p4-root")).is_dir(), "their files stay"

    visiting(visit)


@pytest.mark.parametrize(
    ("roster", "told"),
    [
        ("id,name\nada,Ada\nada,Ada again\n", "roster.csv:3: 'ada' is there twice"),
        ("name\nAda\n", "names no column `id`"),
        ("id\n", "there is nobody in it"),
    ],
)
def test_a_roster_that_is_not_sound_changes_nothing(served: Served, roster: str, told: str) -> None:
    (served.machine.srv / "roster.csv").write_text(roster)
    before = (served.machine.etc / "passwd").read_text()
    made = served.machine.run("class", "make", "/srv/roster.csv")
    assert made.returncode == 2 and told in made.stderr
    assert (served.machine.etc / "passwd").read_text() == before


def test_run_again_only_new_students_get_a_password(served: Served) -> None:
    (served.machine.srv / "roster.csv").write_text(f"{ROSTER}new,New Student,new@example.org\n")
    before = served.machine.place.letters.read_text()
    made = served.machine.run("class", "make", "/srv/roster.csv")
    assert made.returncode == 0 and "5 students, 1 of them new" in made.stdout
    after = served.machine.place.letters.read_text()
    added = after.removeprefix(before).splitlines()
    assert [line.partition(",")[0] for line in added] == ["new"], "who is back keeps theirs"
    assert served.machine.place.letters.stat().st_mode & 0o77 == 0

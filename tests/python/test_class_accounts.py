"""From a roster to users, passwords and units: what no server is needed for.

If these fail, a roster's odd line becomes a user of the system that is somebody else, or a class
does not start with its machine.
"""

from __future__ import annotations

import csv
import getpass
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from typer.testing import CliRunner

from p4lab.classroom import making, passwords, serve
from p4lab.classroom.accounts import Account, accounts
from p4lab.classroom.collecting import collect, now
from p4lab.classroom.place import ClassError, Place, Settings, written
from p4lab.classroom.rehearsal import free_ports
from p4lab.classroom.settings import given
from p4lab.cli import app
from p4lab.grading import handins
from p4lab.grading.roster import Person, Roster, login_of
from p4lab.grading.roster import read as read_roster
from p4lab.grading.workers import GradingError

ODD = ["ada", "root", "../../etc", "Zoë Müller", "zoe muller", "-rf", "a b", "a;b", "", "İ", "名前"]
USER = re.compile(r"p4-[a-z0-9]([a-z0-9-]{0,19}[a-z0-9])?")
SEED = 11


def people(*ids: str) -> Roster:
    return Roster("own", ("id",), tuple(Person(one) for one in ids))


def test_every_id_becomes_a_user_of_its_own() -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    alphabet = "aA0-_./ ü\n\0$"
    made = {
        "".join(chance.choice(alphabet) for _ in range(chance.randrange(30))) for _ in range(500)
    }
    ids = [*dict.fromkeys([*ODD, *sorted(made)])]
    logins = [login_of(one) for one in ids]
    assert all(USER.fullmatch(login) for login in logins), logins
    assert len(set(logins)) == len(ids)
    assert login_of("ada") == "p4-ada" and login_of("root") == "p4-root"


def test_two_ids_that_would_share_a_user_are_refused() -> None:
    taken = login_of("Zoë").removeprefix("p4-")
    with pytest.raises(ClassError, match="would both be p4-zoe-"):
        accounts(people("Zoë", taken))


def test_who_logs_in_is_one_person(tmp_path: Path) -> None:
    file = tmp_path / "roster.csv"
    file.write_text("id,name,email\n1,Ada,ada@x.org\n2,Bob,same@x.org\n3,Cid,same@x.org\n")
    roster = read_roster(file)
    assert [roster.person(one) and roster.person(one).id for one in ("1", "ADA@x.org")] == [
        "1",
        "1",
    ]
    assert roster.person("p4-1") is not None
    for nobody in ("", " ", "Ada", "same@x.org", "4"):
        assert roster.person(nobody) is None, nobody


def test_what_is_collected_is_its_students_in_the_grader(tmp_path: Path) -> None:
    """The grader knows a folder LOGIN@TIME again, whatever the id is."""
    file = tmp_path / "roster.csv"
    file.write_text('id\nada\n../../etc\n"Zoë Müller"\n')
    roster = read_roster(file)
    folder = tmp_path / "handins"
    for person in roster.people:
        (folder / f"{login_of(person.id)}@{now():%Y-%m-%dT%H-%M-%SZ}").mkdir(parents=True)
    found = handins.entries([folder], tmp_path / "scratch")
    assert [one.when for one in found] == [now()] * 3 or all(one.when for one in found)
    owners = [[person.id for person in roster.owners(one.student)] for one in found]
    assert sorted(owners) == [["../../etc"], ["Zoë Müller"], ["ada"]]


def test_an_account_that_is_not_a_students_is_never_read(tmp_path: Path) -> None:
    """Also where somebody has made a user of that name before."""
    from p4lab.grading.submission import Wanted

    people_there = accounts(people("surely-not-there"))
    found = collect(Place(tmp_path), people_there, "01-bier", Wanted(("x.p4",)), now())
    assert "there is no user p4-surely-not-there" in found.missing["p4-surely-not-there"]
    assert list((tmp_path / "handins/01-bier").iterdir()) == []


def test_a_password_fits_only_itself(tmp_path: Path) -> None:
    word, other = passwords.new(), passwords.new()
    kept = passwords.hashed(word)
    assert passwords.fits(word, kept) and passwords.fits(f" {word.upper()} ", kept)
    assert not passwords.fits(other, kept) and not passwords.fits("", kept)
    assert kept != passwords.hashed(word), "the salt is new each time"
    passwords.hand_out(tmp_path / "list.csv", [("ada", "Ada", "", word)])
    assert (tmp_path / "list.csv").stat().st_mode & 0o77 == 0


def test_a_new_password_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    passwords.hand_out(file, [("ada", "Ada", "", "first"), ("bob", "Bob", "", "his")])
    passwords.hand_out(file, [("ada", "Ada", "", "second"), ("cyd", "Cyd", "", "hers")])
    with file.open(newline="") as lines:
        rows = [(row["id"], row["password"]) for row in csv.DictReader(lines)]
    assert rows == [("bob", "his"), ("ada", "second"), ("cyd", "hers")]
    assert file.stat().st_mode & 0o77 == 0


def test_who_comes_back_keeps_their_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class made of the wrong roster is put right by the right one."""
    there: set[str] = set()

    def users(wanted: Sequence[Account]) -> list[Account]:
        new = [one for one in wanted if one.login not in there]
        there.update(one.login for one in wanted)
        return new

    monkeypatch.setattr(making.os, "geteuid", lambda: 0)
    monkeypatch.setattr(making.users, "make", users)
    monkeypatch.setattr(making, "_folders", lambda place: place.hub.mkdir(exist_ok=True))
    monkeypatch.setattr(making, "homes", lambda: [])
    ended = MagicMock()
    monkeypatch.setattr(making.subprocess, "run", ended)
    right, wrong = tmp_path / "right.csv", tmp_path / "wrong.csv"
    right.write_text("id\nada\nbob\nZoë\n")
    wrong.write_text("id\nada\n")
    place = Place(tmp_path / "class")

    def make(roster: Path) -> making.Made:
        return making.make(place, roster, Settings(), lambda _: None)

    assert len(make(right).new) == 3
    letters, kept = place.letters.read_text(), passwords.load(place.passwords)
    assert make(wrong).gone == ("bob", "Zoë")
    killed = [call.args[0][-1] for call in ended.call_args_list]
    assert killed == ["p4-bob", login_of("Zoë")]
    back = make(right)
    assert (back.new, back.gone) == ((), ())
    assert place.letters.read_text() == letters and passwords.load(place.passwords) == kept


def test_the_solutions_and_their_history_are_closed(tmp_path: Path) -> None:
    for name in ("solutions", ".git", "labs"):
        (tmp_path / name).mkdir(mode=0o755)
    making.close(tmp_path)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"solutions": 0o700, ".git": 0o700, "labs": 0o755}


def test_settings_stay_as_they_were_written(tmp_path: Path) -> None:
    place = Place(tmp_path)
    lti = tmp_path / "lti.toml"
    lti.write_text(
        'issuer = "https://lms"\nclient_id = "1"\nauthorize_url = "https://lms/a"\n'
        'jwks_endpoint = "https://lms/k"\n'
    )
    first = given(place, {"lab": "02-frr", "port": 9000}, lti)
    place.settings_file.write_text(written(first))
    assert given(place, {}, None) == first == place.settings()
    assert given(place, {"port": 1}, None).lab == "02-frr"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"lab": "no-such"}, "there is no lab 'no-such'"),
        ({"tls_cert": "/dev/null"}, "go together"),
        ({"tls_cert": __file__, "tls_key": __file__}, "are not a certificate and its key"),
        ({"listen": "1.2.3.4.5"}, "listen 1.2.3.4.5: .*; give an address of this machine"),
        ({"listen": "192.0.2.1"}, "listen 192.0.2.1: .*; give an address of this machine"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    said: dict[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ClassError, match=told):
        given(Place(tmp_path), said, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("idle_minute = 5", ":1: unknown key idle_minute; did you mean idle_minutes?"),
        ('port = 1\nmemory_mb = "viel"', ":2: memory_mb: must be a whole number, not 'viel'"),
        ("cores = 0", ":1: cores: must be greater than 0, not 0"),
    ],
)
def test_a_mistake_in_the_settings_is_said_with_its_line(
    text: str, told: str, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.settings_file.write_text(text)
    with pytest.raises(ClassError) as error:
        place.settings()
    assert str(error.value) == f"{place.settings_file}{told}"


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The folder of a class as `class make` leaves it, whose user is this one."""
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr("p4lab.classroom.serve.SERVICE", getpass.getuser())
    place = Place(tmp_path / "class")
    place.hub.mkdir(parents=True)
    place.settings_file.write_text(written(Settings(**free_ports())))
    place.roster.write_text("id\nada\n")
    (place.hub / "proxy.env").write_text("CONFIGPROXY_AUTH_TOKEN=1\n")
    return place


@pytest.mark.parametrize("name", ["port", "proxy_port", "hub_port", "dashboard_port"])
def test_a_class_does_not_start_on_a_port_that_is_taken(name: str, whole: Place) -> None:
    """The proxy would end, or the page be missing, and the hub go on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        whole.settings_file.write_text(written(Settings(**{**free_ports(), name: port})))
        with pytest.raises(ClassError, match=f"port {port} is in use; .* another {name} in "):
            serve.check(whole)


def test_what_keeps_a_class_from_starting_is_a_sentence(
    whole: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What proxy and hub would say themselves is a page of Node or of Python."""
    serve.check(whole)
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("x")
    tls = {"tls_cert": str(wrong), "tls_key": str(wrong)}
    whole.settings_file.write_text(written(Settings(**free_ports(), **tls)))
    with pytest.raises(ClassError, match="are not a certificate and its key, without a password"):
        serve.check(whole)
    wrong.unlink()
    with pytest.raises(ClassError, match=f"the proxy cannot read {wrong}; give --tls-cert"):
        serve.check(whole)
    whole.settings_file.write_text(written(Settings(**free_ports(), listen="192.0.2.1")))
    with pytest.raises(
        ClassError, match=r"cannot listen on 192.0.2.1, port .*\); give another listen in"
    ):
        serve.check(whole)
    (whole.hub / "proxy.env").unlink()
    with pytest.raises(ClassError, match=r"proxy.env: No such file.*; .* class make ROSTER.csv"):
        serve.check(whole)
    monkeypatch.setattr("p4lab.classroom.serve.SERVICE", "nobody-of-this-name")
    with pytest.raises(ClassError, match=r"there is no user nobody.*; .* class make ROSTER.csv"):
        serve.check(whole)
    whole.roster.write_text("name\nAda\n")
    with pytest.raises(GradingError, match="names no column `id`"):
        serve.check(whole)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(ClassError, match="configurable-http-proxy is missing; install"):
        serve.check(whole)


NOISY = """
import subprocess, sys
from pathlib import Path
from p4lab.classroom import serve
from p4lab.classroom.place import ClassError, Place

def noisy(seconds):
    code = f"import time; print('Traceback', flush=True); time.sleep({seconds})"
    return lambda place, **more: subprocess.Popen([sys.executable, "-c", code], **more)

serve.start_proxy, serve.start_hub = noisy(sys.argv[2]), noisy(60)
try:
    serve.serve(Place(Path(sys.argv[1])))
except ClassError as error:
    print(error)
"""


def _served(place: Place, seconds: int) -> subprocess.Popen[str]:
    """A class in a terminal of its own whose proxy ends after so many seconds."""
    return subprocess.Popen(
        [sys.executable, "-c", NOISY, str(place.path), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_what_ends_by_itself_is_named_and_its_words_are_in_the_log(whole: Place) -> None:
    said, _ = _served(whole, 0).communicate(timeout=60)
    assert said == f"the proxy has ended; {whole.log} ends with the reason.\n"
    assert "Traceback" in whole.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_ends_a_class_reads_nothing_of_proxy_and_hub(
    whole: Place, number: signal.Signals
) -> None:
    process = _served(whole, 60)
    while not whole.log.exists() or whole.log.read_text().count("Traceback") < 2:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)
    said, _ = process.communicate(timeout=60)
    assert (said, process.returncode) == ("", 0)


def test_what_the_hub_ends_says_nothing() -> None:
    """It ends its services by SIGINT: no traceback for each."""
    pytest.importorskip("jupyterhub", reason="JupyterHub is not installed")
    from p4lab.classroom import hub

    code = hub.python("faketime")[-1].replace("from faketime import main; main()", "{}")
    waits = code.format("import time; print('ready', flush=True); time.sleep(60)")
    process = subprocess.Popen(
        [sys.executable, "-c", waits], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == (b"", b"")


@pytest.mark.parametrize("words", [["collect", "--at", "{0}"], ["make", "{0}/roster.csv"]])
def test_who_is_not_root_is_told_so_before_all_else(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where they may not read what they name."""
    pytest.importorskip("jupyterhub", reason="JupyterHub is not installed")
    (tmp_path / "roster.csv").write_text("id\nada\n")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    done = CliRunner().invoke(app, ["class", *(word.format(tmp_path) for word in words)])
    assert done.exit_code == 2 and "which takes root: sudo p4lab class." in done.output, done.output


def test_systemd_understands_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    pytest.importorskip("jupyterhub", reason="JupyterHub is not installed")
    from p4lab.classroom.units import units

    proxy = tmp_path / "bin" / "configurable-http-proxy"
    proxy.parent.mkdir()
    proxy.write_text("#!/bin/sh\n")
    proxy.chmod(0o755)
    monkeypatch.setenv("PATH", str(proxy.parent), prepend=":")
    place = Place(tmp_path / "class")
    place.hub.mkdir(parents=True)
    settings = Settings(port=443, tls_cert="/etc/hostname", tls_key="/etc/hosts")
    texts = units(place, settings)
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace("User=p4lab-class", "User=root"))
    files = [str(tmp_path / name) for name in texts]
    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in said.stderr.splitlines() if "p4lab-class" in line]
    assert said.returncode == 0 and ours == [], said.stderr
    (hub,) = (text for name, text in texts.items() if name == "p4lab-class.service")
    assert f"ExecStart={sys.executable} -m jupyterhub -f" in hub


@pytest.mark.parametrize("systemd", [True, False])
def test_jupyterhub_knows_every_setting(
    systemd: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would pass over one that is misspelt, such as a limit."""
    pytest.importorskip("jupyterhub", reason="JupyterHub is not installed")
    from jupyterhub.app import JupyterHub
    from jupyterhub.auth import Authenticator
    from jupyterhub.proxy import ConfigurableHTTPProxy
    from jupyterhub.spawner import Spawner
    from systemdspawner import SystemdSpawner
    from traitlets.config import Config

    from p4lab.classroom import hub
    from p4lab.classroom.place import PLACE

    (tmp_path / "roster.csv").write_text("id\nada\n")
    (tmp_path / "class.toml").write_text("memory_mb = 700\ncores = 1.5\n")
    monkeypatch.setenv(PLACE, str(tmp_path))
    monkeypatch.setattr(hub, "HAS_SYSTEMD", systemd)
    config = Config()
    hub.configure(config)
    known = [JupyterHub, Authenticator, ConfigurableHTTPProxy, Spawner, SystemdSpawner]
    traits = {one.__name__: set(one.class_traits(config=True)) for one in known}
    for section, values in config.items():
        assert set(values) <= traits[section], section
    spawner = (SystemdSpawner if systemd else Spawner)(config=config, user=MagicMock())
    limits = (spawner.mem_limit, spawner.cpu_limit)
    assert limits == ((700 << 20, 1.5) if systemd else (None, None))
    assert ("SystemdSpawner" in str(config.JupyterHub.spawner_class)) == systemd

"""The port map of the Wedge 100BF-32X and the map of a rack.

A wrong number here sends a lab group's packets out of the wrong socket, and nothing would say so.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from p4lab.targets.tofino import rack as racks
from p4lab.targets.tofino import tools
from p4lab.targets.tofino.chip import chassis, local, pipe
from p4lab.targets.tofino.rack import LANES_OF, from_text, load
from p4lab.targets.tofino.toml import HARDWARE, HardwareError
from p4lab.topology import Topology, names

ROOT = Path(__file__).parents[2]
WEDGE = chassis()
TESTBED = Topology.load("testbed")


def test_every_socket_and_lane_is_a_port_of_its_own() -> None:
    assert WEDGE.sockets == tuple(range(1, 33))
    ports = {WEDGE.dev_port(socket, lane) for socket in WEDGE.sockets for lane in range(4)}
    # A chip with two pipes and 32 sockets of four lanes: every port of both pipes, and no other.
    assert ports == {number << 7 | low for number in range(2) for low in range(64)}
    for port in ports:
        assert WEDGE.dev_port(*WEDGE.socket(port)) == port
    with pytest.raises(KeyError):
        WEDGE.dev_port(33)
    with pytest.raises(KeyError):
        WEDGE.dev_port(1, 4)


def by_mac(mac: int) -> int:
    """The chip's rule: 16 MACs to a pipe; their ports fall by 8 to 4 and then rise by 8 from 0."""
    own, k = divmod(mac, 16)
    return own * 128 + (60 - 8 * k if k < 8 else 8 * (k - 8))


def test_the_map_follows_from_the_macs_of_the_board() -> None:
    text = (HARDWARE / "wedge100bf-32x.toml").read_text()
    found = re.findall(r"port = (\d+), mac = (\d+), dev_port = (\d+)", text)
    rows = [tuple(map(int, row)) for row in found]
    assert len(rows) == 32 and {mac for _, mac, _ in rows} == set(range(32))
    for port, mac, dev_port in rows:
        assert dev_port == by_mac(mac) == WEDGE.dev_port(port), port


# The configuration of the Tofino paper's testbed: DECAP_PORT, RECIRCULATE_PORT, mirror ports.
@pytest.mark.parametrize(("socket", "port"), [(10, 48), (29, 144), (30, 152), (31, 128), (32, 136)])
def test_ports_that_a_published_system_names(socket: int, port: int) -> None:
    assert WEDGE.dev_port(socket) == port


def test_ports_without_a_socket() -> None:
    assert WEDGE.recirculation == (68, 69, 70, 71, 196, 197, 198, 199)
    assert all(68 <= local(port) <= 71 and pipe(port) < 2 for port in WEDGE.recirculation)
    assert WEDGE.cpu_ethernet == (64, 65, 66, 67) and WEDGE.cpu_pcie == 192


def test_the_example_fits_its_topology() -> None:
    setups = load(HARDWARE / "rack.example.toml").setups(TESTBED)
    assert list(setups) == ["r1", "r2", "r3"]
    r1 = setups["r1"]
    assert [(str(port), port.to) for _, port in r1.cables] == [
        ("1/0", "h1"),
        ("2/0", "r2"),
        ("3/0", "r3"),
    ]
    assert r1.layout.loops == (196, 152, 128)  # turns: the chip's own, then sockets 30 and 31
    assert [r1.layout.port(number) for number in TESTBED.ports("r1")] == [132, 140, 148]
    assert setups["r2"].layout.loops == (68,)


@pytest.mark.parametrize("name", names())
def test_models_have_a_port_for_every_link(name: str) -> None:
    topology = Topology.load(name)
    for router, setup in racks.every_port(topology).setups(topology).items():
        assert {number: port.to for number, port in setup.cables} == topology.ports(router)
        lanes = [
            port.dev_port + lane for port in setup.ports for lane in range(LANES_OF[port.speed])
        ]
        assert len(set(lanes)) == len(lanes)
        told = json.loads(tools.ports_json(tools.model_interfaces(setup, "cpu0")))["PortToIf"]
        assert {row["if"]: row["device_port"] for row in told} == {
            "cpu0": 64,
            **{f"{router}-eth{number}": port.dev_port for number, port in setup.cables},
        }


HEAD = 'name = "x"\n[[switch]]\nrouter = "r1"\n'  # lines 1 to 3
CABLE = '[[cable]]\nswitch = "r1"\nfront = 1\nto = "h1"\n'  # lines 4 to 7

WRONG = [
    ("name = 'x'\nswitch = []\n", 2, "`switch` is []"),
    (HEAD.replace("router", "ruoter"), 3, "unknown key `ruoter`: did you mean `router`?"),
    (HEAD + 'chassis = "wedge9000"\n', 4, "no port map of a chassis 'wedge9000'"),
    (HEAD + 'server = "no port"\n', 4, "`server` is 'no port'"),
    (HEAD + "recirculation = [68, 72]\n", 4, "72 is not a separate recirculation port"),
    (HEAD + "recirculation = [68, 68]\n", 4, "68 is not a separate recirculation port"),
    (HEAD + HEAD.partition("\n")[2], 5, "there are two switches r1"),
    (HEAD + HEAD.partition("\n")[2].replace("r1", "r2"), 4, "r2 has the server of r1"),
    (HEAD + CABLE.replace('"r1"', '"r9"'), 5, "no switch is named 'r9'; known: r1"),
    (HEAD + CABLE.replace("front = 1", "front = 33"), 6, "has the sockets 1 to 32, not 33"),
    (HEAD + CABLE.replace("front = 1", "front = 0"), 6, "`front` is 0, but it must be at least 1"),
    (HEAD + CABLE + "lane = 2\n", 8, "a port of 100G has 4 lanes"),
    (HEAD + CABLE + 'speed = "50G"\nlane = 1\n', 9, "a port of 50G has 2 lanes"),
    (HEAD + CABLE + 'speed = "200G"\n', 8, "`speed` is '200G', but it must be '10G'"),
    (HEAD + CABLE + 'speed = "10G"\nfec = "rs"\n', 9, "a port of 10G has FEC none or fc, not rs"),
    (HEAD + CABLE + CABLE.replace("h1", "h2"), 8, "1/0 of r1 is used twice, by cable 1 and here"),
    (HEAD + CABLE + '[[loop]]\nswitch = "r1"\nfront = 1\n', 8, "used twice, by cable 1"),
    (HEAD + "[[cable]\n", 4, "this is not TOML"),
    ('[[switch]]\nrouter = "r1"\n', 1, "the file has no `name`"),
]


@pytest.mark.parametrize(("text", "line", "said"), WRONG)
def test_every_mistake_has_its_line_and_a_sentence(text: str, line: int, said: str) -> None:
    with pytest.raises(HardwareError) as error:
        from_text(text)
    problems = {problem.line: problem.text for problem in error.value.problems}
    assert said in problems[line], problems


def test_breakout_cables_share_a_socket() -> None:
    text = HEAD + "".join(
        CABLE.replace("h1", f"n{lane}") + f'speed = "25G"\nlane = {lane}\n' for lane in range(4)
    )
    from_text(text)
    with pytest.raises(HardwareError, match="used twice"):
        from_text(text + CABLE.replace("h1", "n4") + 'speed = "50G"\nlane = 2\n')


def test_a_topology_that_the_rack_has_not_is_refused_with_what_is_missing() -> None:
    rack = load(HARDWARE / "rack.example.toml")
    with pytest.raises(HardwareError, match="no switch for r4") as error:
        rack.setups(Topology.load("paper"))
    assert "no cable for r2 - r4" in str(error.value) and "--topology" in str(error.value)


def test_no_text_crashes_the_reader() -> None:
    draw = random.Random(3)
    print("seed 3")
    sound = (HARDWARE / "rack.example.toml").read_text()
    for _ in range(300):
        at, end = sorted(draw.choices(range(len(sound)), k=2))
        junk = "".join(draw.choices(' "[]=#\n1aé{}', k=draw.randrange(4)))
        try:
            from_text(sound[:at] + junk + sound[min(end, at + 40) :])
        except HardwareError as error:
            assert error.problems and all(problem.line >= 1 for problem in error.problems)

"""A Linux host as a leaf: what its kernel delivers, refuses, and does not look at.

If these fail, lab 04 and docs/msr6.md promise what a student's kernel does not do, or the other way
round: that a Linux host is a complete leaf, and that it never looks at Segments Left of type 253.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from linux_leaf import (
    GROUP,
    HOST,
    INGRESS,
    INNER_HOPS,
    OTHER_SIDS,
    PROFILE,
    PROTOCOL_IPV6,
    PROTOCOL_UDP,
    SID,
    SRH,
    Leaf,
    behind,
    datagram,
    inner,
    routing_header,
)
from linux_stacks import NoNamespacesError, Room, echo_request, open_room
from p4lab.packets.ip import ipv6
from p4lab.paths import ROOT
from p4lab.systems.msr6.linux import accept_srh_commands, leaf_commands

PAGE = ROOT / "docs" / "msr6.md"
KNOB = Path("/proc/sys/net/ipv6/conf/all/seg6_enabled")


def seg6local(*action: str) -> list[str]:
    """The command for a SID that does something else than ours."""
    route = ["ip", "-6", "route", "add", str(SID), "encap", "seg6local", "action"]
    return [*route, *action, "dev", "eth0"]


ADDRESS = ["ip", "-6", "addr", "add", f"{SID}/128", "dev", "eth0", "nodad"]
WAYS = {
    "`End.DT6 table local`": leaf_commands(SID, "eth0"),
    "`End.DT6 table local`, not `seg6_enabled`": [seg6local("End.DT6", "table", "local")],
    "`End.DT6 table main`": [
        *accept_srh_commands("eth0"),
        seg6local("End.DT6", "table", "main"),
    ],
    "`End.DX6 nh6 ::`": [*accept_srh_commands("eth0"), seg6local("End.DX6", "nh6", "::")],
    "ordinary address, `seg6_enabled`": [*accept_srh_commands("eth0"), ADDRESS],
    "ordinary address": [ADDRESS],
}
CONTENTS = {
    "IPv6 to the host": (PROTOCOL_IPV6, inner(HOST, b"unicast"), b"unicast"),
    "IPv6 to a group": (PROTOCOL_IPV6, inner(GROUP, b"multicast"), b"multicast"),
    "UDP": (PROTOCOL_UDP, datagram(SID, b"nothing inside", source=INGRESS), b"nothing inside"),
}
HEADERS = {
    "no routing header": None,
    "type 4, SL 0": (SRH, 0),
    "type 4, SL 1": (SRH, 1),
    "type 253, SL 0": (PROFILE, 0),
    "type 253, SL 1": (PROFILE, 1),
}


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    if not KNOB.exists():
        pytest.skip("this kernel has no SRv6 (CONFIG_IPV6_SEG6_LWTUNNEL)")
    try:
        with open_room() as found:
            done = found.stack().try_to(*seg6local("End.DT6", "table", "local")[:-1], "lo")
            if done.returncode != 0:
                pytest.skip(f"no seg6local: {done.stderr.strip().splitlines()[0]}")
            yield found
    except NoNamespacesError as error:
        pytest.skip(f"no network namespaces: {error}")


@pytest.fixture
def leaf(room: Room) -> Iterator[Leaf]:
    """A leaf as the lab makes it."""
    made = Leaf(room, leaf_commands(SID, "eth0")).join()
    yield made
    made.close()


def the_page() -> dict[str, dict[tuple[str, str], str]]:
    """The table of docs/msr6.md: way, then inside and routing header, to what becomes of it."""
    section = PAGE.read_text(encoding="utf-8").split("### What arrives\n")[1].split("\n### ")[0]
    rows = [
        [cell.strip().strip("*") for cell in line.strip("|\n").split("|")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    _, _, *columns = rows[0]
    found: dict[str, dict[tuple[str, str], str]] = {}
    for way, inside, *cells in rows[1:]:
        found |= {way: {}} if way else {}
        last = list(found)[-1]
        found[last] |= {(inside, c): cell for c, cell in zip(columns, cells, strict=True)}
    return found


def as_without_tunnels(outcome: str, on_page: str) -> str:
    """A kernel with module tunnel6 knows next header 41, and says that nobody wants the packet."""
    return on_page if outcome == "error 1/4" and on_page.startswith("error 4/1") else outcome


def test_the_page_has_every_field() -> None:
    """Without it, a row that is missing on the page would never be measured."""
    fields = {(inside, header) for inside in CONTENTS for header in HEADERS}
    assert {way: set(row) for way, row in the_page().items()} == dict.fromkeys(WAYS, fields)


@pytest.mark.parametrize("way", WAYS)
def test_every_field_of_the_page(room: Room, way: str) -> None:
    host = Leaf(room, WAYS[way]).join()
    on_page = the_page()[way]
    found = {}
    for inside, (protocol, payload, data) in CONTENTS.items():
        for name, kind in HEADERS.items():
            header = routing_header(*kind, protocol) if kind else b""
            outcome = host.outcome(behind(header, protocol, payload), data)
            found[inside, name] = as_without_tunnels(outcome, on_page[inside, name])
    host.close()
    assert found == on_page


@pytest.mark.parametrize("segments_left", [1, 7, 255])
def test_a_copy_that_should_be_replicated_is_taken_all_the_same(leaf, segments_left):
    """Were it otherwise, a P4 router that forgets Segments Left would be found out by its hosts,
    and the checks of the lab need not look themselves."""
    header = routing_header(PROFILE, segments_left, PROTOCOL_IPV6)
    packet = behind(header, PROTOCOL_IPV6, inner(GROUP, b"too early"))
    assert leaf.outcome(packet, b"too early") == "delivered"


@pytest.mark.parametrize(
    "segments_left, last_entry, at_an_address", [(1, 9, "dropped"), (7, 1, "error 4/0 at 43")]
)
def test_a_broken_header_of_type_4_is_none_to_a_sid(
    room, leaf, segments_left, last_entry, at_an_address
):
    """Else the page warns in vain those who would rely on the kernel's guards."""
    ordinary = Leaf(room, [*accept_srh_commands("eth0"), ADDRESS]).join()
    header = routing_header(SRH, segments_left, PROTOCOL_IPV6, last_entry=last_entry)
    packet = behind(header, PROTOCOL_IPV6, inner(GROUP, b"broken"))
    assert leaf.outcome(packet, b"broken") == "delivered"
    assert ordinary.outcome(packet, b"broken") == at_an_address
    ordinary.close()


def test_a_header_longer_than_its_packet_is_dropped(leaf):
    header = routing_header(PROFILE, 0, PROTOCOL_IPV6, length=200)
    packet = behind(header, PROTOCOL_IPV6, inner(GROUP, b"cut off"))
    assert leaf.outcome(packet, b"cut off") == "dropped"


def test_the_hop_limit_inside_arrives_as_it_was(leaf):
    """Else the profile's sentence that a Linux leaf does not decrement it is wrong."""
    header = routing_header(PROFILE, 0, PROTOCOL_IPV6)
    sent, received = leaf.carry(behind(header, PROTOCOL_IPV6, inner(GROUP, b"hops")))
    assert (sent, received) == ([], [(b"hops", INNER_HOPS)])


def test_a_host_that_has_not_joined_gets_nothing(room):
    """Else every program at the port would get groups that nobody here has asked for."""
    host = Leaf(room, leaf_commands(SID, "eth0"))
    packet = behind(b"", PROTOCOL_IPV6, inner(GROUP, b"unwanted"))
    assert host.outcome(packet, b"unwanted") == "dropped"
    host.join()
    assert host.outcome(packet, b"unwanted") == "delivered"
    host.close()


def test_a_routing_header_behind_a_group_is_dropped(leaf):
    """Why the outer destination is a SID on every hop, the last included."""
    packet = behind(b"", PROTOCOL_UDP, datagram(GROUP, b"to all", source=INGRESS), GROUP)
    assert leaf.outcome(packet, b"to all") == "delivered"
    for kind in (PROFILE, SRH):
        header = routing_header(kind, 0, PROTOCOL_UDP)
        body = datagram(GROUP, b"to all", source=INGRESS)
        assert leaf.outcome(behind(header, PROTOCOL_UDP, body, GROUP), b"to all") == "dropped"


@pytest.mark.parametrize("table, packets, errors", [("local", "2", "2"), ("main", "0", "4")])
def test_a_sid_does_not_answer_pings_but_counts_them(room, table, packets, errors):
    """The page tells who pings a SID in vain to count; it must not send them astray."""
    host = Leaf(room, [seg6local("End.DT6", "table", table, "count")]).join()
    assert host.carry(echo_request(INGRESS, SID, b"are you there")) == ([], [])
    header = routing_header(SRH, 1, PROTOCOL_IPV6)
    for outer in (b"", routing_header(PROFILE, 1, PROTOCOL_IPV6), header):
        host.carry(behind(outer, PROTOCOL_IPV6, inner(GROUP, b"counted")))
    said = host.stack.run("ip", "-6", "-s", "route", "show", str(SID))
    host.close()
    assert dict(re.findall(r"(packets|errors) (\d+)", said)) == {
        "packets": packets,
        "errors": errors,
    }, said


def test_foreign_sids_are_not_the_leafs(leaf):
    """A host is not a router: what is not for it goes no further."""
    packet = ipv6(INGRESS, OTHER_SIDS[0], PROTOCOL_IPV6, inner(GROUP, b"not mine"))
    assert leaf.outcome(packet, b"not mine") == "dropped"


@pytest.mark.parametrize("interface", ["eth0", "eth0.100"])
def test_leaf_commands_may_be_repeated(room, interface):
    """Else a second run in the same host fails, or one whose interface has a dot in its name."""
    commands = leaf_commands(SID, interface)
    host = Leaf(room, [*commands, *commands], name=interface).join()
    routes = host.stack.run("ip", "-6", "route", "show", str(SID)).strip().splitlines()
    assert len(routes) == 1, routes
    packet = behind(b"", PROTOCOL_IPV6, inner(GROUP, b"once"))
    assert host.outcome(packet, b"once") == "delivered"
    knobs = [f"/proc/sys/net/ipv6/conf/{each}/seg6_enabled" for each in ("all", interface)]
    assert host.stack.run("cat", *knobs).split() == ["1", "1"]
    host.close()

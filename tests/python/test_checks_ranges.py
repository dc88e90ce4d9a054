"""Hidden cases reach everything that a lab allows. Without these a field would be the same number
in every packet again, or a port never be above 30, and whoever copies, sets or cuts it off would
keep full marks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain

import pytest

from p4lab import _engine
from p4lab.grading import frames
from p4lab.grading.course import Course, Judged, hidden_seeds, load, public_seeds
from p4lab.grading.scenario import Scenario, ScenarioError
from p4lab.grading.story import compare
from p4lab.grading.work import Work

LABS = ("01-bier", "02-frr", "03-protect", "04-msr6", "05-recirculation", "06-bng")
SEEDS = (1, 2, 3)

IPV4 = "with another number it is no IPv4 header, and no parser takes it for one"
TABLES = "tables say what is sent to these addresses, and these are all"
ENDS = "no case is about packets of other lengths, which change nothing"
ONE_KIND = "the header is there only behind this number"

FIXED = {
    "01-bier": {
        "ethernet.ether_type": "a few numbers beside the two that are known",
        "ipv4.version": IPV4,
        "ipv4.ihl": IPV4,
        "ipv4.total_len": ENDS,
        "ipv4.protocol": "all numbers, but bits may be alike in those that are drawn",
    },
    "02-frr": {
        "ethernet.ether_type": "a few numbers beside those that are known",
        "ipv4.version": IPV4,
        "ipv4.ihl": IPV4,
        "ipv4.total_len": ENDS,
        "bier.ver": "lab 01 judges what becomes of another version",
        "bier.proto": "lab 01 judges other numbers",
    },
    "03-protect": {
        "ethernet.ether_type": "a few numbers",
        "ipv4.version": IPV4,
        "ipv4.ihl": IPV4,
        "ipv4.total_len": ENDS,
        "ipv4.dst_addr": TABLES,
        "ipv6.version": IPV4,
        "ipv6.next_header": "a few numbers",
        "ipv6.dst_addr": TABLES,
        "tunnel.version": ONE_KIND,
        "tunnel.ihl": ONE_KIND,
        "tunnel.total_len": ENDS,
        "tunnel.flags": "the flag that there are more fragments makes it another packet",
        "tunnel.frag_offset": "a fragment is another packet",
        "tunnel.protocol": ONE_KIND,
        "tunnel.dst_addr": TABLES,
    },
    "04-msr6": {
        "ethernet.ether_type": ONE_KIND,
        "ipv6.version": ONE_KIND,
        "ipv6.next_header": ONE_KIND,
        "ipv6.dst_addr": "locators are in 5f00::/16 (RFC 9602)",
        "routing.next_header": ONE_KIND,
        "hop_by_hop.next_header": "a few numbers",
        "hop_by_hop.hdr_ext_len": "options of another length are not read, and nothing behind them",
        "inner.version": ONE_KIND,
    },
    "05-recirculation": {
        "ethernet.ether_type": "a few numbers beside the two that are known",
        "bier.ver": "lab 01 judges what becomes of another version",
        "ipv4.version": IPV4,
        "ipv4.ihl": IPV4,
        "ipv4.total_len": ENDS,
        "ipv4.dst_addr": "lab 01 judges what becomes of unicast",
        "packet_out.egress_port": "front ports of a pipe are its first 64",
    },
    "06-bng": {
        "ethernet.ether_type": "a few numbers",
        "inner.ether_type": ONE_KIND,
        "inner_tag.ether_type": ONE_KIND,
        "ipv4.ihl": IPV4,
        "ipv4.total_len": ENDS,
        "ipv4.version": IPV4,
        "ipv6.version": IPV4,
        "label0.s": ONE_KIND,
        "label1.s": ONE_KIND,
        "outer_tag.ether_type": ONE_KIND,
        "pppoe.len": ENDS,
        "pppoe.type": ONE_KIND,
        "pppoe.version": ONE_KIND,
    },
}
"""Fields of which some bit is the same in all hidden cases, and why"""


@cache
def course(lab: str) -> Course:
    return load(lab)


@cache
def hidden(lab: str) -> tuple[Judged, ...]:
    """All hidden cases of some seeds."""
    return tuple(
        course(lab).case(check, label)
        for seed in SEEDS
        for check in course(lab).checks
        if check.scenario or check.parses
        for label in hidden_seeds(check, seed)
    )


def headers(lab: str) -> Iterator[frames.Header]:
    """What the reference's parser finds in the packets of all hidden cases."""
    switches: dict[object, _engine.Switch] = {}
    for judged in hidden(lab):
        case = judged.case
        program = course(lab).program(case.defines)
        switch = switches.setdefault(case.defines, _engine.Switch(program))
        for port, metadata in case.loops:
            switch.set_loop(port)
            switch.set_port_metadata(port, metadata)
        for sending in case.sendings:
            trace = switch.trace(sending.port, sending.data)
            yield from frames.parsed(trace["packets"][0])


@cache
def values(lab: str) -> dict[str, set[int]]:
    """What the fields hold in the packets of all hidden cases, by names such as `bier.ttl`."""
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for header in headers(lab):
        for field, value in header.fields.items():
            seen[f"{header.name}.{field}"].add(value)
    return dict(seen)


@pytest.mark.parametrize("lab", LABS)
def test_every_bit_of_a_field_is_set_in_some_cases_and_clear_in_others(lab: str) -> None:
    layout = course(lab).headers(course(lab).defines)
    alike = {
        name
        for name, seen in values(lab).items()
        for header, _, field in [name.partition(".")]
        for bit in range(layout[header].get(field, 0))
        if len({value >> bit & 1 for value in seen}) == 1
    }
    assert sorted(alike - set(FIXED[lab])) == []


@pytest.mark.parametrize("lab", LABS)
def test_there_is_noise_in_all_hidden_cases_and_no_two_alike(lab: str) -> None:
    seeds = [judged.case.undefined for judged in hidden(lab)]
    assert None not in seeds
    assert len(set(seeds)) > len(seeds) * 0.9


@pytest.mark.parametrize("lab", ["01-bier", "02-frr", "05-recirculation"])
def test_every_length_of_the_bit_string_is_met_in_switches_and_in_networks(lab: str) -> None:
    for network in (False, True):
        met = {
            dict(judged.case.defines)["BSL"]
            for judged in hidden(lab)
            if (judged.case.network is not None) == network
        }
        assert met == {"64", "128", "256"}


PORTS = {
    "01-bier": (0, 508, 8),
    "02-frr": (0, 508, 8),
    "03-protect": (0, 509, 8),
    "04-msr6": (0, 508, 8),
    "05-recirculation": (0, 511, 4),
    "06-bng": (0, 508, 8),
}
"""The first and the last port, and into how many parts of the switch they are counted: pipes"""


@pytest.mark.parametrize("lab", LABS)
def test_packets_come_in_and_go_out_by_ports_of_the_whole_switch(lab: str) -> None:
    """Above 255, where 8 bits end, and of each part."""
    low, high, parts = PORTS[lab]
    ins = {sending.port for judged in hidden(lab) for sending in judged.case.sendings}
    outs = {port for judged in hidden(lab) for out in judged.outputs for port, _ in out}
    for ports in (ins, outs):
        cables = {port for port in ports if low <= port <= high}
        assert {parts * port // (high + 1) for port in cables} == set(range(parts))


@pytest.mark.parametrize(
    ("lab", "field"),
    [
        ("01-bier", "bier.ttl"),
        ("01-bier", "ipv4.ttl"),
        ("02-frr", "bier.ttl"),
        ("02-frr", "ipv4.ttl"),
        ("03-protect", "ipv4.ttl"),
        ("04-msr6", "ipv6.hop_limit"),
        ("04-msr6", "inner.hop_limit"),
        ("05-recirculation", "bier.ttl"),
        ("05-recirculation", "ipv4.ttl"),
        ("06-bng", "ipv4.ttl"),
        ("06-bng", "ipv6.hop_limit"),
    ],
)
def test_the_ends_of_a_ttl_are_met(lab: str, field: str) -> None:
    assert {0, 1, 2, 254, 255} <= values(lab)[field]


@pytest.mark.parametrize("lab", LABS)
def test_the_reference_sends_what_a_scenario_expects(lab: str) -> None:
    """Whoever sends the same as the reference is not compared field by field."""
    work = Work(course(lab).student.program, course(lab).sources)
    for check in course(lab).checks:
        if not check.scenario or course(lab).scenario(check.scenario).expect is None:
            continue
        for label in chain(public_seeds(check), hidden_seeds(check, SEEDS[0])):
            judged = course(lab).case(check, label)
            program = course(lab).program(judged.case.defines)
            for number in range(1, len(judged.case.sendings) + 1):
                found = compare(course(lab), check, judged, work, program, number)
                assert found is None, f"{check.id} {label}: {found}"


@pytest.mark.parametrize("lab", LABS)
def test_students_read_few_numbers(lab: str) -> None:
    """So many of a packet that are not 0, the entries of a list aside."""
    for check in course(lab).checks:
        if not (check.scenario or check.parses):
            continue
        for label in public_seeds(check):
            for sending in course(lab).case(check, label).case.sendings:
                named = sending.text.count("=") - sending.text.count("sid=")
                assert named <= 32, f"{check.id}: {sending.text}"


def test_a_case_in_which_the_reference_reads_what_is_undefined_is_refused() -> None:
    """There would be no right answer."""
    lab = course("02-frr")
    sources = dict(lab.sources)
    name = "bier-frr/v1model.p4"
    told = "standard_metadata.egress_spec = meta.decision.egress_port;"
    assert told in sources[name]
    sources[name] = sources[name].replace(
        told, "bit<9> never; standard_metadata.egress_spec = never;"
    )
    broken = load("02-frr")
    broken.__dict__["sources"] = sources
    case = Scenario.model_validate(
        {
            "say": "A packet comes in.",
            "entry": [
                {
                    "table": "routes",
                    "match": {"destination": "=(base + 512, 24)"},
                    "action": "route",
                    "params": {"port": 7},
                }
            ],
            "send": [{"port": 1, "like": "unicast"}],
        }
    )
    broken._scenarios["x"] = case
    check = lab.checks[3].model_copy(update={"scenario": "x"})
    assert broken.case(check, public_seeds(check)[0]).outputs
    with pytest.raises(Exception, match="what P4 leaves undefined") as raised:
        broken.case(check, "9/hidden/1")
    assert isinstance(raised.value.__cause__, ScenarioError)

"""What a scenario may leave open, count and wait for. Without these a wrong answer would pass that
copies a field which is 0 in every packet, forgets to count, or never looks at a clock."""

from __future__ import annotations

import random
import sys

import pytest

from p4lab.course.marks import solution
from p4lab.grading.anything import Anything
from p4lab.grading.course import Course, load, public_seeds
from p4lab.grading.judge import judge
from p4lab.grading.record import CheckResult
from p4lab.grading.rows import ScenarioError
from p4lab.grading.scenario import Case, Scenario, make_case
from p4lab.grading.story import alike
from p4lab.model.entries import MulticastGroup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.beside(seconds=10)

LAYOUT = {"ipv4": {"diffserv": 8, "flags": 3, "src_addr": 32}}
PACKET = {
    "ipv4": {"diffserv": "any", "flags": "any", "src_addr": "any", "ttl": 4},
    "payload": "any",
}
DRAWS = 400


@pytest.fixture(scope="module")
def course() -> Course:
    return load("03-protect")


def values(hidden: bool, field: str) -> set[int]:
    anything = Anything(random.Random(7), hidden)
    return {anything.filled(PACKET, LAYOUT)["ipv4"][field] for _ in range(DRAWS)}


def test_students_read_small_numbers() -> None:
    assert values(False, "src_addr") <= set(range(1, 100))
    assert values(False, "flags") == set(range(1, 8))


@pytest.mark.parametrize(("field", "width"), [("diffserv", 8), ("src_addr", 32)])
def test_hidden_cases_reach_both_ends_and_all_between(field: str, width: int) -> None:
    found = values(True, field)
    assert {0, (1 << width) - 1} <= found
    for place in range(width):  # every bit is set in some and clear in others
        assert len({value >> place & 1 for value in found - {0, (1 << width) - 1}}) == 2


def test_nothing_but_a_field_of_the_packet_is_drawn() -> None:
    filled = Anything(random.Random(7), True).filled(PACKET, LAYOUT)
    assert filled["ipv4"]["ttl"] == 4 and filled["payload"] == "any"


def drawn(course: Course, scenario: str, hidden: bool) -> list[int]:
    """Ports where packets come in, of many cases."""
    made = Scenario.model_validate(tomllib.loads(scenario))
    return [
        make_case(made, course.kit, course, f"case/{number}", hidden=hidden).sendings[0].port
        for number in range(50)
    ]


def test_a_draw_knows_whether_students_will_read_it(course: Course) -> None:
    scenario = """
        say = "A packet comes in."
        draw.port = { from = 1, to = "=509 if hidden else 9" }
        [[send]]
        port = "=port"
        like = "flow"
    """
    assert max(drawn(course, scenario, False)) <= 9 < 100 < max(drawn(course, scenario, True))


def test_time_passes_between_packets_and_is_told(course: Course) -> None:
    scenario = Scenario.model_validate(
        tomllib.loads("""
            say = "Packets come in."
            [[send]]
            each = "t in [0, 5, 1500]"
            port = 1
            wait = "=t"
            like = "flow"
        """)
    )
    case = make_case(scenario, course.kit, course, "case/1")
    assert [sending.now for sending in case.sendings] == [0, 5_000_000, 1_505_000_000]
    assert "microseconds" not in case.sendings[0].text
    assert case.sendings[2].text.startswith("1,500 microseconds later a packet comes in")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[send]]\nport = 1\nwait = -1\nlike = 'flow'", "time does not run backwards"),
        ("[[group]]\nid = 1\nports = [2, 3]\ninstances = [1]", "2 ports and 1 instance"),
    ],
)
def test_what_cannot_be_done_is_named(course: Course, text: str, said: str) -> None:
    scenario = Scenario.model_validate(tomllib.loads(f"say = 'x'\n{text}"))
    with pytest.raises(ScenarioError, match=said):
        make_case(scenario, course.kit, course, "case/1")


def result(course: Course, check: str, find: str, replace: str) -> CheckResult:
    """What becomes of a check if the solution is changed in one place."""
    files = {name: solution(course.sources[name], name) for name in course.student.edit}
    (changed,) = [name for name, text in files.items() if find in text]
    assert files[changed].count(find) == 1
    files[changed] = files[changed].replace(find, replace)
    return next(item for item in judge(course, files).checks if item.id == check)


def test_what_is_counted_for_another_reason_is_told_with_its_cell(course: Course) -> None:
    reason = "decision.drop = drop_reason_t.TUNNEL_IN_TUNNEL;"
    other = reason.replace("TUNNEL_IN_TUNNEL", "UNKNOWN_PACKET")
    story = result(course, "decapsulate-garbage", reason, other).story
    assert story is not None and story.signature == "wrong count"
    assert "dropped[9] holds 0, not " in story.summary and story.hint


def test_a_header_that_is_left_open_may_be_there(course: Course) -> None:
    """So that the window can be judged before anybody takes the headers off."""
    removed = "        hdr.tunnel.setInvalid();\n        hdr.protection.setInvalid();\n"
    assert result(course, "accept-order", removed, "").status == "passed"
    whole = result(course, "decapsulate-whole", removed, "")
    assert whole.story is not None and whole.story.signature == "header not removed"


def test_copies_have_the_numbers_that_the_scenario_gives_them(course: Course) -> None:
    """The program finds the way of a copy by its number, from 1."""
    check = next(check for check in course.checks if check.id == "tag-path")
    judged = course.case(check, public_seeds(check)[0])
    written = [update.entity for update in judged.case.updates]
    groups = [entity for entity in written if isinstance(entity, MulticastGroup)]
    assert [[instance for _, instance in group.replicas] for group in groups] == [[1, 2]]
    assert all(len(outputs) == 2 for outputs in judged.outputs)


def test_what_came_before_is_told_in_a_few_words(course: Course) -> None:
    scenario = Scenario.model_validate(
        tomllib.loads("""
            say = "W is {2 * w}."
            draw.w = 4
            [[send]]
            each = "n in [7, 8]"
            port = 1
            say = "number {n} comes"
            like = "flow"
        """)
    )
    case = make_case(scenario, course.kit, course, "case/1")
    assert case.told(2)[:2] == ("W is 8.", "number 7 comes")
    assert case.told(2)[2].startswith("number 8 comes, on port 1: ethernet(")
    assert case.told(1)[1].startswith("number 7 comes, on port 1: ")


SHOWN = """
    say = "A packet comes in."
    draw.port = { shown = 4, from = 7, to = 8 }
    [[send]]
    port = "=port"
    like = "flow"
    [send.packet]
    ipv4 = { ttl = { shown = 9, from = 20, to = 21 }, identification = { shown = 5 } }
    payload = { shown = "abc", from = 30, to = 31 }
"""


def cases(course: Course, scenario: str, hidden: bool) -> list[Case]:
    made = Scenario.model_validate(tomllib.loads(scenario))
    return [
        make_case(made, course.kit, course, f"case/{number}", hidden=hidden) for number in range(60)
    ]


def test_students_read_what_is_shown_and_the_grader_draws(course: Course) -> None:
    for case in cases(course, SHOWN, False):
        assert case.sendings[0].port == 4
        public = case.sendings[0].data
        assert (public[22], public[18:20], public[-3:]) == (9, b"\0\5", b"abc")
    hidden = cases(course, SHOWN, True)
    assert {case.sendings[0].port for case in hidden} == {7, 8}
    assert {case.sendings[0].data[22] for case in hidden} == {20, 21}
    assert {len(case.sendings[0].data) - len(public) for case in hidden} == {27, 28}
    assert len({case.sendings[0].data[18:20] for case in hidden}) > 20


def test_nothing_may_come_out_for_a_silent_packet(course: Course) -> None:
    """Also where others are allowed: what comes out for the packet before does not matter."""
    text = 'say = "x"\nothers = "ignore"\n' + "".join(
        f'[[send]]\nport = 1\nsilent = {silent}\nlike = "flow"\n' for silent in ("false", "true")
    )
    case = cases(course, text, False)[0]
    assert [case.forbids_others(number) for number in (1, 2)] == [False, True]
    leak = [(7, b"leak")]
    assert [alike(case, number, leak, ()) for number in (1, 2)] == [True, False]

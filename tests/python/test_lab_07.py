"""Lab 07: what a student's policies come to.

If these fail, a hostile policy costs a class its grades, or a right one its points.
"""

from __future__ import annotations

import json
import math
import re

import pytest

from cli_runner import p4lab
from p4lab.course import marks
from p4lab.grading.course import Course, hidden_seeds, load
from p4lab.grading.judge import judge
from p4lab.grading.measuring import drawn
from p4lab.grading.record import Verdict
from p4lab.notebook.live import Live
from p4lab.policies import PolicyError, library, machine, read
from p4lab.policies.program import STEPS
from p4lab.systems.fabric.policies import shape, tables
from p4lab.systems.fabric.ports import terminals
from p4lab.systems.fabric.trees import levels

pytestmark = pytest.mark.beside(seconds=20)

FILE = "fabric/policies.py"


@pytest.fixture(scope="module")
def course() -> Course:
    return load("07-fabric")


def solution(course: Course) -> str:
    return marks.solution(course.sources[FILE], FILE)


def changed(course: Course, method: str, body: str) -> str:
    """The solution with another body of a method."""
    text = solution(course)
    begin = text.index(f"    def {method}(")
    body_at = text.index('"""', text.index('"""', begin) + 3) + 3
    end = text.find("\n    def ", body_at)
    lines = "".join(f"\n        {line}" for line in body.splitlines())
    return text[:body_at] + lines + "\n" + ("" if end < 0 else text[end:])


def judged(course: Course, text: str) -> Verdict:
    return judge(course, {FILE: text})


# A tree that is a chain of surrogates, and leaves out so many members.
CHAIN = """
left, found, port = members[:len(members) - {}], {{}}, sender
leaf = [leaf for leaf in range(leaves) if leaf != sender // PLACES]
while len(left) > COPIES:
    found[port], left = left[:7], left[7:]
    child = leaf.pop() * PLACES + SURROGATE
    found[port].append(child)
    port = child
found[port] = left
return found""".strip()

# A method, its new body, the check that says so, and what it says.
WRONG = [
    ("rate", "while True:\n    pass", "rate-copies", "a loop that never ends"),
    ("rate", "return [0] * 10 ** 10", "rate-copies", "steps"),
    ("rate", "return open('p4/fabric/policies.py').read()", "rate-copies", "no name open"),
    ("rate", "return float('nan')", "rate-copies", "returns nan, which cannot be right"),
    ("rate", "return 10 ** 30", "rate-copies", "which cannot be right"),
    ("rate", "return 'fast'", "rate-copies", "returns 'fast' instead of a number"),
    ("rate", "return size / (copies - copies)", "rate-copies", "ZeroDivisionError"),
    ("tree", "return members", "tree-whole", "returns a list of 30, and not a dict"),
    ("tree", "return {sender: 'all'}", "tree-whole", "takes a port and a list of ports"),
    ("tree", "return {sender: [10 ** 9]}", "tree-whole", "no server and no surrogate"),
    ("tree", "return {sender: [13], 13: [21], 21: [13]}", "tree-whole", "each frame twice"),
    ("tree", "return {sender: [13]}", "tree-whole", "makes no copies of them"),
    ("tree", "return {sender: [1, 13], 13: [8]}", "tree-whole", "gets no frame, nor do 2"),
    ("tree", CHAIN.format(2), "tree-whole", "gets no frame, nor does one other."),
    ("tree", CHAIN.format(1), "tree-whole", "gets no frame."),
    ("tree", "return self.tree(sender, members, leaves)", "tree-whole", "more than 700 deep"),
    ("suspend", "return 'yes'", "suspend-small", "returns 'yes', and not True or False"),
    ("suspend", "return ahead > 18 and ahead[0]", "suspend-small", "TypeError"),
    ("drop", "return waiting", "drop-fast", 'returns 0, and not "keep", "newest" or "oldest"'),
    ("weight", "return -1", "weight-neighbour", "and not a weight from 0 to 1000"),
    ("weight", "return float('inf')", "weight-neighbour", "and not a weight from 0 to 1000"),
]


@pytest.mark.parametrize(("method", "body", "check", "told"), WRONG, ids=[w[1] for w in WRONG])
def test_a_policy_that_cannot_be_used_costs_its_own_part(course, method, body, check, told):
    results = {one.id: one for one in judged(course, changed(course, method, body)).checks}
    story = results[check].story
    assert story is not None and told in story.summary and story.hint
    assert story.place is not None and story.place.file == FILE
    part = results[check].part
    for one in results.values():
        if one.part not in (part, "all"):
            assert one.status == "passed", one.id


WRONG_STORIES = [
    (
        "weight",
        "return 5000",
        "weight-neighbour",
        "a weight from 0 to 1000",
        "says what it returns",
    ),
    ("weight", "return share / 0", "weight-neighbour", "ZeroDivisionError", "this line"),
    ("suspend", "return True", "suspend-small", "waits nearly all the time", "go on some time"),
    ("drop", 'return "oldest"', "drop-fast", "of all copies are dropped", "whose receiver is fast"),
    ("drop", 'return "keep"', "drop-fast", "Fast receivers get", "in the way"),
    (
        "drop",
        'return "newest" if waiting > 200 else "keep"',
        "drop-fast",
        "Fast receivers get",
        "Which of its copies do they wait for",
    ),
    (
        "rate",
        "return min(load, 99 / copies)",
        "rate-copies",
        "rate(5, 1536, 99)",
        "reads each cell again",
    ),
    ("tree", "x = [0]\nfor n in range(60):\n    x = x + x", "tree-whole", "here are", "grows"),
]


@pytest.mark.parametrize(
    ("method", "body", "check", "told", "hint"), WRONG_STORIES, ids=[w[1] for w in WRONG_STORIES]
)
def test_a_mistake_gets_the_story_and_the_hint_of_its_kind(course, method, body, check, told, hint):
    results = {one.id: one for one in judged(course, changed(course, method, body)).checks}
    story = results[check].story
    assert story is not None and told in story.summary and hint in story.hint


def test_a_chain_of_surrogates_is_a_tree_and_only_too_deep(course):
    verdict = judged(course, changed(course, "tree", CHAIN.format(0)))
    results = {one.id: one for one in verdict.checks}
    assert results["tree-whole"].status == "passed"
    assert results["tree-levels"].status == "failed"
    assert all(len(step) < 300 for step in results["tree-levels"].story.steps)


def test_a_long_line_is_shown_in_part(course):
    text = changed(course, "rate", "return " + "[" * 150 + "x" * 4000 + "]" * 150)
    (failed,) = [one for one in judged(course, text).checks if one.status == "failed"]
    assert len(failed.story.place.text) <= 120


def test_no_two_checks_show_the_same_case(course):
    told = [course.workload(check, f"{check.id}/1") for check in course.checks if check.measure]
    same = [(one.file.measure, one.say) for one in told]
    assert len(set(same)) == len(same)
    assert not [say for _, say in same if "counted from 0" in say or "e+" in say]


@pytest.mark.parametrize("seed", range(5))
def test_hidden_cases_leave_out_no_size_that_they_have_room_for(course, seed):
    """By chance one in four seeds never asked about small frames."""
    for check in filter(lambda one: one.measure, course.checks):
        file = course.measure(check.measure)
        sizes = file.draw.get("kind", file.draw.get("size"))
        if isinstance(sizes, dict) and "pick" in sizes:
            labels = hidden_seeds(check, seed)
            asked = {drawn(file, label, hidden=True)["size"] for label in labels}
            assert len(asked) == min(check.hidden, len(sizes["pick"])), check.id


def test_the_top_of_the_starter_lists_what_there_is(course):
    """Whoever trusts it must not find something else missing."""
    listed = set(re.findall(r"[a-z0-9]+", course.starter[FILE].split("What there is not")[0]))
    assert set(library.FUNCTIONS) | set(library.MATH) <= listed
    assert f"{machine.DEEPEST_CALL} deep" in course.starter[FILE]
    for steps in (shape.STEPS, STEPS, tables.QUICK):
        assert f"{steps:,}" in course.starter[FILE].replace("\n", " ")


def lost(verdict: Verdict) -> dict[str, str]:
    """The checks that give nothing, and what became of each."""
    return {one.id: one.status for one in verdict.checks if one.max_points and not one.points}


@pytest.mark.parametrize(
    ("limit", "gone"),
    [
        (90, {"drop-idle": "failed"}),  # shorter than a round trip with frames of 36 units
        (200, {}),
        (250, {}),
        (370, {"drop-two": "failed"}),  # two of these take all 740 units
        (600, {"drop-two": "failed"}),
    ],
)
def test_a_limit_of_a_queue_is_judged_by_what_students_see(course, limit, gone):
    units = "waiting + math.ceil(size / CELL)"
    text = changed(course, "drop", f'return "keep" if {units} <= {limit} else "oldest"')
    assert lost(judged(course, text)) == gone


@pytest.mark.parametrize(
    ("method", "body", "gone"),
    [
        ("rate", "return min(load, 20)", {"rate-copies", "rate-cells", "rate-load"}),
        ("suspend", "return False", {"suspend-small", "suspend-large", "suspend-calm"}),
        ("suspend", "return True", {"suspend-small", "suspend-large", "suspend-calm"}),
        ("drop", 'return "keep"', {"drop-fast", "drop-two", "drop-share", "drop-idle"}),
        ("weight", "return 1", {"weight-neighbour", "weight-two"}),
        ("weight", "return 1 if share >= 8 else 0", {"weight-two"}),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_decides_nothing_gets_nothing(course, method, body, gone):
    assert set(lost(judged(course, changed(course, method, body)))) - {"all-at-once"} == gone


def test_who_fails_in_hidden_cases_gets_nothing_for_what_rests_on_them(course):
    """Right by chance where students look: hidden cases have other numbers of copies."""
    right = "min(load, size * 8 / (math.ceil(size / CELL) * SLOT) / copies)"
    text = changed(course, "rate", f"return {right} if copies in (2, 3, 5) else 1")
    assert lost(judged(course, text)) == {}
    gone = lost(judge(course, {FILE: text}, seed=4))
    assert gone == {"rate-copies": "failed", "rate-cells": "skipped", "rate-load": "skipped"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import os\n", "may import math, and nothing else"),
        ("x = ().__class__\n", "cannot be reached"),
        ("while True:\n    pass\n", "a loop that never ends"),
    ],
)
def test_a_file_that_cannot_be_read_says_so_once(course, text, told):
    verdict = judged(course, text + solution(course))
    (failed,) = [one for one in verdict.checks if one.status == "failed"]
    assert failed.id == "reads" and told in failed.story.summary and failed.story.place.line <= 2


def test_a_policy_that_is_missing_or_renamed_is_named(course):
    """And costs no points but those that it is about."""
    verdict = judged(course, solution(course).replace("def drop(", "def drops("))
    (failed,) = [one for one in verdict.checks if one.status == "failed"]
    assert failed.id == "contract" and "no method drop(self, waiting, size)" in failed.story.summary
    drop = {one.id for one in course.checks if one.part == "drop"}
    assert set(lost(verdict)) == {"all-at-once", *drop}


def test_what_tries_the_class_in_the_file_is_named(course):
    """Many end a file so. It costs all points, so it has to be clear what to leave out."""
    tried = solution(course) + "\nprint(Policies().rate(3, 1536, 99))\n"
    (failed,) = [one for one in judged(course, tried).checks if one.status == "failed"]
    assert "Policies cannot be used here" in failed.story.summary
    assert failed.story.place.text.startswith("print(")
    guarded = solution(course) + '\nif __name__ == "__main__":\n    pass\n'
    (failed,) = [one for one in judged(course, guarded).checks if one.status == "failed"]
    assert "read and not started" in failed.story.summary


@pytest.mark.parametrize("count", [8, 9, 64, 65, 512, 513, 639])
def test_the_reference_builds_trees_that_cannot_be_better(course, count):
    """n levels reach 8^(n+1) members at the most, and a surrogate adds seven."""
    members = [port for leaf in range(128) for port in terminals(leaf)][1 : count + 1]
    given = {"leaves": 128, "sender": 0, "members": members}
    tree, _ = shape.of(course.policies, given)
    assert max(levels(tree).values()) == math.ceil(round(math.log(count, 8), 9)) - 1
    assert len(tree) - 1 == max(0, math.ceil((count - 8) / 7))
    assert set(levels(tree)) == set(members)


def test_a_tree_may_not_use_what_is_not_there():
    program = read("class A:\n    def tree(self, s, m, l):\n        return {s: [13, 1]}\n", FILE)
    with pytest.raises(PolicyError, match="no server and no surrogate at port 13"):
        shape.of(program, {"leaves": 1, "sender": 0, "members": [1]})


def test_a_port_that_makes_no_copies_may_have_a_list_for_them():
    """A dict with a list for every port, which is filled later, is a usual way to begin."""
    text = "class A:\n    def tree(self, s, m, l):\n        return {s: [1], 5: [], 13: []}\n"
    tree, _ = shape.of(read(text, FILE), {"leaves": 2, "sender": 0, "members": [1]})
    assert tree == [(0, [1])]


def test_weights_may_be_fractions():
    """Whoever says "its share of the buffer" with a number up to 1 is right."""
    text = "class A:\n    def weight(self, share, latest, largest):\n        return share {}\n"
    whole, fractions = (tables.weights(read(text.format(how), FILE)) for how in ("", "/ 1000"))
    assert whole[4:12:4] == [1, 2] and max(whole) == 16
    assert fractions == [weight * tables.FINEST // 16 for weight in whole]


def test_the_same_policies_get_the_same_verdict(course):
    assert judged(course, solution(course)) == judged(course, solution(course))
    assert judged(course, solution(course)).points == 100


def test_beside_the_editor_there_is_the_verdict_alone(course, tmp_path, monkeypatch):
    monkeypatch.setenv("P4LAB_FOLDER", str(tmp_path))
    live = Live("07-fabric")
    assert live.look() and not live.view.trouble
    assert list(live.view.views) == ["checks"] and live.view.title == "policies.py"


def test_run_shows_what_policies_bring_about():
    done = p4lab("run", "07-fabric", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] and len(told["measured"]) == len(
        [check for check in load("07-fabric").checks if check.measure]
    )
    refused = p4lab("run", "07-fabric", "--packets", "3")
    assert refused.returncode == 2 and "07-fabric has none" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("trace", "07-fabric"),
        ("check", "07-fabric", ".", "--target", "bmv2"),
        ("prove", "07-fabric", "."),
    ],
)
def test_what_is_for_p4_programs_says_so(words):
    done = p4lab(*words)
    assert done.returncode == 2 and "07-fabric has no " in done.stderr

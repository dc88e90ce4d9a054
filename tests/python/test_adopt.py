"""`p4lab import`: a lab of an exercise; lost: an instructor gets a lab whose checks say nothing.

The exercises are made of the toy course's router, whose author marked what students write: what is
found without the marks has to do the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("bitwuzla")

from cli_runner import p4lab
from p4lab import _engine
from p4lab.adopt.lab import made, write
from p4lab.adopt.pair import AdoptError, Pair, read
from p4lab.adopt.regions import cut, marked, regions, slug
from p4lab.course import marks
from p4lab.course.home import ENVIRONMENT
from p4lab.grading.course import load
from p4lab.grading.judge import judge
from p4lab.grading.mutants import answers, rows
from p4lab.paths import ROOT

ROUTER = (ROOT / "tests/toy/p4/router/router.p4").read_text()
SOLUTION = marks.solution(ROUTER, "router.p4")
STARTER = marks.starter(ROUTER, "router.p4")
SEED = 20


def exercise(folder: Path, starter: str = STARTER, solution: str = SOLUTION) -> Path:
    (folder / "solution").mkdir(parents=True)
    (folder / "router.p4").write_text(starter)
    (folder / "solution" / "router.p4").write_text(solution)
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with the lab `router`."""
    own = tmp_path_factory.mktemp("course")
    lab = made("router", read(exercise(own / "exercise")), 20.0)
    write(lab, own)
    return own


def test_what_students_write_is_found_without_marks() -> None:
    found = regions(Pair("router", STARTER, SOLUTION, {}))
    again = cut(SOLUTION, found)
    assert _engine.compile_text("router.p4", again).ok
    code = [line.strip() for line in again.splitlines() if "//" not in line]
    wanted = [line.strip() for line in STARTER.splitlines() if "//" not in line]
    assert [line for line in code if line] == [line for line in wanted if line]
    assert marks.solution(marked(SOLUTION, found), "router.p4") == SOLUTION


def test_regions_are_widened_until_brackets_fit() -> None:
    """A starter that applies a table at once, and a solution with a condition around it: line by
    line, the closing bracket is the same."""
    body = "        {inside}\n"
    frame = "control I() {{\n    apply {{\n{body}    }}\n}}\n"
    starter = frame.format(body=body.format(inside="if (t.hit) {\n            n();\n        }"))
    inner = "if (valid) {\n            if (t.hit) {\n                n();\n            }\n        }"
    solution = frame.format(body=body.format(inside=inner))
    (region,) = regions(Pair("x", starter, solution, {}))
    assert code_of(cut(solution, [region])) == code_of(starter)
    assert marks.solution(marked(solution, [region]), "x.p4") == solution


def code_of(text: str) -> list[str]:
    """Lines with code, without indentation and comments."""
    lines = [line.partition("//")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line]


SELECT = """parser P() {{
    state start {{
        transition select(h.kind) {{
{cases}
        }}
    }}{more}
    state last {{ transition accept; }}
}}
"""
FURTHER = """

    state more {
        transition select(h.more) {
            1: last;
            default: accept;
        }
    }"""


@pytest.mark.parametrize(
    ("starter", "solution"),
    [
        ("x = 1;", "y = 1;\n        z = 1;"),
        ("x = 1;\n        y = 1;", "y = 1;"),
        ("t.apply();", "if (valid) {\n            t.apply();\n        }"),
        ("if (a) { x = 1; }", "if (a && b) { x = 1; }"),
    ],
)
def test_code_that_the_solution_replaces_is_in_the_starter(starter: str, solution: str) -> None:
    """Else students begin with a program that is not the exercise's, or none at all."""
    frame = "control I() {{\n    apply {{\n        w = 1;\n        {}\n    }}\n}}\n"
    begin, end = frame.format(starter), frame.format(solution)
    found = regions(Pair("x", begin, end, {}))
    assert code_of(cut(end, found)) == code_of(begin)
    assert marks.solution(marked(end, found), "x.p4") == end


def test_a_state_behind_a_select_is_found_as_a_whole() -> None:
    """The lines before the new state look like its last ones."""
    old = "            1 : last;\n            default : accept;"
    new = "            7: more;\n            1: last;\n            default: accept;"
    starter = SELECT.format(cases=old, more="")
    solution = SELECT.format(cases=new, more=FURTHER)
    found = regions(Pair("x", starter, solution, {}))
    for region in found:
        inside = solution.splitlines()[region.first : region.last + 1]
        assert sum(line.count("{") - line.count("}") for line in inside) == 0
        assert not inside[0].strip().startswith("}")
    squeezed = ["".join(line.split()) for line in code_of(cut(solution, found))]
    assert squeezed == ["".join(line.split()) for line in code_of(starter)]


def test_fields_without_which_nothing_compiles_are_given(tmp_path: Path) -> None:
    """The field is used outside of what students write."""
    field = "    bit<8>  ttl;\n"
    assert SOLUTION.count(field) == 1, "the router's header"
    lab = made("x", read(exercise(tmp_path / "x", STARTER.replace(field, ""))), 10.0)
    assert all(region.kind != "header" for region in lab.regions)


def test_comments_and_blanks_are_no_difference() -> None:
    other = re.sub(r"\n", "  // more\n", SOLUTION).replace("    ", "\t")
    with pytest.raises(AdoptError, match="same but for comments"):
        regions(Pair("router", other, SOLUTION, {}))


@pytest.mark.parametrize(
    ("comment", "task"),
    [
        ("// TODO: set the port", "set the port"),
        (
            "/* TODO\n * - put it back in\n *   the header. Then more.\n */",
            "put it back in the header",
        ),
        ("/* TODO: add logic\n * Suggested outline:\n */", "add logic"),
    ],
)
def test_tasks_are_what_the_starter_says(comment: str, task: str) -> None:
    solution = "control I() {\n    action a() {\n        x = 1;\n    }\n}\n"
    (region,) = regions(Pair("x", solution.replace("x = 1;", comment), solution, {}))
    assert (region.task, region.part) == (task, "i")


def test_names_as_ids() -> None:
    assert [slug(name) for name in ("MyParser", "p4calc_t", "_")] == [
        "my-parser",
        "p4calc-t",
        "part",
    ]


def test_the_lab_judges_its_answers_right(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solution has all points, the starter none, and who leaves a part out fails where the
    notes say; with hidden cases, in which everything that may be drawn is."""
    monkeypatch.setenv(ENVIRONMENT, str(course))
    lab = load("router")
    judged = list(rows(lab, answers(lab), SEED))
    assert len([row for row in judged if row.answer.kind == "mutant"]) >= 2
    assert [(row.answer.name, row.problem) for row in judged if row.problem] == []


def test_mistakes_that_nobody_wrote_are_found(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marks of the toy course's author are two: the port and the hop count."""
    monkeypatch.setenv(ENVIRONMENT, str(course))
    lab = load("router")
    wrong = {
        "no port": ("standard_metadata.egress_spec = port;", ""),
        "last hop": ("hdr.ipv4.ttl <= 1", "hdr.ipv4.ttl == 0"),
        "not counted": ("hdr.ipv4.ttl = hdr.ipv4.ttl - 1;", ""),
        "port cut off": ("egress_spec = port;", "egress_spec = port & 0xff;"),
    }
    for name, (right, instead) in wrong.items():
        assert right in SOLUTION
        files = {"router/router.p4": SOLUTION.replace(right, instead)}
        assert judge(lab, files, seed=SEED).points < 100, name


def test_header_fields_are_drawn(course: Path) -> None:
    """But for what leads a packet on its way."""
    texts = [path.read_text() for path in (course / "labs/router/checks").glob("*.toml")]
    longest = max(texts, key=len)
    assert 'src_addr = "any"' in longest and "ether_type = 2048" in longest
    assert "from = 1, to = 508" in longest, "ports over their whole range"


def test_no_two_checks_have_one_title(course: Path) -> None:
    """Else students cannot tell which of their cases fails."""
    titles = re.findall(r'^title = "(.*)"', (course / "labs/router/lab.toml").read_text(), re.M)
    assert len(set(titles)) == len(titles)
    assert "A packet with ethernet (ether_type 0x0800) comes in: it is dropped" in titles


def test_the_notebook_and_the_handout_name_the_lab(course: Path) -> None:
    notebook = json.loads((course / "notebooks/router.ipynb").read_text())
    assert 'open_lab("router")' in "".join("".join(cell["source"]) for cell in notebook["cells"])
    handout = (course / "labs/router/README.md").read_text()
    points = map(int, re.findall(r"\*(\d+) points\.\*", handout))
    assert sum(points) == 100


@pytest.mark.beside(seconds=9)
def test_the_verb_says_what_it_made_and_writes_over_nothing(tmp_path: Path) -> None:
    folder, into = exercise(tmp_path / "hop"), tmp_path / "course"
    done = p4lab("import", folder, "--into", into, "--seconds", 5)
    assert done.returncode == 0, done.stderr
    assert "hop: parts and their checks" in done.stdout
    again = p4lab("import", folder, "--into", into)
    assert again.returncode == 2 and "is there already" in again.stderr
    checked = p4lab("--course", into, "check", "hop", into / "p4")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("starter", "solution", "says"),
    [
        (SOLUTION, SOLUTION, "the same but for comments"),
        (STARTER, "control X() {", "does not compile"),
        (STARTER, None, "one such pair; there is none"),
    ],
)
def test_folders_that_make_no_lab_are_told_why(
    starter: str, solution: str | None, says: str, tmp_path: Path
) -> None:
    folder = exercise(tmp_path / "x", starter, solution or "")
    if solution is None:
        (folder / "solution" / "router.p4").unlink()
    with pytest.raises(AdoptError, match=says):
        made("x", read(folder), 2.0)


def test_a_table_without_a_key_is_tried_with_what_a_controller_may_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its default action does nothing: without another one, no packet shows what is missing."""
    table = """
    action mark(bit<8> with) { hdr.ipv4.diffserv = with; }
    table marks { actions = { mark; NoAction; } default_action = NoAction(); }
    apply {
        marks.apply();
"""
    assert SOLUTION.count("    apply {\n        if (hdr.ipv4.isValid()) {") == 1
    head, _, tail = SOLUTION.partition("    apply {\n        if (hdr.ipv4.isValid()) {")
    solution = f"{head}{table}        if (hdr.ipv4.isValid()) {{{tail}"
    starter = solution.replace("hdr.ipv4.diffserv = with;", "")
    write(made("marks", read(exercise(tmp_path / "marks", starter, solution)), 10.0), tmp_path)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    lab = load("marks")
    assert [row.problem for row in rows(lab, answers(lab), SEED) if row.problem] == []


def test_a_branch_that_only_assigns_is_a_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No step of a trace but the assignment itself tells who took it."""
    begins = "    apply {\n        if (hdr.ipv4.isValid()) {\n"
    assert SOLUTION.count(begins) == 1
    branch = "            if (hdr.ipv4.protocol == 17) { hdr.ipv4.diffserv = 46; }\n"
    solution = SOLUTION.replace(begins, begins + branch)
    write(made("marks", read(exercise(tmp_path / "marks", SOLUTION, solution)), 10.0), tmp_path)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    lab = load("marks")
    assert judge(lab, {"marks/router.p4": SOLUTION}, seed=SEED).points == 0
    assert judge(lab, {"marks/router.p4": solution}, seed=SEED).points == 100
    checks = (tmp_path / "labs/marks/checks").glob("*.toml")
    assert any("protocol = 17" in check.read_text() for check in checks)

"""Without these, a starter could hand out its solution, or a solution could lose a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.course import marks

SOURCE = """\
control C() {
    // BEGIN QUOTE whole
    apply {
        // BEGIN SOLUTION first: what comes first
        secret = 1;
        // END SOLUTION
        shown = 2;
        // BEGIN SOLUTION second: what comes next
        secret = 3;
        // END SOLUTION
    }
    // END QUOTE
}
"""


def test_a_starter_has_a_task_where_a_solution_was():
    assert marks.starter(SOURCE, "c.p4") == (
        "control C() {\n"
        "    apply {\n"
        "        // TODO first: what comes first\n"
        "        shown = 2;\n"
        "        // TODO second: what comes next\n"
        "    }\n"
        "}\n"
    )


def test_a_solution_is_the_source_without_its_marks():
    kept = [line for line in SOURCE.splitlines(keepends=True) if "//" not in line]
    assert marks.solution(SOURCE, "c.p4") == "".join(kept)


def test_a_starter_may_have_code_where_a_solution_was():
    text = """\
    // BEGIN SOLUTION part: do it
    right();
    //- wrong();
    //-     worse();
    // END SOLUTION
    //- stays
"""
    starter = "    // TODO part: do it\n    wrong();\n        worse();\n    //- stays\n"
    assert marks.starter(text, "a.p4") == starter
    assert marks.solution(text, "a.p4") == "    right();\n    //- stays\n"


def test_a_quotation_is_dedented_and_never_shows_a_solution():
    assert marks.quotation(SOURCE, "c.p4", "whole") == (
        "apply {\n"
        "    // TODO first: what comes first\n"
        "    shown = 2;\n"
        "    // TODO second: what comes next\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("// BEGIN SOLUTION a: b\n", "x.p4:1", "never ended"),
        ("\n// END SOLUTION\n", "x.p4:2", "without a BEGIN"),
        ("// BEGIN SOLUTION a: b\n// BEGIN SOLUTION c: d\n// END SOLUTION\n", "x.p4:2", "line 1"),
        ("// BEGIN SOLUTION a\n// END SOLUTION\n", "x.p4:1", "what is to be done"),
        ("// BEGIN QUOTE Two Words\n// END QUOTE\n", "x.p4:1", "BEGIN QUOTE name"),
        ("x = 1; // BEGIN SOLUTION a: b\n// END SOLUTION\n", "x.p4:1", "alone on its line"),
        ("//BEGIN SOLUTION a: b\n", "x.p4:1", "alone on its line"),
        ("// begin solution a: b\n", "x.p4:1", "alone on its line"),
        ("// BEGIN SOLUTION a: b\n// END SOLUTION a\n", "x.p4:2", "without a BEGIN"),
    ],
)
def test_a_wrong_mark_is_refused_with_its_line(text, place, says):
    with pytest.raises(marks.MarkError) as refusal:
        marks.starter(text, "x.p4")
    assert str(refusal.value).startswith(place)
    assert says in str(refusal.value)


def test_an_unknown_quotation_names_the_known_ones():
    with pytest.raises(marks.MarkError, match="it has whole"):
        marks.quotation(SOURCE, "c.p4", "hole")


PIECES = st.lists(st.tuples(st.booleans(), st.integers(0, 999)), max_size=12)


@given(PIECES)
def test_what_is_outside_of_solutions_stays_and_what_is_inside_goes(pieces):
    text = "".join(
        f"// BEGIN SOLUTION part: task {number}\nsecret{number};\n// END SOLUTION\n"
        if hidden
        else f"open{number};\n"
        for hidden, number in pieces
    )
    lines = marks.starter(text, "x.p4").splitlines()
    assert lines == [
        f"// TODO part: task {number}" if hidden else f"open{number};" for hidden, number in pieces
    ]
    assert marks.solution(text, "x.p4").splitlines() == [
        f"secret{number};" if hidden else f"open{number};" for hidden, number in pieces
    ]

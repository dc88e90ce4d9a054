"""Scenarios are computed from their seed alone, and an expression can reach nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.grading.drawing import DrawError, draw, evaluate, rounds, value

TABLE = {
    "mine": {"some": 4, "of": "=range(64)"},
    "others": {"some": 2, "of": "=[b for b in range(64) if b not in mine]"},
    "port": {"from": 2, "to": 30},
    "bits": {"bits": 64, "ones": 3},
    "kind": {"pick": ["a", "b"]},
    "fbm": "=union([bit(b) for b in mine])",
    "plain": 7,
}


@given(st.text(max_size=8))
def test_a_seed_makes_one_case_and_every_draw_keeps_its_word(seed: str) -> None:
    first, again = (draw(TABLE, random.Random(seed)) for _ in range(2))
    assert first == again
    assert len(set(first["mine"])) == 4
    assert set(first["mine"]) <= set(range(64))
    assert not set(first["mine"]) & set(first["others"])
    assert 2 <= first["port"] <= 30
    assert bin(first["bits"]).count("1") == 3
    assert first["bits"] < 1 << 64
    assert first["kind"] in ("a", "b")
    assert first["fbm"] == sum(2**b for b in first["mine"])
    assert first["plain"] == 7


def test_rounds_bind_the_names_of_the_loop() -> None:
    assert list(rounds("i, p in enumerate(ports)", {"ports": [5, 7]})) == [
        {"ports": [5, 7], "i": 0, "p": 5},
        {"ports": [5, 7], "i": 1, "p": 7},
    ]
    assert list(rounds(None, {"a": 1})) == [{"a": 1}]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "open('/etc/passwd')",
        "(lambda: 1)()",
        "[x for x in ().__class__.__bases__]",
        "f'{1}'",
        "print(1)",
        "exec('1')",
        "min.__self__",
        "nothing",
        "1 +",
        "min(key=1)",
    ],
)
def test_an_expression_reaches_nothing_but_numbers_and_lists(text: str) -> None:
    with pytest.raises(DrawError) as caught:
        evaluate(text, {})
    assert text in str(caught.value)


@pytest.mark.parametrize("each", ["i", "i in", "i in range(3)] + [0 for i in range(2)", ""])
def test_a_loop_that_is_none_is_refused(each: str) -> None:
    with pytest.raises(DrawError):
        list(rounds(each, {}))


def test_a_bad_draw_names_its_place() -> None:
    with pytest.raises(DrawError, match=r"draw\.x: a draw is"):
        draw({"x": {"from": 1}}, random.Random(1))
    with pytest.raises(DrawError, match=r"draw\.x"):
        draw({"x": {"some": 9, "of": [1, 2]}}, random.Random(1))


def test_a_value_is_what_is_written_unless_it_is_an_expression() -> None:
    assert value("239.1.1.1", {}) == "239.1.1.1"
    assert value(["=a + 1", 2], {"a": 1}) == [2, 2]
    assert value("=ip('10.0.0.1')", {}) == 0x0A000001

"""Entries in the engine's form and back. If they differ, bmv2 judges a check with other entries
than the engine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.engine import from_engine, to_engine
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Exact,
    Lpm,
    MeterCell,
    MulticastGroup,
    Optional,
    Range,
    RegisterCell,
    TableEntry,
    Ternary,
    Update,
)

NUMBERS = st.integers(0, 1 << 256)
NAMES = st.sampled_from(["bift", "port", "a.b"])
MATCHES = st.one_of(
    st.builds(Exact, NUMBERS),
    st.builds(Lpm, NUMBERS, st.integers(0, 32)),
    st.builds(Ternary, NUMBERS, NUMBERS),
    st.builds(Range, NUMBERS, NUMBERS),
    st.builds(Optional, NUMBERS),
)
PARAMS = st.lists(st.tuples(NAMES, NUMBERS), max_size=3).map(tuple)
KEYS = st.lists(st.tuples(NAMES, MATCHES), max_size=3).map(tuple)
REPLICAS = st.lists(st.tuples(st.integers(0, 511), st.integers(0, 9)), max_size=4).map(tuple)
ENTITIES = st.one_of(
    st.builds(TableEntry, NAMES, KEYS, NAMES, PARAMS, st.integers(0, 9)),
    st.builds(DefaultAction, NAMES, NAMES, PARAMS),
    st.builds(MulticastGroup, st.integers(1, 9), REPLICAS),
    st.builds(RegisterCell, NAMES, st.integers(0, 511), NUMBERS),
    st.builds(MeterCell, NAMES, st.integers(0, 511), NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.builds(
        CloneSession, st.integers(1, 9), st.tuples(st.tuples(st.integers(0, 511), st.just(0)))
    ),
)


@given(entity=ENTITIES, kind=st.sampled_from(["insert", "modify"]))
def test_there_and_back(entity, kind) -> None:
    (update,) = to_engine([Update(kind, entity)])
    assert from_engine(update) == entity


def test_any_match_is_a_mask_of_nothing() -> None:
    update = ("insert", "entry", "t", [("k", ("any",))], 1, "a", [])
    assert from_engine(update) == TableEntry("t", (("k", Ternary(0, 0)),), "a", (), 1)


@pytest.mark.parametrize(
    "update",
    [
        ("delete", "entry", "t", [], 0),
        ("default", "t", None, []),
        ("group", 1, None),
        ("session", 1, None, 2, 0),
        ("meter", "m", 1, None),
        ("meter", "m", None, (1, 1, 1, 1)),
    ],
)
def test_what_is_no_entry(update) -> None:
    with pytest.raises(ValueError, match="cannot be written from here"):
        from_engine(update)

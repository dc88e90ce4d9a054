"""Updates as JSON and back. If they differ, a case that a proof found is judged with other entries
than the proof had, and a page runs with others than its control plane wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    DontCare,
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
from p4lab.model.entries_json import from_json, to_json

NUMBERS = st.integers(0, 1 << 256)
NAMES = st.sampled_from(["bift", "port", "a.b"])
MATCHES = st.one_of(
    st.builds(Exact, NUMBERS),
    st.builds(Lpm, NUMBERS, st.integers(0, 32)),
    st.builds(Ternary, NUMBERS, NUMBERS),
    st.builds(Range, NUMBERS, NUMBERS),
    st.builds(Optional, NUMBERS),
    st.just(DontCare()),
)
PARAMS = st.dictionaries(NAMES, NUMBERS).map(lambda given: tuple(given.items()))
KEYS = st.dictionaries(NAMES, MATCHES).map(lambda given: tuple(given.items()))
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


@given(entity=ENTITIES, kind=st.sampled_from(["insert", "modify", "delete"]))
def test_there_and_back(entity, kind) -> None:
    update = Update(kind, entity)
    assert from_json(json.loads(json.dumps(to_json(update)))) == update


def test_the_form_is_the_one_that_pages_read() -> None:
    match = (("bit", Ternary(3, 1 << 60)), ("any", DontCare()))
    entry = TableEntry("bift", match, "forward", (("port", 2),), 9)
    assert to_json(Update("insert", entry)) == {
        "insert": {
            "table_entry": {
                "table": "bift",
                "match": {"bit": {"ternary": [3, str(1 << 60)]}, "any": {"dont_care": []}},
                "action": "forward",
                "params": {"port": 2},
                "priority": 9,
            }
        }
    }


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"insert": {}},
        {"invent": {"multicast_group": {"group_id": 1, "replicas": []}}},
        {"insert": {"group": {"group_id": 1, "replicas": []}}},
        {"insert": {"multicast_group": {"group_id": 1}}},
        {"insert": {"default_action": {"table": "t", "action": "a", "params": [1]}}},
        ["insert", "entry", "t", [], 0, "a", []],
    ],
)
def test_what_is_no_update(data) -> None:
    with pytest.raises(ValueError, match="update"):
        from_json(data)

"""If these fail, switches keep stale rows, or a batch uses a group that is not there yet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bier_oracle import networks
from p4lab.control.listeners import Member
from p4lab.model.entries import (
    CloneSession,
    Exact,
    MulticastGroup,
    TableEntry,
    Ternary,
    Update,
    diff,
    key,
)
from p4lab.systems.bier.entries import bier_entries


def row(group, group_id):
    match = (("group", Exact(group)),)
    return TableEntry("group_ports", match, "replicate", (("mcast_grp", group_id),))


def group(group_id, *ports):
    return MulticastGroup(group_id, tuple((port, port) for port in ports))


def test_a_row_with_the_same_key_is_modified():
    assert diff({row(1, 2)}, {row(1, 3)}) == [Update("modify", row(1, 3))]
    assert diff({group(2, 1)}, {group(2, 1, 4)}) == [Update("modify", group(2, 1, 4))]
    session = CloneSession(1, ((509, 1),))
    longer = CloneSession(1, ((509, 1),), 128)
    assert diff({session}, {longer}) == [Update("modify", longer)]


def test_another_priority_is_another_row():
    match = (("remaining", Ternary(1, 1)),)
    low = TableEntry("bift", match, "drop", (), 1)
    high = TableEntry("bift", match, "drop", (), 2)
    assert diff({low}, {high}) == [Update("insert", high), Update("delete", low)]


def test_groups_come_before_the_rows_that_use_them_and_go_after():
    old = {row(1, 2), group(2, 1)}
    new = {row(9, 3), group(3, 1)}
    assert diff(old, new) == [
        Update("insert", group(3, 1)),
        Update("insert", row(9, 3)),
        Update("delete", row(1, 2)),
        Update("delete", group(2, 1)),
    ]


def test_nothing_changed_means_nothing_to_write():
    assert diff({row(1, 2), group(2, 1)}, {group(2, 1), row(1, 2)}) == []


@given(networks(), st.data())
def test_applying_a_batch_step_by_step_gives_the_new_entries(topology, data):
    """And no step inserts what is there, or modifies or deletes what is not."""
    members = [
        Member(h.router, h.port, g) for h in topology.hosts for g in (0xE8000101, 0xEF000101)
    ]
    subsets = st.frozensets(st.sampled_from(members)) if members else st.just(frozenset())
    before = bier_entries(topology, data.draw(subsets), 64)
    after = bier_entries(topology, data.draw(subsets), 64)
    for router in before:
        table = {key(entity): entity for entity in before[router]}
        updates = diff(before[router], after[router])
        assert updates == diff(frozenset(sorted(before[router], key=repr)), after[router])
        for update in updates:
            name = key(update.entity)
            assert (name in table) == (update.kind != "insert")
            if update.kind == "delete":
                assert table.pop(name) == update.entity
            else:
                table[name] = update.entity
            used = {
                dict(e.params)["mcast_grp"]
                for e in table.values()
                if isinstance(e, TableEntry) and e.table == "group_ports"
            }
            assert all(("multicast_group", group_id) in table for group_id in used)
        assert set(table.values()) == after[router]

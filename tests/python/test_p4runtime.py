"""finsy, as it is, in front of our switch. If these fail, controllers written in Python for bmv2
do not work here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import copy
from pathlib import Path

import pytest

import p4runtime_switch as lab

fy = pytest.importorskip("finsy")
ValueSetMember = pytest.importorskip("finsy.p4entity").P4ValueSetMember

FRAME = bytes.fromhex("000000000005 000000000006 0800".replace(" ", "")) + bytes(50)


def with_switch(
    address: str,
    scenario: Callable[[fy.Switch], Awaitable[None]],
    *,
    info: Path | None = None,
    blob: Path | None = None,
) -> None:
    """Runs a scenario as the primary of a device."""

    async def run() -> None:
        options = fy.SwitchOptions(p4info=info, p4blob=blob, device_id=lab.DEVICE)
        async with fy.Switch("s1", address, options) as switch:
            await scenario(switch)

    asyncio.run(asyncio.wait_for(run(), 60))


def l2() -> fy.P4TableEntry:
    return fy.P4TableEntry("l2", match=fy.Match({"dst": 5}), action=fy.Action("forward", port=3))


async def read(switch: fy.Switch, entity: object) -> list[object]:
    return [found async for found in switch.read(entity)]


def test_p4info_comes_from_the_switch() -> None:
    async def scenario(switch: fy.Switch) -> None:
        assert switch.is_primary
        names = {table.alias for table in switch.p4info.tables}
        fixed = {"fixed", "mixed"}  # with entries of the program
        assert names == {"l2", "prefixes", "acl", "keyless", "balance", "indirect", *fixed}

    with lab.serving() as address:
        with_switch(address, scenario)


@pytest.mark.parametrize("device_config", ["source", "json"])
def test_a_pipeline_is_pushed_to_an_empty_switch(device_config: str, tmp_path: Path) -> None:
    blob = lab.PROGRAM
    if device_config == "json":
        blob = tmp_path / "everything.json"
        blob.write_text('{"program": "everything.p4"}')

    async def scenario(switch: fy.Switch) -> None:
        await switch.write([+l2()])
        assert len(await read(switch, fy.P4TableEntry("l2"))) == 1

    with lab.serving(None, folders=(lab.PROGRAM.parent,)) as address:
        with_switch(address, scenario, info=lab.p4info(), blob=blob)


def test_every_kind_of_entity_is_read_as_it_was_written() -> None:
    acl = fy.P4TableEntry(
        "acl",
        match=fy.Match({"dst": (1, 0xFF), "kind": (1, 5), "ingress_port": 7}),
        action=fy.Action("to_cpu"),
        priority=5,
        metadata=b"mine",
        idle_timeout_ns=10**12,
    )
    entities = [
        fy.P4TableEntry("l2", match=fy.Match({"dst": 5}), action=fy.Action("forward", port=3)),
        fy.P4TableEntry(
            "prefixes", match=fy.Match({"dst": "0x010000000000/8"}), action=fy.Action("NoAction")
        ),
        acl,
        fy.P4ActionProfileMember("shared", member_id=1, action=fy.Action("plain", port=4)),
        fy.P4MulticastGroupEntry(7, replicas=((1, 2), (3, 4))),
        fy.P4CloneSessionEntry(8, class_of_service=1, replicas=((1, 2),)),
        fy.P4DigestEntry("learn_t", max_list_size=2, max_timeout_ns=3, ack_timeout_ns=4),
    ]
    modified = [
        fy.P4CounterEntry("arrivals", index=3, data=fy.P4CounterData(byte_count=5, packet_count=6)),
        fy.P4MeterEntry(
            "policer", index=4, config=fy.P4MeterConfig(cir=1, cburst=2, pir=3, pburst=4)
        ),
        fy.P4RegisterEntry("numbers", index=5, data=77),
        fy.P4ValueSetEntry("special", members=[ValueSetMember(6)]),
    ]

    async def scenario(switch: fy.Switch) -> None:
        await switch.write([+copy(entity) for entity in entities])
        await switch.write([~copy(entity) for entity in modified])

        def message(entity: object) -> object:
            return entity.encode(switch.p4info)

        for entity in [*entities, *modified]:
            found = [message(found) for found in await read(switch, entity)]
            assert found == [message(entity)]
        await switch.write([-copy(entity) for entity in entities])
        for entity in entities:
            assert await read(switch, entity) == []

    with lab.serving() as address:
        with_switch(address, scenario)


def test_a_batch_with_errors_names_each_of_them() -> None:
    async def scenario(switch: fy.Switch) -> None:
        with pytest.raises(fy.P4ClientError) as caught:
            await switch.write([+l2(), +l2()])
        details = caught.value.details
        assert [detail.canonical_code.name for detail in details.values()] == ["ALREADY_EXISTS"]
        assert list(details) == [1]

    with lab.serving() as address:
        with_switch(address, scenario)


def test_packets_go_out_and_come_in() -> None:
    """A packet-out to the CPU port comes back: it leaves with egress_port 510."""

    async def scenario(switch: fy.Switch) -> None:
        everything = fy.P4TableEntry(
            "acl", match=fy.Match({}), action=fy.Action("to_cpu"), priority=1
        )
        await switch.write([+everything])
        # The header says 510, so the frame is one of the CPU port's: parsed and sent up.
        header = (510 << 7).to_bytes(2, "big")
        metadata = {"egress_port": 510, "rest": 0}

        async def first() -> fy.P4PacketIn:
            async for packet in switch.read_packets():
                return packet
            raise AssertionError("the stream has ended")

        coming = asyncio.create_task(first())
        while not coming.done():  # packets that come before somebody reads are lost
            await switch.write([fy.P4PacketOut(header + FRAME, **metadata)])
            await asyncio.wait([coming], timeout=0.2)
        assert coming.result().payload.endswith(FRAME)

    with lab.serving() as address:
        with_switch(address, scenario)


def test_a_second_controller_takes_over() -> None:
    async def run(address: str) -> None:
        def options(election_id: int) -> fy.SwitchOptions:
            return fy.SwitchOptions(device_id=lab.DEVICE, initial_election_id=election_id)

        async with fy.Switch("one", address, options(10)) as one:
            assert one.is_primary
            async with fy.Switch("two", address, options(20)) as two:
                assert two.is_primary
                with pytest.raises(fy.P4ClientError, match=r"PERMISSION_DENIED|primary"):
                    await one.write([+l2()])
                await two.write([+l2()])

    with lab.serving() as address:
        asyncio.run(asyncio.wait_for(run(address), 60))

"""What is not a call of the runtime API; lost: whoever reaches the port stops the switch."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("thrift")

from thrift.Thrift import TApplicationException

from p4lab.thrift import publisher
from p4lab.thrift.interface import SERVICES
from p4lab.thrift.server import MOST_CLIENTS
from thrift_client import Client, Lab, lab, options

CALL = b"\x80\x01\0\x01"


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("hostile")) as own:
        yield own


def text(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def message(call: bytes, body: bytes) -> bytes:
    return CALL + text(call) + bytes(4) + body


def answer(switch: Lab, data: bytes) -> bytes:
    """What comes back; nothing if the connection is ended."""
    own = socket.create_connection(("127.0.0.1", switch.port), timeout=20)
    with own, contextlib.suppress(OSError):  # ended before all of it was sent
        own.sendall(data)
        own.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: own.recv(65536), b""))
    return b""


def still_answers(switch: Lab) -> None:
    client = Client(switch.port)
    try:
        assert client("bm_mt_get_num_entries", 0, "I.fixed") == 1
    finally:
        client.close()


# Field 1 of the arguments is a context (i32), field 2 a table's name.
TABLE = b"\x08\0\x01" + bytes(4) + b"\x0b\0\x02" + text(b"I.direct")
NOT_CALLS = {
    "nothing": b"",
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(100),
    "a length of 2 GiB": CALL + b"\x7f\xff\xff\xff",
    "a negative length": CALL + b"\xff\xff\xff\xff",
    "another version": b"\x80\x07\0\x01" + text(b"standard:bm_get_config") + bytes(5),
    "no service": message(b"bm_get_config", b"\0"),
    "an unknown service": message(b"admin:bm_get_config", b"\0"),
    "a reply": b"\x80\x01\0\x02" + text(b"standard:bm_get_config") + bytes(5),
    "no text": message(b"standard:bm_get_num_entries\xff\xfe", b"\0"),
    "a name that is not text": message(
        b"standard:bm_mt_get_num_entries", b"\x08\0\x01" + bytes(4) + b"\x0b\0\x02\0\0\0\1\xff\0"
    ),
    "a list of 2 G": message(
        b"standard:bm_mt_add_entry", TABLE + b"\x0f\0\x03\x0c\x7f\xff\xff\xff"
    ),
    "a list of nothing": message(
        b"standard:bm_mt_add_entry", b"\x0f\0\x63\x00\x7f\xff\xff\xff" + bytes(4)
    ),
    "structs in structs": message(b"standard:bm_get_config", b"\x0c\0\x63" * 5000),
    "lists in lists": message(b"standard:bm_get_config", b"\x0f\0\x63" + b"\x0f\0\0\0\x01" * 5000),
    "an unknown type": message(b"standard:bm_get_config", b"\x7f\0\x01" + bytes(20)),
    "half of a call": message(b"standard:bm_mt_add_entry", TABLE)[:-3],
}


@pytest.mark.parametrize("what", NOT_CALLS)
def test_what_is_no_call_ends_its_connection_alone(what: str, switch: Lab) -> None:
    assert answer(switch, NOT_CALLS[what]) == b""
    still_answers(switch)


def test_a_call_that_never_ends_is_ended(switch: Lab) -> None:
    """A list of many short parts, none of which is too long by itself."""
    part = text(bytes(1 << 20))
    head = message(b"standard:bm_mt_add_entry", TABLE + b"\x0f\0\x05\x0b" + struct.pack(">I", 1000))
    own = socket.create_connection(("127.0.0.1", switch.port), timeout=20)
    with own, pytest.raises((BrokenPipeError, ConnectionResetError)):
        own.sendall(head)
        for _ in range(1000):
            own.sendall(part)
    still_answers(switch)


@pytest.mark.parametrize("call", sorted({name for own in SERVICES.values() for name in own}))
def test_arguments_that_are_missing_are_told(call: str, switch: Lab) -> None:
    """Nobody answers with what was not asked: a call without its arguments says which is missing,
    and one that needs none is not harmed by other fields."""
    service = next(name for name, own in SERVICES.items() if call in own)
    if not SERVICES[service][call].given:
        return
    reply = answer(switch, message(f"{service}:{call}".encode(), b"\x02\x7f\x01\x01\0"))
    assert reply[:4] == b"\x80\x01\0\x03"
    assert b" is missing" in reply
    still_answers(switch)


def test_parts_that_are_missing_inside_are_told(switch: Lab) -> None:
    """A match of kind 1 without its prefix."""
    key = b"\x0f\0\x03\x0c\0\0\0\x01" + b"\x08\0\x01\0\0\0\x01\0"
    rest = b"\x0b\0\x04" + text(b"I.drop") + b"\x0f\0\x05\x0b\0\0\0\0" + b"\x0c\0\x06\0\0"
    table = b"\x08\0\x01" + bytes(4) + b"\x0b\0\x02" + text(b"I.fixed2")
    for name in (b"I.fixed", b"I.shared", b"I.selected", b"I.direct"):
        body = table.replace(text(b"I.fixed2"), text(name)) + key + rest
        reply = answer(switch, message(b"standard:bm_mt_add_entry", body))
        assert reply[:4] == b"\x80\x01\0\x02", "an exception of the interface"
    still_answers(switch)


def test_a_call_that_there_is_not_leaves_the_connection(switch: Lab) -> None:
    unknown = message(b"standard:bm_serialize_state", b"\0")
    known = message(b"standard:bm_get_config_md5", b"\0")
    reply = answer(switch, unknown + known)
    assert reply.startswith(b"\x80\x01\0\x03") and b"bm_get_config_md5" in reply


def test_random_bytes(switch: Lab) -> None:
    seed = 20261123
    print("seed", seed)
    chance = random.Random(seed)
    good = message(b"standard:bm_mt_get_entries", TABLE + b"\0")
    for _ in range(150):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        answer(switch, bytes(data[: chance.randrange(len(data) + 1)]))
    still_answers(switch)


def test_more_clients_than_there_are_places(switch: Lab) -> None:
    own = [
        socket.create_connection(("127.0.0.1", switch.port), timeout=20)
        for _ in range(MOST_CLIENTS + 5)
    ]
    turned_away = own[-1].recv(1)
    for client in own:
        client.close()
    assert turned_away == b""
    while True:  # their threads end in their own time
        with contextlib.suppress(Exception):
            still_answers(switch)
            break


def test_numbers_beyond_all_bounds(switch: Lab) -> None:
    """No number leads to anything but an exception of the interface."""
    for number in (-(2**31), -1, 2**31 - 1):
        for call, values in {
            "bm_mt_delete_entry": (0, "I.direct", number),
            "bm_mt_act_prof_delete_member": (0, "I.sel", number),
            "bm_mt_indirect_set_default_member": (0, "I.selected", number),
            "bm_register_read": (0, "I.reg", number),
            "bm_counter_read": (0, "I.cnt", number),
            "bm_meter_get_rates": (0, "I.mtr", number),
            "bm_mc_node_destroy": (0, number),
            "bm_mc_mgrp_create": (0, number),
            "bm_mc_node_create": (0, number, "1" * 600, ""),
            "mirroring_session_delete": (number,),
            "bm_get_id_from_name": (0, number, "x"),
        }.items():
            with pytest.raises(Exception) as caught:
                switch.call(call, *values)
            assert not isinstance(caught.value, TApplicationException), call
    for call in ("set_egress_queue_depth", "set_egress_queue_rate"):
        for number in (-(2**31), 2**31 - 1):
            assert switch.call(call, number, 5) == -1
    with pytest.raises(TApplicationException):
        switch.call("bm_mt_add_entry", 0, "I.direct", None, "I.drop", [], options())


def test_who_is_no_subscriber_is_turned_away(switch: Lab) -> None:
    for greeting in (b"\0SP\0\0\x20\0\0", b"GET / HT", b"\0SP\0"):
        with socket.socket(socket.AF_UNIX) as own:
            own.settimeout(20)
            own.connect(switch.notifications.removeprefix("ipc://"))
            own.sendall(greeting)
            own.shutdown(socket.SHUT_WR)
            own.recv(8, socket.MSG_WAITALL)
            assert own.recv(1) == b""


@pytest.mark.parametrize(
    "address", ["", "ipc://", "tcp://nowhere", "tcp://127.0.0.1:99999", "udp://x:1", "ipc:///no/x"]
)
def test_addresses_where_nobody_can_listen(address: str) -> None:
    with pytest.raises(publisher.AddressError, match=r"\.$|listen"):
        publisher.Publisher(address)


def test_a_file_that_is_no_socket_stays(tmp_path: Path) -> None:
    """Somebody may have put a link to something precious there."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(precious)
    for place in (precious, link):
        with pytest.raises(publisher.AddressError):
            publisher.Publisher(f"ipc://{place}")
    assert precious.read_text() == "mine"


def test_the_socket_of_a_switch_that_is_gone_is_taken(tmp_path: Path) -> None:
    place = tmp_path / "old.ipc"
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(place))
    with publisher.Publisher(f"ipc://{place}") as first:
        assert not first.is_heard
        with pytest.raises(publisher.AddressError):  # this one is not gone
            publisher.Publisher(f"ipc://{place}")
    assert not place.exists()

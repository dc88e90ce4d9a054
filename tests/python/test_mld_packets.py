"""If these fail, hosts and routers of other makers do not understand our MLD, or we not theirs."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    HBHOptUnknown,
    ICMPv6EchoRequest,
    ICMPv6MLDMultAddrRec,
    ICMPv6MLDone,
    ICMPv6MLQuery,
    ICMPv6MLQuery2,
    ICMPv6MLReport,
    ICMPv6MLReport2,
    IPv6,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    PadN,
    RouterAlert,
    in6_chksum,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils6 import in6_mactoifaceid

from p4lab.packets.ip import link_local
from p4lab.packets.membership import decode_time, encode_time
from p4lab.packets.mld import (
    NO_ADDRESS,
    Leave,
    Malformed,
    Query,
    Record,
    RecordReport,
    RecordType,
    Report,
    host_frame,
    join_v1,
    join_v2,
    leave_v1,
    leave_v2,
    parse,
    query_v2,
    report_v2,
)
from p4lab.topology import Host

HOST = Host("h1", 1, "r1", 1, 1)
ME = link_local(HOST.mac)
GROUP = IPv6Address("ff3e::4:1")
S1, S2 = IPv6Address("fd00::9:1"), IPv6Address("fd00::9:2")

GROUPS = st.integers(0xFF << 120, (1 << 128) - 1).map(IPv6Address)
SOURCES = st.lists(st.integers(0, (1 << 128) - 1).map(IPv6Address), max_size=4).map(tuple)
LINK_LOCAL = st.integers(0, (1 << 64) - 1).map(lambda low: IPv6Address((0xFE80 << 112) | low))
RECORDS = st.lists(st.builds(Record, st.integers(0, 255), GROUPS, SOURCES), max_size=4)


def wrapped(message: Packet | bytes, src: object = ME, dst: object = "ff02::16", **fields) -> bytes:
    """What scapy makes of a message, with its checksum, as RFC 3810, section 5, wants it sent."""
    options = fields.pop("options", [RouterAlert()])
    header = IPv6(src=str(src), dst=str(dst), **{"hlim": 1, **fields})
    return bytes(header / IPv6ExtHdrHopByHop(options=options) / message)


def record(kind: int, group: object, sources: tuple[IPv6Address, ...] = (), aux: bytes = b""):
    return ICMPv6MLDMultAddrRec(
        rtype=kind,
        dst=str(group),
        sources=[str(each) for each in sources],
        auxdata_len=len(aux) // 4,
        auxdata=aux,
    )


# --- built as scapy builds it ----------------------------------------------------------------


@given(LINK_LOCAL, GROUPS)
def test_joins_and_leaves_of_both_versions_are_scapys(source, group):
    report = ICMPv6MLReport(mladdr=str(group))
    assert join_v1(source, group) == wrapped(report, source, group)
    done = ICMPv6MLDone(mladdr=str(group))
    assert leave_v1(source, group) == wrapped(done, source, "ff02::2")
    for built, kind in ((join_v2, 4), (leave_v2, 3)):
        message = ICMPv6MLReport2(records=[record(kind, group)])
        assert built(source, group) == wrapped(message, source)
    some = ICMPv6MLReport2(records=[record(3, group, (S1, S2))])
    assert join_v2(source, group, [S1, S2]) == wrapped(some, source)


@given(LINK_LOCAL, RECORDS)
def test_reports_are_scapys_and_are_read_again(source, records):
    message = ICMPv6MLReport2(records=[record(r.kind, r.group, r.sources) for r in records])
    assert report_v2(source, records) == wrapped(message, source)
    assert parse(report_v2(source, records)) == (source, RecordReport(tuple(records)))


@given(
    LINK_LOCAL,
    GROUPS | st.just(NO_ADDRESS),
    st.integers(0, 0x7FFF),
    SOURCES,
    st.booleans(),
    st.integers(0, 7),
    st.integers(0, 127),
)
def test_queries_are_scapys_and_are_read_again(
    source, group, response, sources, suppress, robustness, interval
):
    query = Query(2, group, response, sources, suppress, robustness, interval)
    message = ICMPv6MLQuery2(
        mrd=response,
        mladdr=str(group),
        S=int(suppress),
        QRV=robustness,
        QQIC=interval,
        sources=[str(each) for each in sources],
    )
    to = "ff02::1" if group == NO_ADDRESS else group
    assert query_v2(source, query) == wrapped(message, source, to)
    assert parse(query_v2(source, query)) == (source, query)


@pytest.mark.parametrize(
    ("packet", "mac"),
    [
        (join_v2(ME, GROUP), "33:33:00:00:00:16"),
        (join_v1(ME, GROUP), "33:33:00:04:00:01"),
        (leave_v1(ME, GROUP), "33:33:00:00:00:02"),
    ],
)
def test_a_hosts_frame_reaches_those_who_listen_to_its_destination(packet, mac):
    frame = Ether(host_frame(HOST, packet))
    assert (frame.dst, frame.src, frame.type) == (mac, "02:01:00:00:01:01", 0x86DD)
    assert bytes(frame[IPv6]) == packet


@given(st.integers(0, (1 << 48) - 1))
def test_a_link_local_address_is_made_as_hosts_make_it(mac):
    text = mac.to_bytes(6, "big").hex(":")
    assert link_local(mac) == IPv6Address("fe80::" + in6_mactoifaceid(text))


# --- times -----------------------------------------------------------------------------------


def test_long_times_are_rounded_down_to_what_16_bits_can_say():
    """Figures worked out from RFC 3810, section 5.1.3."""
    codes = (0, 32767, 0x8000, 0x8001, 0x8FFF, 0x9000, 0xFFFF)
    times = [0, 32767, 32768, 32776, 65528, 65536, 8387584]
    assert [decode_time(code, 16) for code in codes] == times
    assert [encode_time(time, 16) for time in times] == list(codes)
    assert encode_time(10**9, 16) == 0xFFFF


def test_long_times_are_coded_in_queries_of_version_2():
    """In one of version 1 the field is plain: see what is taken, below."""
    query = Query(2, NO_ADDRESS, 65536, interval=1024)
    message = ICMPv6MLQuery2(mrd=0x9000, QRV=2, QQIC=0xB0)
    assert query_v2(ME, query) == wrapped(message, ME, "ff02::1")
    assert parse(query_v2(ME, query)) == (ME, query)


@given(st.sampled_from((8, 16)), st.data())
def test_a_time_is_said_as_the_largest_that_is_not_above_it(bits, data):
    longest = decode_time((1 << bits) - 1, bits)
    time = data.draw(st.integers(0, longest - 1))
    code = encode_time(time, bits)
    assert decode_time(code, bits) <= time < decode_time(code + 1, bits)


# --- what is taken ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (wrapped(ICMPv6MLQuery(mrd=40000), dst="ff02::1"), Query(1, NO_ADDRESS, 40000)),
        (wrapped(ICMPv6MLReport(mladdr=str(GROUP))) + bytes(6), Report(1, GROUP)),
        (wrapped(ICMPv6MLReport(mladdr=str(GROUP)) / Raw(b"more")), Report(1, GROUP)),
        (wrapped(ICMPv6MLDone(mladdr=str(GROUP), code=7)), Leave(GROUP)),
        (
            wrapped(
                ICMPv6MLReport2(records=[record(4, GROUP, (S1,), b"four"), record(3, GROUP)]),
                options=[PadN(optdata=b"123"), HBHOptUnknown(otype=0x3E), RouterAlert()],
            ),
            RecordReport((Record(4, GROUP, (S1,)), Record(3, GROUP))),
        ),
        (wrapped(ICMPv6MLReport2(), src="::"), RecordReport(())),
    ],
    ids=["v1 query", "frame padding", "trailing bytes", "code", "options and aux", "from ::"],
)
def test_what_is_unusual_is_no_mistake(packet, message):
    assert parse(packet)[1] == message


# --- what is refused -------------------------------------------------------------------------

GOOD = ICMPv6MLReport2(records=[record(RecordType.CHANGE_TO_EXCLUDE, GROUP)])
FRAGMENT = IPv6(src=str(ME), dst="ff02::16", hlim=1) / IPv6ExtHdrFragment(nh=58) / GOOD
ONE_OPTION = IPv6(src=str(ME), dst="ff02::16", hlim=1, nh=0)


def query_of(length: int) -> bytes:
    """A query cut to so many bytes, with a right checksum all the same."""
    head = IPv6(src=str(ME), dst="ff02::1", hlim=1)
    head /= IPv6ExtHdrHopByHop(options=[RouterAlert()], nh=58)
    body = bytes(ICMPv6MLQuery2(cksum=0))[:length]
    check = in6_chksum(58, head, body)
    return bytes(head / Raw(body[:2] + check.to_bytes(2, "big") + body[4:]))


REFUSED = [
    (wrapped(GOOD)[:39], "IPv6 header cut short"),
    (b"", "IPv6 header cut short"),
    (b"\x45" + wrapped(GOOD)[1:], "not an IPv6 header"),
    (wrapped(GOOD)[:-1], "IPv6 packet cut short"),
    (bytes(ONE_OPTION / Raw(b"\x3a\0\5\2")), "Hop-by-Hop header cut short"),
    (bytes(ONE_OPTION / Raw(b"\x3a\1\5\2\0\0\1\0")), "Hop-by-Hop header cut short"),
    (bytes(FRAGMENT), "fragment"),
    (wrapped(UDP()), "not MLD"),
    (wrapped(ICMPv6EchoRequest()), "not MLD"),
    (wrapped(b""), "not MLD"),
    (wrapped(GOOD, hlim=2), "hop limit is not 1"),
    (wrapped(GOOD, hlim=0), "hop limit is not 1"),
    (wrapped(GOOD, src="fd00::1"), "source is not a link-local address"),
    (wrapped(ICMPv6MLQuery2(), src="::"), "source is not a link-local address"),
    (wrapped(ICMPv6MLDone(mladdr=str(GROUP)), src="::"), "source is not a link-local address"),
    (bytes(IPv6(src=str(ME), dst="ff02::16", hlim=1) / GOOD), "no Router Alert option for MLD"),
    (wrapped(GOOD, options=[RouterAlert(value=1)]), "no Router Alert option for MLD"),
    (wrapped(GOOD, options=[PadN(optdata=b"1234")]), "no Router Alert option for MLD"),
    (
        wrapped(GOOD, options=[RouterAlert(), HBHOptUnknown(otype=0x7E)]),
        "unknown Hop-by-Hop option that forbids the packet",
    ),
    (
        bytes(ONE_OPTION / Raw(b"\x3a\0\5\2\0\0\1\1" + bytes(GOOD))),
        "Hop-by-Hop option cut short",
    ),
    (wrapped(ICMPv6MLReport2(cksum=1)), "wrong MLD checksum"),
    (wrapped(ICMPv6MLReport(mladdr=str(GROUP)), dst=GROUP)[:-1] + b"\2", "wrong MLD checksum"),
    (query_of(23), "MLD message shorter than 24 bytes"),
    (query_of(25), "MLD query of 25 to 27 bytes"),
    (query_of(27), "MLD query of 25 to 27 bytes"),
    (wrapped(ICMPv6MLReport(mladdr="fd00::1")), "not a multicast group"),
    (wrapped(ICMPv6MLDone(mladdr="::")), "not a multicast group"),
    (wrapped(ICMPv6MLQuery(mladdr="fd00::1")), "not a multicast group"),
    (wrapped(ICMPv6MLReport2(records=[record(4, "fd00::1")])), "not a multicast group"),
    (
        wrapped(ICMPv6MLReport2(records_number=2, records=[record(4, GROUP)])),
        "more MLD address records counted than there are",
    ),
    (
        wrapped(ICMPv6MLReport2(records_number=0xFFFF)),
        "more MLD address records counted than there are",
    ),
    (
        wrapped(ICMPv6MLReport2(records=[ICMPv6MLDMultAddrRec(dst="ff3e::1", sources_number=1)])),
        "more MLD sources counted than there are",
    ),
    (wrapped(ICMPv6MLQuery2(sources_number=1)), "more MLD sources counted than there are"),
    (
        wrapped(ICMPv6MLReport2(records=[ICMPv6MLDMultAddrRec(dst="ff3e::1", auxdata_len=1)])),
        "MLD auxiliary data cut short",
    ),
]


@pytest.mark.parametrize(("packet", "reason"), REFUSED)
def test_what_a_receiver_must_ignore_it_ignores_for_one_reason(packet, reason):
    with pytest.raises(Malformed) as refused:
        parse(packet)
    assert str(refused.value) == reason


PACKETS = st.one_of(
    st.builds(join_v1, LINK_LOCAL, GROUPS),
    st.builds(report_v2, LINK_LOCAL, RECORDS),
    st.builds(query_v2, LINK_LOCAL, st.builds(Query, st.just(2), GROUPS)),
    st.binary(max_size=120),
)


@given(PACKETS, st.data())
def test_no_bytes_bring_a_receiver_down(packet, data):
    changed = bytearray(packet[: data.draw(st.integers(0, len(packet)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if changed:
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        source, _ = parse(bytes(changed))
    except Malformed as reason:
        assert str(reason)
    else:
        assert source.is_link_local or source == NO_ADDRESS


@given(LINK_LOCAL, RECORDS, st.data())
def test_no_changed_byte_of_a_message_goes_unnoticed(source, records, data):
    packet = report_v2(source, records)
    at = data.draw(st.integers(8, len(packet) - 1).filter(lambda at: not 40 <= at < 48))
    old = packet[at]
    new = data.draw(st.integers(0, 255).filter(lambda value: value != old))
    with pytest.raises(Malformed):
        parse(packet[:at] + bytes([new]) + packet[at + 1 :])

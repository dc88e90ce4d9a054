"""If these fail, our frames are not what other programs take them for."""

from __future__ import annotations

import subprocess
import sys
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from p4lab.packets.igmp import (
    Leave,
    Malformed,
    Query,
    Record,
    RecordType,
    Report,
    ReportV3,
    decode_time,
    encode_time,
    host_frame,
    join_v2,
    join_v3,
    leave_v2,
    leave_v3,
    parse,
    query_v3,
    report_v1,
    report_v3,
)
from p4lab.packets.ip import checksum, checksum_v6, ipv4, multicast_mac, payload_v6, udp
from p4lab.packets.probe import Probe, probe_frame
from p4lab.systems.bier.packets import BIER, set_bits
from p4lab.topology import Host, Topology

HOST = Host("h1", 1, "r1", 1, 1)
GROUP = IPv4Address("239.1.1.1")
GROUP6 = IPv6Address("ff3e::4:1")
MACS = {"dst": "02:00:00:00:02:02", "src": "02:00:00:00:01:02"}


# --- BIER ----------------------------------------------------------------------------------------


def test_bier_header_bit_by_bit():
    """Assembled by hand from RFC 8296, section 2.1.1 and 2.1.2."""
    header = BIER(bift_id=0x10000, ttl=64, bsl=1, entropy=0xABCDE, bfir_id=5, bit_string=0b101)
    assert bytes(header).hex() == "10000140001abcde000400050000000000000005"
    every_field = BIER(
        bift_id=0xFFFFF, tc=5, s=0, ttl=1, nibble=5, ver=2, bsl=1, entropy=1,
        oam=2, rsv=1, dscp=0b101010, proto=63, bfir_id=0xFFFE, bit_string=1 << 63,
    )  # fmt: skip
    assert bytes(every_field).hex() == "fffffa01" + "52100001" + "9abffffe" + "80" + "00" * 7


@pytest.mark.parametrize(("code", "bits"), [(1, 64), (2, 128), (3, 256), (4, 512), (7, 4096)])
def test_the_code_of_the_bit_string_length(code, bits):
    """scapy's contributed layer has this off by one."""
    header = BIER(bsl=code, bit_string=1 << bits - 1)
    assert len(bytes(header)) == 12 + bits // 8
    assert BIER(bytes(header)).bits == [bits]


@pytest.mark.parametrize(("proto", "layer"), [(3, Ether), (4, IP), (6, IPv6), (5, Raw)])
def test_what_follows_the_header(proto, layer):
    payload = Raw(b"oam") if layer is Raw else layer()
    frame = Ether(bytes(Ether(**MACS) / BIER(bsl=1, proto=proto, bit_string=1) / payload))
    assert isinstance(frame[BIER].payload, layer)


def test_ethernet_knows_bier_by_its_type_and_ip_sets_the_payload_protocol():
    frame = Ether(**MACS) / BIER(bsl=1, bit_string=1) / IPv6()
    assert bytes(frame)[12:14].hex() == "ab37"
    assert Ether(bytes(frame))[BIER].proto == 6


def test_the_length_can_be_told_apart_from_the_bsl_field():
    """Routers take it from the BIFT-id, so a packet with a wrong BSL field must be readable."""
    wrong = BIER(bift_id=0x30000, bsl=1, bit_string=(1).to_bytes(32, "big"), proto=4) / IP()
    try:
        BIER.lengths[0x30000] = 256
        header = BIER(bytes(wrong))
        assert (header.bsl, header.bits) == (1, [1])
        assert isinstance(header.payload, IP)
    finally:
        BIER.lengths.clear()


def test_bit_strings_that_do_not_fit():
    with pytest.raises(ValueError, match="does not fit into 64 bits"):
        bytes(BIER(bsl=1, bit_string=1 << 64))
    assert BIER(bytes(BIER(bsl=1, bit_string=1))[:-3]).bits == []
    assert "bits [1, 3]" in repr(BIER(bsl=1, bit_string=5))


@given(st.integers(0, (1 << 256) - 1))
def test_set_bits(bit_string):
    assert sum(1 << bit - 1 for bit in set_bits(bit_string)) == bit_string


@given(st.binary(min_size=12, max_size=80))
def test_any_bytes_can_be_dissected_and_written_again(data):
    assert bytes(BIER(data)) == data


# --- the probe -----------------------------------------------------------------------------------


def test_probe_as_scapy_reads_it():
    frame = probe_frame(HOST, GROUP, flow=7, sequence=1 << 40, length=120, ttl=9)
    assert len(frame) == 120
    packet = Ether(frame)
    assert (packet.dst, packet.src) == ("01:00:5e:01:01:01", "02:01:00:00:01:01")
    assert (packet[IP].src, packet[IP].dst, packet[IP].ttl) == ("10.0.1.1", "239.1.1.1", 9)
    rebuilt = packet.copy()
    del rebuilt[IP].chksum, rebuilt[IP].len, rebuilt[UDP].chksum, rebuilt[UDP].len
    assert bytes(rebuilt) == frame


def test_probe_of_ipv6_as_scapy_reads_it():
    """IPv6 has no datagram without a checksum (RFC 8200, section 8.1): hosts would drop it."""
    for sequence in range(100):
        frame = probe_frame(HOST, GROUP6, flow=7, sequence=sequence, length=101, ttl=9)
        assert len(frame) == 101
        packet = Ether(frame)
        assert (packet.dst, packet.src) == ("33:33:00:04:00:01", "02:01:00:00:01:01")
        ip = packet[IPv6]
        assert (ip.src, ip.dst, ip.hlim) == ("fd00:0:0:1::1", "ff3e::4:1", 9)
        rebuilt = packet.copy()
        del rebuilt[IPv6].plen, rebuilt[UDP].chksum, rebuilt[UDP].len
        assert bytes(rebuilt) == frame


def test_a_checksum_that_comes_out_as_zero_is_written_as_all_ones():
    """Zero says that there is none (RFC 768), which IPv6 forbids."""
    addresses = IPv6Address("fd00::1"), IPv6Address("fd00::2")
    open_end = udp(*addresses, (1, 2), bytes(2))
    balance = open_end[6:8]
    datagram = udp(*addresses, (1, 2), balance)
    assert datagram[6:8] == b"\xff\xff"
    assert checksum_v6(*addresses, 17, datagram) == 0


def test_a_probe_to_one_host_of_ipv6_goes_to_the_router():
    frame = Ether(probe_frame(HOST, IPv6Address("fd00:0:0:2::1"), 1, 0))
    assert (frame.dst, frame[IPv6].dst) == ("02:00:00:00:01:01", "fd00:0:0:2::1")


HEADERS = st.sampled_from(
    [
        IPv6ExtHdrHopByHop(options=[RouterAlert()]),
        IPv6ExtHdrRouting(type=253, segleft=1, addresses=["5f00::1", "5f00::2"]),
        IPv6ExtHdrDestOpt(),
        IPv6ExtHdrFragment(),
    ]
)


@given(st.lists(HEADERS, max_size=4), st.binary(max_size=40))
def test_what_comes_after_the_extension_headers(headers, data):
    packet = IPv6()
    for header in headers:
        packet = packet / header.copy()
    datagram = bytes(UDP(chksum=1) / Raw(data))
    assert payload_v6(bytes(packet / UDP(datagram))) == (17, datagram)


def test_extension_headers_that_are_cut_off():
    packet = bytes(IPv6() / IPv6ExtHdrRouting(type=253, addresses=["::1"]) / UDP())
    assert payload_v6(packet[:44]) == (43, packet[40:44])
    assert payload_v6(packet[:50]) == (17, b"")
    assert payload_v6(packet[:40]) == (43, b"")


def test_trailer_byte_by_byte():
    """The engine counts probes by these 24 bytes."""
    frame = probe_frame(HOST, GROUP, flow=0x01020304, sequence=0x05060708090A0B0C)
    assert frame[-24:] == b"P4LABPRB" + bytes(range(1, 13)) + bytes([0, 0, 1, 1])
    assert Probe.of(frame) == Probe(0x01020304, 0x05060708090A0B0C, HOST.id)
    assert Probe.of(b"in front" + frame[-24:]) == Probe.of(frame)


def test_what_is_no_probe():
    assert Probe.of(b"") is None
    assert Probe.of(bytes(64)) is None
    for length in (65, 1515):
        with pytest.raises(ValueError, match=f"66 to 1514 bytes, not {length}"):
            probe_frame(HOST, GROUP, 1, 1, length=length)
    for length in (85, 1515):
        with pytest.raises(ValueError, match=f"86 to 1514 bytes, not {length}"):
            probe_frame(HOST, GROUP6, 1, 1, length=length)
    assert len(probe_frame(HOST, GROUP, 1, 1, length=66)) == 66
    assert len(probe_frame(HOST, GROUP6, 1, 1, length=86)) == 86


# --- IPv4 and IGMP -------------------------------------------------------------------------------


def test_checksum_of_rfc_1071():
    assert checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2 ^ 0xFFFF
    assert checksum(b"\x01") == 0xFEFF


def test_group_addresses_on_ethernet_share_the_low_23_bits():
    assert multicast_mac(IPv4Address("224.128.1.2")) == 0x01005E000102


def igmp_bytes(packet: bytes, destination: str) -> str:
    """What is in an IPv4 packet after scapy has found nothing wrong around it."""
    ip = IP(packet)
    assert (ip.src, ip.dst, ip.ttl, ip.proto, ip.tos) == ("10.0.1.1", destination, 1, 2, 0xC0)
    assert ip.options[0].option == 20  # router alert, RFC 2113
    again = ip.copy()
    del again.chksum, again.len
    assert bytes(again) == packet
    return packet[24:].hex()


def test_messages_of_version_1_and_2_byte_by_byte():
    """RFC 1112, appendix I, and RFC 2236, section 2; the checksums are worked out by hand."""
    assert igmp_bytes(join_v2(HOST.ip, GROUP), "239.1.1.1") == "1600f9fcef010101"
    assert igmp_bytes(leave_v2(HOST.ip, GROUP), "224.0.0.2") == "1700f8fcef010101"
    assert igmp_bytes(report_v1(HOST.ip, GROUP), "239.1.1.1") == "1200fdfcef010101"


def test_reports_of_version_3_byte_by_byte():
    """RFC 3376, section 4.2: TO_EX {}, TO_IN {} and TO_IN with two sources."""
    assert igmp_bytes(join_v3(HOST.ip, GROUP), "224.0.0.22") == (
        "2200" + "e9fb" + "00000001" + "04000000" + "ef010101"
    )
    assert igmp_bytes(leave_v3(HOST.ip, GROUP), "224.0.0.22") == (
        "2200" + "eafb" + "00000001" + "03000000" + "ef010101"
    )
    sources = (IPv4Address("10.0.9.1"), IPv4Address("10.0.9.2"))
    assert igmp_bytes(join_v3(HOST.ip, GROUP, sources), "224.0.0.22") == (
        "2200" + "c4f6" + "00000001" + "03000002" + "ef010101" + "0a000901" + "0a000902"
    )


def test_frame_of_a_host():
    frame = Ether(host_frame(HOST, leave_v3(HOST.ip, GROUP)))
    assert (frame.dst, frame.src) == ("01:00:5e:00:00:16", "02:01:00:00:01:01")


ADDRESSES = st.integers(0, (1 << 32) - 1).map(IPv4Address)
GROUPS = st.integers(0xE0000000, 0xEFFFFFFF).map(IPv4Address)
RECORDS = st.builds(
    Record, st.sampled_from(RecordType), GROUPS, st.lists(ADDRESSES, max_size=3).map(tuple)
)


@given(ADDRESSES, st.lists(RECORDS, max_size=4))
def test_reports_survive_the_wire(source, records):
    assert parse(report_v3(source, records)) == (source, ReportV3(tuple(records)))


@given(ADDRESSES, GROUPS)
def test_old_messages_survive_the_wire(source, group):
    assert parse(report_v1(source, group)) == (source, Report(1, group))
    assert parse(join_v2(source, group)) == (source, Report(2, group))
    assert parse(leave_v2(source, group)) == (source, Leave(group))


@given(GROUPS, st.integers(0, 127), st.lists(ADDRESSES, max_size=3).map(tuple), st.booleans())
def test_queries_survive_the_wire(group, response, sources, suppress):
    query = Query(3, group, response, sources, suppress)
    assert parse(query_v3(HOST.ip, query)) == (HOST.ip, query)


@pytest.mark.parametrize(("code", "version"), [(0, 1), (100, 2)])
def test_short_queries_are_version_1_or_2(code, version):
    body = bytes([0x11, code, 0, 0, 0, 0, 0, 0])
    body = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    _, query = parse(ipv4(HOST.ip, IPv4Address("224.0.0.1"), 2, body))
    assert query.version == version


def test_times_as_small_floats():
    """RFC 3376, section 4.1.1: value = (mant | 0x10) << (exp + 3)."""
    assert [decode_time(code) for code in (0, 127, 128, 0x8F, 0x90, 255)] == [
        0, 127, 128, 248, 256, 31744,
    ]  # fmt: skip
    assert encode_time(31744) == 255
    assert encode_time(99999) == 255
    for value in range(0, 2000):
        code = encode_time(value)
        assert decode_time(code) <= value < decode_time(code + 1)


@given(st.binary(max_size=64))
def test_parsing_never_crashes(data):
    try:
        parse(data)
    except Malformed as reason:
        assert str(reason)


# --- start-up ------------------------------------------------------------------------------------


def test_hosts_need_neither_scapy_nor_pydantic():
    """A Mininet run starts one small program per host; each import would cost it a second."""
    program = (
        "import sys, p4lab, p4lab.packets.igmp, p4lab.packets.probe\n"
        "print(sorted({'scapy', 'pydantic', 'networkx'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_probes_of_every_host_differ():
    net = Topology.load("sets")
    assert len({host.id for host in net.hosts}) == len(net.hosts)

"""Packets as bytes: probes, IGMP and BIER.

`ip`, `probe` and `igmp` need nothing but the standard library; `bier` holds the scapy layers and
is the only module that imports scapy.
"""

"""Packets as bytes: probes, IGMP, ICMP, and what is below them.

These need nothing but the standard library; a system's own headers are with the system.
"""

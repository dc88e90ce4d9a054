"""Multicast."""

from p4lab.thrift.stubs import TYPES, client

globals().update(TYPES)
Client = client("simple_pre")

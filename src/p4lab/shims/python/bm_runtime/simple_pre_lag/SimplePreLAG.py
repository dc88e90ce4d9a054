"""Multicast with link aggregation."""

from p4lab.thrift.stubs import TYPES, client

globals().update(TYPES)
Client = client("simple_pre_lag")

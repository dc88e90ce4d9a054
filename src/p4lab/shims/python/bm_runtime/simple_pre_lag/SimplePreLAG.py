"""Multicast with link aggregation."""

from p4lab.thrift.stubs import client

Client = client("simple_pre_lag")

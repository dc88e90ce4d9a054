"""Multicast."""

from p4lab.thrift.stubs import client

Client = client("simple_pre")

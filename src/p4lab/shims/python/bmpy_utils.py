"""How bmv2's clients connect, and get the program of a switch."""

import sys
from pathlib import Path

from bm_runtime.standard import Standard

from p4lab.thrift.stubs import thrift_connect

__all__ = ["get_json_config", "thrift_connect", "thrift_connect_standard"]


def thrift_connect_standard(thrift_ip, thrift_port, out=sys.stdout):
    """A client of the standard service."""
    return thrift_connect(thrift_ip, thrift_port, [("standard", Standard.Client)])[0]


def get_json_config(standard_client=None, json_path=None, out=sys.stdout):
    """The program as JSON: of a file, or of the switch."""
    if json_path:
        return Path(json_path).read_text(encoding="utf-8")
    return standard_client.bm_get_config()

"""How bmv2's clients connect, and get the program of a switch."""

import sys
from pathlib import Path
from typing import Any

from bm_runtime.standard import Standard

from p4lab.thrift.stubs import thrift_connect

__all__ = ["get_json_config", "thrift_connect", "thrift_connect_standard"]


def thrift_connect_standard(thrift_ip: str, thrift_port: int, out: Any = sys.stdout) -> Any:
    """A client of the standard service."""
    return thrift_connect(thrift_ip, thrift_port, [("standard", Standard.Client)])[0]


def get_json_config(
    standard_client: Any = None, json_path: str | None = None, out: Any = sys.stdout
) -> Any:
    """The program as JSON: of a file, or of the switch."""
    if json_path:
        return Path(json_path).read_text(encoding="utf-8")
    return standard_client.bm_get_config()

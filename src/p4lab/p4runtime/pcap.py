"""Captures as bmv2 writes them: two files for each interface, IFACE_in.pcap and IFACE_out.pcap."""

from __future__ import annotations

import selectors
import socket
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

ETH_P_ALL = 3
PACKET_OUTGOING = 4
SNAPLEN = 65535
# pcap in microseconds, version 2.4, Ethernet
_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAPLEN, 1)


class Captures:
    """Writes what comes and goes until closed. AF_XDP passes it by: use other back ends.

    Needs root; raises OSError.
    """

    def __init__(self, folder: Path, interfaces: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._selector = selectors.DefaultSelector()
        self._files: list[BinaryIO] = []
        self._ended = threading.Event()
        for interface in interfaces:
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            tap.bind((interface, ETH_P_ALL))
            tap.setblocking(False)
            ways = [self._open(folder / f"{interface}_{way}.pcap") for way in ("in", "out")]
            self._selector.register(tap, selectors.EVENT_READ, ways)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _open(self, path: Path) -> BinaryIO:
        file = path.open("wb")
        file.write(_HEADER)
        file.flush()
        self._files.append(file)
        return file

    def _run(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(timeout=0.2):
                if isinstance(key.fileobj, socket.socket):
                    _drain(key.fileobj, key.data)
            for file in self._files:
                file.flush()

    def __enter__(self) -> Captures:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        for file in self._files:
            file.close()


def _drain(tap: socket.socket, ways: list[BinaryIO]) -> None:
    while True:
        try:
            frame, address = tap.recvfrom(SNAPLEN)
        except (BlockingIOError, OSError):  # nothing left, or the interface is down for now
            return
        microseconds = time.time_ns() // 1000
        seconds, fraction = divmod(microseconds, 1_000_000)
        head = struct.pack("<IIII", seconds, fraction, len(frame), len(frame))
        ways[address[2] == PACKET_OUTGOING].write(head + frame)

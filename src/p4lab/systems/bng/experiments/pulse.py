"""Runs inside a host: sends a frame again and again, or says how long such frames were on the way.

    python -m p4lab.systems.bng.experiments.pulse send INTERFACE SECONDS RATE FRAME
    python -m p4lab.systems.bng.experiments.pulse hear INTERFACE SECONDS

`RATE` in frames per second, `FRAME` in hexadecimal digits; its last 16 bytes become a mark and the
nanoseconds of the machine's clock, which all hosts share. Each prints one JSON object at its end;
who hears says a word before, when it has begun.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from statistics import fmean, median, pstdev

MARK = b"P4LABNOW"
ALL_PROTOCOLS = 3  # ETH_P_ALL
_STAMP = struct.Struct("!8sQ")
BUFFER = 8 << 20
READY = "ready"
SILENCE = 1.0
"""Seconds without a frame after which no more come"""


def send(interface: str, seconds: float, rate: float, frame: bytes) -> dict[str, float]:
    """Frames at even distances; those that are late are sent at once."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as card:
        card.bind((interface, 0))
        front, begin, sent = frame[: -_STAMP.size], time.monotonic(), 0
        while (now := time.monotonic() - begin) < seconds:
            due = int(now * rate) + 1
            while sent < due:
                card.send(front + _STAMP.pack(MARK, time.monotonic_ns()))
                sent += 1
            time.sleep(max(0.0, begin + sent / rate - time.monotonic()))
    return {"sent": sent, "seconds": now}


def hear(interface: str, seconds: float) -> dict[str, float]:
    """Latencies in seconds, until no more frames come, or for so many seconds. Says when it has
    begun."""
    latencies: list[float] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as card:
        card.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        card.bind((interface, ALL_PROTOCOLS))
        card.settimeout(SILENCE)
        print(READY, flush=True)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                data = card.recv(2048)
            except TimeoutError:
                if latencies:
                    break
                continue
            mark, sent = _STAMP.unpack(data[-_STAMP.size :])
            if mark == MARK:
                latencies.append((time.monotonic_ns() - sent) / 1e9)
    if not latencies:
        return {"received": 0}
    return {
        "received": len(latencies),
        "mean": fmean(latencies),
        "median": median(latencies),
        "deviation": pstdev(latencies),
    }


def main(words: list[str]) -> None:
    """The command line above."""
    interface, seconds = words[1], float(words[2])
    if words[0] == "send":
        found = send(interface, seconds, float(words[3]), bytes.fromhex(words[4]))
    else:
        found = hear(interface, seconds)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])

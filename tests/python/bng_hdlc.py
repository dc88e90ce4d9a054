"""PPP on a pipe: HDLC-like framing (RFC 1662), as Debian's `pppoe` has it on stdin and stdout."""

from __future__ import annotations

FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
ADDRESS_AND_CONTROL = b"\xff\x03"


def fcs(data: bytes) -> int:
    """The 16-bit frame check sequence: the reflected CRC of CCITT (RFC 1662, appendix C.2)."""
    value = 0xFFFF
    for octet in data:
        value ^= octet
        for _ in range(8):
            value = value >> 1 ^ (0x8408 if value & 1 else 0)
    return value ^ 0xFFFF


def framed(protocol: int, body: bytes) -> bytes:
    """A frame, control characters escaped."""
    data = ADDRESS_AND_CONTROL + protocol.to_bytes(2, "big") + body
    data += fcs(data).to_bytes(2, "little")
    out = bytearray([FLAG])
    for octet in data:
        if octet < 0x20 or octet in (FLAG, ESCAPE):
            out += bytes([ESCAPE, octet ^ FLIP])
        else:
            out.append(octet)
    out.append(FLAG)
    return bytes(out)


class Reader:
    """Frames out of a stream; those with a wrong check are counted and dropped."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._escaped = False
        self.wrong = 0

    def feed(self, stream: bytes) -> list[tuple[int, bytes]]:
        """Protocol and body of each frame that is now whole."""
        found = []
        for octet in stream:
            if octet == FLAG:
                if self._data:
                    frame = self._frame(bytes(self._data))
                    found += [frame] if frame else []
                self._data.clear()
            elif octet == ESCAPE:
                self._escaped = True
            else:
                self._data.append(octet ^ FLIP if self._escaped else octet)
                self._escaped = False
        return found

    def _frame(self, data: bytes) -> tuple[int, bytes] | None:
        if len(data) < 6 or fcs(data[:-2]) != int.from_bytes(data[-2:], "little"):
            self.wrong += 1
            return None
        start = 2 if data[:2] == ADDRESS_AND_CONTROL else 0
        return int.from_bytes(data[start : start + 2], "big"), data[start + 2 : -2]

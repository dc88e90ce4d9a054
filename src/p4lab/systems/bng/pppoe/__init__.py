"""PPPoE (RFC 2516): an access concentrator and a client's discovery, without sockets or a clock.

    concentrator = Concentrator(Offer(name=b"bng", services=(b"", b"tv")), random)
    event = concentrator.discovery(now, line, destination, source, packet)    # EtherType 0x8863
    found = concentrator.session(line, source, packet)                        # EtherType 0x8864
    concentrator.send(session, protocol, body)         # PPP, from link.take()
    concentrator.close(session, message)               # PADT; no event follows
    concentrator.restore(sessions)                     # known from before a restart: Session(...)
    for line, mac, ethertype, packet in concentrator.take(): ...

`line` is whatever tells the gateway where a frame came from (its number, or number and service
tag); it can be hashed, and limits hold for each one. MAC addresses are 6 bytes. `packet` begins
after the EtherType; tags and labels are taken off, padding may be left on.

`discovery` returns Opened(session) when PPP is to be started, Closed(session) when the subscriber
has ended it, else None. `session` returns (session, protocol, body), or None if the frame does not
come from the session's line and MAC address. `session.link` is free for the gateway's use.

A PADI costs no memory (the cookie is a keyed hash, valid for 30 to 60 s); discovery packets beyond
a line's rate are ignored. Nothing that is heard raises an exception.
"""

from p4lab.systems.bng.pppoe.concentrator import (
    Closed,
    Concentrator,
    Frame,
    Line,
    Offer,
    Opened,
    Session,
)
from p4lab.systems.bng.pppoe.dialer import Dialer

__all__ = ["Closed", "Concentrator", "Dialer", "Frame", "Line", "Offer", "Opened", "Session"]

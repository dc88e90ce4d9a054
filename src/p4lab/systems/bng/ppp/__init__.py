"""PPP (RFC 1661) without sockets and without a clock: one end of a link, server or client.

    link = Link(SERVER, settings, random)      # `random`: a seeded random.Random
    link.start(now)                            # LCP begins: the layer below is up
    link.heard(now, protocol, body)            # a PPP packet without its protocol field
    link.tick(now)                             # when `link.deadline` has come; earlier does no harm
    link.deadline                              # float seconds; math.inf when nothing is awaited
    link.take()                                # -> [(protocol, body)] to be sent, in order
    link.happened()                            # -> [event] since the last call, in order
    link.authenticated(now, address, dns, interface_id)   # a server's answer to AuthenticationAsked
    link.refused(now, message)                 # the other answer; Down follows
    link.close(now, reason, cause)             # Terminate-Request; Down follows in 6 s at most
    link.over                                  # True from Down on: forget the link
    link.settled                               # packets flow, nothing more is being negotiated
    link.peer_mru                              # the largest packet that may be sent

`now` is float seconds of any clock that does not run backwards. Nothing that is heard raises an
exception. Every packet heard causes a bounded number of packets and events; see Settings for how
many packets are heard at all.

Events (events.py): AuthenticationAsked(method, name, identifier, challenge, proof),
V4Up(address, gateway, dns), V4Down(), V6Up(interface_id, gateway_id), V6Down(),
Packet(protocol, body), Down(reason, cause).

`authenticated(now, address, dns=(), interface_id=None)`: `address` is an IPv4Address or None for a
client without IPv4, `dns` up to two IPv4Address, `interface_id` the 64 bits that the client must
use, 0 for "its own choice", None for a client without IPv6. A protocol that is not granted is
rejected (Protocol-Reject), and the link lives on with the other.

Packet(0x0057, ...) brings router solicitations and DHCPv6 to the owner once IPv6CP is open; the
answers are sent next to what `take` gives, as (0x0057, packet).

A client that begins LCP again is asked for its name again: V4Down, V6Down, AuthenticationAsked.
Several AuthenticationAsked never wait at once: a repeated request is not passed on while the first
has no answer. An empty name is refused here.
"""

from p4lab.systems.bng.ppp.link import Link
from p4lab.systems.bng.ppp.settings import CHAP, CLIENT, PAP, SERVER, Settings

__all__ = ["CHAP", "CLIENT", "PAP", "SERVER", "Link", "Settings"]

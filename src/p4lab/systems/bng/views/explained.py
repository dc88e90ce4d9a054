"""What a message of a call is for, in a sentence."""

from __future__ import annotations

EXPLAINED = {
    "PADI": "To everybody: who offers a session?",
    "PADO": "The gateway offers one, and keeps no note of it: its cookie will prove the offer.",
    "PADR": "The subscriber takes the offer, and returns the cookie.",
    "PADS": "From here on the session has a number.",
    "PADT": "The session is over.",
    "CHAP Challenge": "Prove that you know the password, without sending it.",
    "CHAP Response": "The MD5 of identifier, password and challenge.",
    "CHAP Success": "The proof is right.",
    "CHAP Failure": "The proof is wrong.",
    "Router Solicitation": "Is there a router on this link?",
    "Router Advertisement": "The gateway names itself as the router, and a prefix for the link.",
    "DHCPv6 Solicit": "Who has a prefix for the networks behind the subscriber?",
    "DHCPv6 Advertise": "The gateway has one.",
    "DHCPv6 Request": "The subscriber takes it.",
    "DHCPv6 Reply": "The prefix is delegated.",
}

CONTROL = {
    "Configure-Request": "That is how the sender wants the link to be.",
    "Configure-Ack": "The other side agrees to all of that.",
    "Configure-Nak": "Not with this value, but with that one.",
    "Configure-Reject": "The gateway does not offer these options at all.",
    "Terminate-Request": "The sender wants to end it.",
    "Terminate-Ack": "So it ends.",
    "Echo-Request": "Are you still there?",
    "Echo-Reply": "Still here.",
}
"""The same for LCP, IPCP and IPv6CP, by the last word of the title"""


def explained(title: str) -> str:
    """A sentence on a message; nothing for one that is seldom seen."""
    return EXPLAINED.get(title) or CONTROL.get(title.rsplit(" ", 1)[-1], "")

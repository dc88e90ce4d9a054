"""Users without a RADIUS server: the same questions, answered here.

In place of `client.Client`, for machines without FreeRADIUS and for experiments in virtual time,
where a server that takes two to five seconds is a number: `delay`.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from hashlib import md5
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from p4lab.systems.bng.radius.client import Answer, Datagram, Login, Recorded, Verdict
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.users import User


class LocalUsers:
    """Answers after `delay` (shortest and longest, in nanoseconds; the seed says which).

    `records` are the accounting records, each the attributes as a server would get them.
    """

    nas = b""

    def __init__(
        self, users: Iterable[User], delay: tuple[int, int] = (0, 0), seed: int = 0
    ) -> None:
        self.records: list[bytes] = []
        self._users = {user.name.encode(): user for user in users}
        self._delay = delay
        self._random = Random(seed)
        self._due: list[tuple[int, int, Answer | Recorded]] = []
        self._order = count()

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest."""
        return self._due[0][0] if self._due else None

    def access(self, now: int, token: Any, login: Login, station: bytes) -> Answer | None:
        """Whether someone may come in: at once, or by `tick`."""
        user = self._users.get(login.user)
        right = user is not None and _proves(login, user.password.encode())
        if user is None or not right:
            answer = Answer(token, Verdict.REFUSED, Profile(message="wrong name or password."))
        else:
            answer = Answer(token, Verdict.ACCEPTED, user.profile)
        if self._delay == (0, 0):
            return answer
        self._later(now, answer)
        return None

    def accounting(self, now: int, token: Any, body_at: Callable[[int], bytes]) -> None:
        """Keep a record."""
        self.records.append(body_at(now))
        self._later(now, Recorded(token, True))

    def heard(self, now: int, service: str, port: int, datagram: bytes) -> Answer | Recorded | None:
        """Nothing: there is no server."""
        return None

    def tick(self, now: int) -> list[Answer | Recorded]:
        """The answers that are due."""
        found = []
        while self._due and self._due[0][0] <= now:
            found.append(heappop(self._due)[2])
        return found

    def take(self) -> list[Datagram]:
        """Nothing is sent."""
        return []

    def _later(self, now: int, answer: Answer | Recorded) -> None:
        at = now + self._random.randint(*self._delay)
        heappush(self._due, (at, next(self._order), answer))


def _proves(login: Login, password: bytes) -> bool:
    """Whether a login knows the password (RFC 1994, section 4.1: identifier, secret, challenge)."""
    if login.password is not None:
        return hmac.compare_digest(login.password, password)
    proof = md5(login.response[:1] + password + login.challenge).digest()
    return hmac.compare_digest(proof, login.response[1:])

"""Students who come from a learning platform, by LTI 1.3: against a platform of our own.

The platform signs what it says with a key that the hub fetches from it, as Canvas and Moodle do. If
these fail, students are not let in, or who is on no roster is, or becomes somebody else.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from p4lab.classroom import rehearsal
from p4lab.classroom.rehearsal import Machine, await_class

pytestmark = [
    pytest.mark.beside(seconds=30),
    pytest.mark.skipif(bool(why := rehearsal.missing()), reason=f"a class's server: {why}"),
]

CLIENT = "p4lab-1"
LTI = "https://purl.imsglobal.org/spec/lti/claim/"
LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"
INSTRUCTOR = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"


class Platform:
    """A learning platform: its key, and what it signs."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import rsa

        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.issuer = ""

    def keys(self) -> bytes:
        from jwt.algorithms import RSAAlgorithm

        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return json.dumps({"keys": [{**public, "kid": "1", "use": "sig", "alg": "RS256"}]}).encode()

    def signed(self, nonce: str, target: str, claims: dict[str, Any], key: Any = None) -> str:
        """What a launch hands over: the claims of LTI 1.3's core specification, 5.3."""
        import jwt

        now = int(time.time())
        token = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": secrets.token_hex(8),
            "iat": now,
            "exp": now + 60,
            "nonce": nonce,
            f"{LTI}message_type": "LtiResourceLinkRequest",
            f"{LTI}version": "1.3.0",
            f"{LTI}deployment_id": "1",
            f"{LTI}target_link_uri": target,
            f"{LTI}resource_link": {"id": "1"},
            f"{LTI}roles": [LEARNER],
            **claims,
        }
        return jwt.encode(token, key or self.key, "RS256", {"kid": "1"})


@contextmanager
def answering(platform: Platform) -> Iterator[None]:
    """The platform's keys, where a hub fetches them."""

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(platform.keys())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        platform.issuer = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Platform, str]]:
    """A platform, and the address of a class whose students come from it."""
    scratch, platform = tmp_path_factory.mktemp("lti"), Platform()
    machine = Machine(scratch)
    try:
        with answering(platform):
            yield platform, _served(machine, platform)
    finally:
        machine.close()
        log = machine.place.log
        print(log.read_text()[-3000:] if log.exists() else "")


def _served(machine: Machine, platform: Platform) -> str:
    machine.place.path.mkdir()
    machine.place.settings_file.write_text(machine.free_settings())
    (machine.srv / "roster.csv").write_text("id,email\nada,ada@example.org\n1001,bob@example.org\n")
    (machine.srv / "lti.toml").write_text(
        f'issuer = "{platform.issuer}"\nclient_id = "{CLIENT}"\n'
        f'authorize_url = "{platform.issuer}/auth"\njwks_endpoint = "{platform.issuer}/keys"\n'
    )
    made = machine.run("class", "make", "/srv/roster.csv", "--lti", "/srv/lti.toml")
    assert made.returncode == 0, made.stderr
    hub = machine.start(sys.executable, "-m", "p4lab", "class", "serve")
    address = f"http://127.0.0.1:{machine.place.settings().port}"
    await_class(address, hub)
    return address


async def launch(
    platform: Platform, address: str, claims: dict[str, Any], key: Any = None
) -> str | None:
    """Who a browser is after a launch from the platform; None for nobody."""
    from p4lab.classroom.visitor import Visitor

    browser = Visitor(address, "", "")
    hint = {"iss": platform.issuer, "login_hint": "1", "target_link_uri": address}
    query = urlencode({**hint, "client_id": CLIENT})
    sent = await browser.ask(f"/hub/lti13/oauth_login?{query}")
    # The browser is at the platform now, with what the hub wants to have signed.
    asked = {
        name: values[0] for name, values in parse_qs(urlsplit(sent.effective_url).query).items()
    }
    assert asked["client_id"] == CLIENT and asked["response_type"] == "id_token"
    form = {
        "id_token": platform.signed(asked["nonce"], address, claims, key),
        "state": asked["state"],
    }
    answer = await browser.ask(
        urlsplit(asked["redirect_uri"]).path,
        "POST",
        urlencode(form),
        **{"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.code in (200, 400, 401, 403), answer.body
    home = await browser.ask("/hub/home")
    if urlsplit(home.effective_url).path != "/hub/home":
        return None
    found = re.search(r'user: "([^"]+)"', home.body.decode())
    return found and found[1]


@pytest.mark.parametrize(
    ("claims", "who"),
    [
        ({"email": "Ada@example.org"}, "p4-ada"),
        ({"email": "eve@example.org"}, None),
        ({}, None),
        ({"sub": "1001"}, None),
        ({"email": ["ada@example.org"]}, None),
        ({"email": "ada@example.org", "aud": "another"}, None),
        ({"email": "ada@example.org", "iss": "https://elsewhere"}, None),
        ({"email": "ada@example.org", "nonce": "another"}, None),
        ({"email": "ada@example.org", "exp": 1}, None),
        ({"email": "someone@example.org", f"{LTI}roles": [INSTRUCTOR]}, "instructor"),
    ],
)
def test_a_launch_lets_in_who_is_on_the_roster(
    launched: tuple[Platform, str], claims: dict[str, Any], who: str | None
) -> None:
    platform, address = launched
    assert asyncio.run(launch(platform, address, claims)) == who


def test_what_another_has_signed_is_nothing(launched: tuple[Platform, str]) -> None:
    platform, address = launched
    forged = asyncio.run(launch(platform, address, {"email": "ada@example.org"}, Platform().key))
    assert forged is None

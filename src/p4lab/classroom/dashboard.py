"""The instructor's page, as a service of the hub: it asks who is here, and shows what `watch` saw.

It runs as the class's user, which can read nothing of a student's.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jupyterhub.services.auth import HubOAuthCallbackHandler, HubOAuthenticated
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.web import Application, RequestHandler, StaticFileHandler, authenticated

from p4lab.classroom.page import STATIC, page
from p4lab.classroom.place import PLACE, Place

MOST_USERS = 1000
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
POLICY += "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


class Page(HubOAuthenticated, RequestHandler):
    """The page, and the wish to collect. The hub lets in who may have it (`hub.configure`)."""

    place: Place

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("Cache-Control", "no-store")

    @authenticated
    async def get(self) -> None:
        """As it is now."""
        try:
            state = json.loads(self.place.standing.read_text(encoding="utf-8"))
        except FileNotFoundError:
            state = None
        wished = self.place.wish.exists()
        self.write(page(state, await here(), wished, self.xsrf_token.decode(), self.request.path))

    @authenticated
    def post(self) -> None:
        """Asks `watch` to collect."""
        self.place.wish.touch()
        self.redirect(self.request.path)


async def here() -> dict[str, bool]:
    """By login: who has a server, and whether it is ready. Nobody while the hub restarts."""
    address = f"{os.environ['JUPYTERHUB_API_URL']}/users?state=active&limit={MOST_USERS}"
    headers = {"Authorization": f"token {os.environ['JUPYTERHUB_API_TOKEN']}"}
    try:
        answer = await AsyncHTTPClient().fetch(address, headers=headers)
    except (OSError, HTTPClientError):
        return {}
    users: list[dict[str, Any]] = json.loads(answer.body)
    servers = {user["name"]: user.get("servers", {}).get("", {}) for user in users}
    return {name: bool(server.get("ready")) for name, server in servers.items()}


def main() -> None:
    """Serves until it is ended."""
    asyncio.run(_serve())


async def _serve() -> None:
    Page.place = Place(Path(os.environ[PLACE]))
    prefix = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    where = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    application = Application(
        [
            (f"{prefix}?", Page),
            (f"{prefix}oauth_callback", HubOAuthCallbackHandler),
            (f"{prefix}static/(.*)", StaticFileHandler, {"path": str(STATIC)}),
        ],
        cookie_secret=os.urandom(32),
    )
    application.listen(where.port or 0, where.hostname or "127.0.0.1")
    await asyncio.Event().wait()

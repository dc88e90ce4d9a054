"""A student's browser: logs in by HTTP, starts the server, and works through a kernel.

For load and for tests; all of it goes through the proxy, as a browser's does.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest, HTTPResponse
from tornado.websocket import WebSocketClientConnection, websocket_connect

MOST_REDIRECTS = 12
START_SECONDS = 180.0
REQUEST_SECONDS = 60.0


class VisitError(Exception):
    """The server did not do what a browser would need; the message says what."""


class Visitor:
    """One browser. `address` is the class's, such as http://127.0.0.1:8000."""

    def __init__(self, address: str, name: str, password: str) -> None:
        self.address = address
        self.name = name
        self._password = password
        self._cookies: dict[tuple[str, str], str] = {}
        self._socket: WebSocketClientConnection | None = None
        self._session = uuid.uuid4().hex
        self.kernel = ""
        self.base = ""
        """Of the student's own server, such as /user/p4-ada/"""

    async def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> HTTPResponse:
        """The answer after redirects, whatever its status. Raises VisitError if there are too many
        of them, or nobody answers."""
        address = urljoin(self.address, path)
        for _ in range(MOST_REDIRECTS):
            request = HTTPRequest(
                address,
                method,
                {**headers, "Cookie": self._cookie(address)},
                body,
                follow_redirects=False,
                request_timeout=REQUEST_SECONDS,
                allow_nonstandard_methods=True,
            )
            try:
                answer = await AsyncHTTPClient().fetch(request, raise_error=False)
            except OSError as error:
                raise VisitError(f"{address}: {error}") from error
            self._keep(answer)
            if answer.code not in (301, 302, 303, 307):
                return answer
            address, method, body = urljoin(address, answer.headers["Location"]), "GET", None
        raise VisitError(f"{path}: redirected without end")

    async def log_in(self) -> bool:
        """Whether name and password are good enough. Raises VisitError."""
        await self.ask("/hub/login")
        form = {"username": self.name, "password": self._password, "_xsrf": self._xsrf("/hub/")}
        answer = await self.ask(
            "/hub/login?next=%2Fhub%2Fhome",
            "POST",
            urlencode(form),
            **{"Content-Type": "application/x-www-form-urlencoded"},
        )
        return answer.code == 200 and urlsplit(answer.effective_url).path == "/hub/home"

    async def start(self) -> float:
        """Opens the student's own server, as who goes to the class's address does; the seconds it
        took. Raises VisitError."""
        begun = time.monotonic()
        while time.monotonic() < begun + START_SECONDS:
            answer = await self.ask("/hub/spawn")
            path = urlsplit(answer.effective_url).path
            if answer.code == 200 and path.startswith("/user/"):
                self.base = "/".join(path.split("/")[:3]) + "/"
                return time.monotonic() - begun
            if answer.code not in (200, 202, 424, 429, 503):
                break
            await asyncio.sleep(0.5)
        raise VisitError(f"{self.name}: the server does not start: {answer.code} {path}")

    async def api(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """What the student's server answers. Raises VisitError for anything but success."""
        answer = await self.ask(
            f"{self.base}api/{path}",
            method,
            None if body is None else json.dumps(body),
            **{"X-XSRFToken": self._xsrf(self.base), "Content-Type": "application/json"},
        )
        if answer.code >= 400:
            raise VisitError(f"{self.name}: {method} {path}: {answer.code} {answer.body[:200]!r}")
        return json.loads(answer.body) if answer.body else None

    async def open_kernel(self) -> None:
        """Starts a kernel and listens to it. Raises VisitError."""
        await self.listen((await self.api("kernels", "POST", {"name": "python3"}))["id"])

    async def listen(self, kernel: str) -> None:
        """Connects to a kernel that runs. Raises VisitError."""
        self.kernel = kernel
        address = urljoin(
            self.address.replace("http", "ws", 1),
            f"{self.base}api/kernels/{kernel}/channels?session_id={self._session}",
        )
        headers = {"Cookie": self._cookie(address), "Origin": self.address}
        request = HTTPRequest(address, headers=headers, connect_timeout=REQUEST_SECONDS)
        try:
            self._socket = await websocket_connect(request)
        except (OSError, HTTPClientError) as error:
            raise VisitError(f"{self.name}: the kernel is not reached: {error}") from error

    async def run(self, code: str) -> str:
        """What a cell prints and shows as text. Raises VisitError if it fails."""
        assert self._socket is not None
        message = uuid.uuid4().hex
        header = {
            "msg_id": message,
            "msg_type": "execute_request",
            "username": "",
            "version": "5.3",
        }
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        await self._socket.write_message(
            json.dumps(
                {
                    "header": {**header, "session": self._session},
                    "parent_header": {},
                    "metadata": {},
                    "content": {**content, "user_expressions": {}, "stop_on_error": True},
                    "channel": "shell",
                }
            )
        )
        return await self._outcome(message)

    async def _outcome(self, message: str) -> str:
        assert self._socket is not None
        shown: list[str] = []
        while (text := await self._socket.read_message()) is not None:
            found = json.loads(text)
            if found["parent_header"].get("msg_id") != message:
                continue
            kind, content = found["msg_type"], found["content"]
            if kind == "stream":
                shown.append(content["text"])
            elif kind in ("execute_result", "display_data"):
                shown.append(content["data"].get("text/plain", ""))
            elif kind == "error":
                raise VisitError(f"{self.name}: {content['ename']}: {content['evalue']}")
            elif kind == "status" and content["execution_state"] == "idle":
                return "".join(shown)
        raise VisitError(f"{self.name}: the kernel has gone")

    def leave(self) -> None:
        """Closes the browser; server and kernel stay."""
        if self._socket is not None:
            self._socket.close()

    def _keep(self, answer: HTTPResponse) -> None:
        for line in answer.headers.get_list("Set-Cookie"):
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name, morsel["path"] or "/"] = morsel.value

    def _cookie(self, address: str) -> str:
        """The cookies for an address, those of the longest path first, as RFC 6265 has it."""
        path = urlsplit(address).path
        fitting = sorted(
            (pair for pair in self._cookies.items() if path.startswith(pair[0][1])),
            key=lambda pair: -len(pair[0][1]),
        )
        return "; ".join(f"{name}={value}" for (name, _), value in fitting)

    def _xsrf(self, path: str) -> str:
        return self._cookies.get(("_xsrf", path), "")

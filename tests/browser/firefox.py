"""Firefox as Debian has it, by the protocol that it speaks itself (WebDriver BiDi, W3C): playwright
drives a Firefox of its own only."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import websocket

SECONDS = 240  # that anything may take; a busy machine is no reason to fail
STEP = 0.2  # seconds between two looks at a page

_READY = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_PREFERENCES = {
    "remote.active-protocols": 1,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}


def firefox() -> str | None:
    """The browser's program, if it is installed."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Tab:
    """A page in Firefox. `asked` are the addresses that it has requested, `errors` what its scripts
    threw."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(
            f"{address}/session", timeout=SECONDS, suppress_origin=True
        )
        self._number = 0
        self.asked: list[str] = []
        self.errors: list[str] = []
        self._do("session.new", capabilities={})
        events = ["network.beforeRequestSent", "log.entryAdded"]
        self._do("session.subscribe", events=events)
        self._context = self._do("browsingContext.getTree")["contexts"][0]["context"]

    def _do(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            said = json.loads(self._socket.recv())
            if said.get("id") == self._number:
                assert said["type"] == "success", said
                found: dict[str, Any] = said["result"]
                return found
            self._hear(said)

    def _hear(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event.get("method") == "network.beforeRequestSent" and told.get("context"):
            self.asked.append(told["request"]["url"])
        if event.get("method") == "log.entryAdded" and told["level"] == "error":
            self.errors.append(str(told.get("text")))

    def open(self, address: str) -> None:
        """Goes to an address and waits until it is loaded."""
        self._do("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def run(self, script: str, *given: Any) -> Any:
        """What a function gives for these values; it and they are made of JSON."""
        values = ", ".join(json.dumps(value) for value in given)
        text = (
            f"Promise.resolve(({script})({values})).then((found) => JSON.stringify(found ?? null))"
        )
        result = self._do(
            "script.evaluate",
            expression=text,
            target={"context": self._context},
            awaitPromise=True,
        )
        assert result["type"] == "success", result
        return json.loads(result["result"]["value"])

    def wait(self, script: str, *given: Any) -> Any:
        """What a function gives once that is true."""
        end = time.monotonic() + SECONDS
        while not (found := self.run(script, *given)):
            assert time.monotonic() < end, f"not true in {SECONDS} s: {script}"
            time.sleep(STEP)
        return found

    def close(self) -> None:
        self._do("browser.close")
        self._socket.close()


@contextmanager
def opened(program: str) -> Iterator[Tab]:
    """A Firefox without a window and with a profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        lines = (
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in _PREFERENCES.items()
        )
        Path(profile, "user.js").write_text("".join(lines), "utf-8")
        command = [program, "--headless", "--no-remote", "--profile", profile]
        process = subprocess.Popen(
            [*command, "--remote-debugging-port=0"],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert process.stderr is not None
        try:
            ready = next((found for line in process.stderr if (found := _READY.search(line))), None)
            assert ready is not None, "Firefox has ended"
            tab = Tab(ready[1])
            yield tab
            tab.close()
            process.wait(SECONDS)
        finally:
            process.kill()
            process.wait()

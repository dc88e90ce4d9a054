"""An editor for tests: starts `p4lab lsp` and talks to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Editor:
    """A conversation with a language server in a process of its own."""

    def __init__(self, *arguments: str, cache: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(cache)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "p4lab", "lsp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        self.sent = 0
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}

    def write(self, body: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def tell(self, method: str, params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message).encode())

    def ask(self, method: str, params: Any) -> Any:
        self.sent += 1
        message = {"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params}
        self.write(json.dumps(message).encode())
        while True:
            answer = self.read()
            if answer.get("method") == "textDocument/publishDiagnostics":
                self.diagnostics[answer["params"]["uri"]] = answer["params"]["diagnostics"]
                continue
            assert answer["id"] == self.sent and "error" not in answer, answer
            return answer["result"]

    def at(self, method: str, uri: str, line: int, character: int) -> Any:
        position = {"line": line, "character": character}
        return self.ask(method, {"textDocument": {"uri": uri}, "position": position})

    def end(self) -> tuple[int, str]:
        """The exit status and what was written to standard error."""
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors.decode()

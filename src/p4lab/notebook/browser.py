"""What a notebook's kernel in a browser (JupyterLite's) does otherwise than other kernels."""

from __future__ import annotations

import json
from typing import Any

from js import JSON  # type: ignore[import-not-found]  # a browser's


def speak_json(shell: Any) -> None:
    """Lets views get what JSON would bring them. That kernel hands JavaScript Python's own objects,
    and None comes as `undefined`, which no other kernel can send."""
    send = shell.send_comm

    def send_json(kind: str, content: dict[str, Any], *more: Any) -> Any:
        return send(kind, JSON.parse(json.dumps(content)), *more)

    shell.send_comm = send_json

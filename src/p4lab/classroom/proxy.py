"""The proxy of JupyterHub, which everything goes through: a program for Node."""

from __future__ import annotations

import shutil

from p4lab.classroom.place import ClassError, Settings

PROGRAM = "configurable-http-proxy"

NODE_PATH = "/usr/share/nodejs:/usr/share/javascript"
"""Where Debian's proxy finds its libraries, also with another Node than Debian's"""


def proxy_command(settings: Settings) -> list[str]:
    """How the proxy is started. Raises ClassError if it is not installed."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise ClassError(
            "configurable-http-proxy is missing; install Debian's package "
            "node-configurable-http-proxy, or the one from npm."
        )
    hub = f"http://127.0.0.1:{settings.hub_port}"
    command = [
        *(program, "--ip", settings.listen, "--port", str(settings.port)),
        *("--api-ip", "127.0.0.1", "--api-port", str(settings.proxy_port)),
        *("--default-target", hub, "--error-target", f"{hub}/hub/error"),
        *("--log-level", "warn"),
    ]
    if settings.tls_cert:
        command += ["--ssl-cert", settings.tls_cert, "--ssl-key", settings.tls_key]
    return command

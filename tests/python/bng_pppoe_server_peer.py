"""What `pppoe-server` runs instead of pppd: a PPP server of ours behind Debian's `pppoe`.

Called with `pty COMMAND file OPTIONS LOCAL:REMOTE ...`; COMMAND carries PPP on stdin and stdout.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import time
from ipaddress import IPv4Address
from random import Random

from bng_hdlc import Reader, framed
from bng_peers import right
from p4lab.systems.bng.ppp import SERVER, Link, Settings
from p4lab.systems.bng.ppp.events import AuthenticationAsked


def main(words: list[str]) -> None:
    """Serve one subscriber until it hangs up."""
    command = words[words.index("pty") + 1]
    local, remote = next(word for word in words if word.count(":") == 1 and "." in word).split(":")
    pipe = subprocess.PIPE
    with subprocess.Popen(shlex.split(command), stdin=pipe, stdout=pipe, bufsize=0) as pppoe:
        link = Link(SERVER, Settings(address=IPv4Address(local)), Random(1))
        link.start(time.monotonic())
        reader = Reader()
        while not link.over:
            for protocol, body in link.take():
                pppoe.stdin.write(framed(protocol, body))
            ready, _, _ = select.select([pppoe.stdout], [], [], 0.1)
            now = time.monotonic()
            if ready:
                stream = os.read(pppoe.stdout.fileno(), 4096)
                if not stream:
                    break
                for protocol, body in reader.feed(stream):
                    link.heard(now, protocol, body)
            link.tick(now)
            for event in link.happened():
                if isinstance(event, AuthenticationAsked) and right(event):
                    link.authenticated(now, IPv4Address(remote), (), 0)
        for protocol, body in link.take():
            pppoe.stdin.write(framed(protocol, body))
        pppoe.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""A network whose first host runs a program of its own: `python host_program.py once|stay`."""

from __future__ import annotations

import sys
import time

from p4lab import rights
from p4lab.network.mininet import MininetNetwork
from p4lab.topology import Topology

TUNSETIFF, IFF_TUN_ALONE = 0x400454CA, 0x1001
PROGRAM = f"""
import fcntl, os, socket, struct, subprocess, sys
device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, {TUNSETIFF}, struct.pack("16sH22x", b"ppp0", {IFF_TUN_ALONE}))
subprocess.run(["ip", "link", "set", "ppp0", "up"], check=True)
print("tun", flush=True)
card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
card.bind((sys.argv[1], 0))
card.send(bytes(60))
print("packet", flush=True)
"""


class NoSwitches:
    """Hosts alone."""

    target, notes, now = "none", (), 0

    def start(self, router: str, number: int, ports: object) -> None: ...

    def emulate(self, router: str, port: int, wire: object, *, both: bool) -> None: ...

    def stop(self) -> None: ...


def main() -> None:
    rights.enter()
    topology = Topology.load("rfc8279")
    host = topology.hosts[0]
    with MininetNetwork(topology, NoSwitches()) as net:
        if sys.argv[1] == "once":
            words = [sys.executable, "-c", PROGRAM, host.interface]
            print(net.popen(host, words, stdout=None, stderr=None).wait())
            return
        net.popen(host, ["sleep", "1000"])
        time.sleep(0.5)  # until setpriv and mnexec have become it
        print("ready", flush=True)
        time.sleep(1000)


if __name__ == "__main__":
    main()

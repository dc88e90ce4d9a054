"""Networks that run our switches, behind one interface: `virtual` and `linux`.

A network is built from a topology and a program. It owns switches and hosts; a controller gets
its frames from it and gives it entries. Times are nanoseconds since the network began.
"""

from p4lab.model.control import Controller
from p4lab.network.base import Network, NetworkError
from p4lab.network.linux_host import LinuxHosts
from p4lab.network.opening import open_network

__all__ = ["Controller", "LinuxHosts", "Network", "NetworkError", "open_network"]

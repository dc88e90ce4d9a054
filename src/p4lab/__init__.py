"""p4lab: a P4 teaching lab in a box.

Importing the package is cheap: what needs scapy, networkx or pydantic imports it where used.
"""

__version__ = "0.1.0"

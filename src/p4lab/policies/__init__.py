"""Policies that students write, in a small part of Python.

A policy is a class in a file of its own. It is parsed by Python and carried out here, node by node,
never by Python itself: from it nothing can be reached but numbers, lists and the functions that are
listed, every step is counted, and what is wrong has a line. So a policy cannot take long, read a
file or touch its grader, and the same policy with the same arguments gives the same answer.
"""

from p4lab.policies.errors import PolicyError
from p4lab.policies.program import Program, read

__all__ = ["PolicyError", "Program", "read"]

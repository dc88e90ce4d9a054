"""RADIUS as an access concentrator speaks it: authentication, accounting, change of authorization.

All of it but `sockets`, `freeradius` and `slow` is told the time and opens nothing.
"""

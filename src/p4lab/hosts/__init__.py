"""What runs inside real Linux hosts: a process each, all forked by one.

These need nothing but the standard library and `p4lab.packets`: every network waits until they are
imported, and what they write to is in memory once for each host.
"""

"""What runs inside real Linux hosts, one process each.

These need nothing but the standard library and `p4lab.packets`: fifty hosts import it fifty times.
"""

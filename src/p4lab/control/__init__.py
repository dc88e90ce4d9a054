"""Control planes: functions from topology and membership to table entries.

Nothing here knows a target. A driver turns the entries of `p4lab.model.entries` into whatever
its switch understands and applies each batch atomically.
"""

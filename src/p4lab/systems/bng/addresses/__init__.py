"""Addresses of subscribers: pools, router advertisements, prefix delegation, and the errors that a
router sends. Nothing in here opens a socket or reads a clock.
"""

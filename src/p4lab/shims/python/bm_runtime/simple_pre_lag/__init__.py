"""Multicast with link aggregation."""

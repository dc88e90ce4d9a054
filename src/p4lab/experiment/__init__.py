"""Experiments of the papers, repeated: numbers of the paper beside our own, with their seeds."""

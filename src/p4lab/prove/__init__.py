"""Proofs that two programs are equal, within bounds."""

RATES = "meters without rates, so every packet is green"
"""What is said where a program has meters: nothing is proven of rates, nor of most counts."""

"""Exercises with a starter and a solution become labs."""

"""Judging a student's P4: cases, checks, verdicts, and the reports made of them."""

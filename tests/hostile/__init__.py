"""Submissions that try to break the grader, made by code: none of them is a file in git."""

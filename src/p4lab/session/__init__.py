"""A run, step by step, for whoever lets packets flow (run.py), on whatever network (opening.py)."""

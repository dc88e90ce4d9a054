"""Names under which controllers import messages."""

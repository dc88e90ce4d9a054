"""bmv2's runtime API, as its clients import it."""

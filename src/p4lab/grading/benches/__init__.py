"""Other switches than the engine for the cases of checks: a bench per target."""

"""Tables, counters, registers and the rest."""

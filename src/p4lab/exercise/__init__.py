"""Exercise folders in the form of p4lang/tutorials: topology, P4 file, entries of each switch."""

"""The part of p4runtime-shell that controllers catch errors of."""

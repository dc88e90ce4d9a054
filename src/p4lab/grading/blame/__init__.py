"""The statement to blame where the ways of a packet through two programs part.

The reference's way says what should have happened; nothing of its source is told. To blame is a
statement that wrote something wrong, or nothing new; a condition under which one ran that should
not, or did not run; and where there is nothing of the kind, the place behind which something is
missing.
"""

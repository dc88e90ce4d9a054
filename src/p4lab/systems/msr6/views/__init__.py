"""MSR6 in a notebook: the tree of a packet beside the header bytes that encode it.

What a router did comes from the engine's trace. The profile is used to say what the bytes mean:
which node an entry names, and which entries its argument asks for. Where a program does something
else than the bytes ask for, both are shown.

This encoding is p4lab's own profile, not an IETF format.
"""

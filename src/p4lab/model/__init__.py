"""What all layers speak of and none of them does: runs, entries, notations, systems.

Nothing here sends a packet, opens a file or knows a protocol above UDP.
"""

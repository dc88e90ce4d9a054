"""A search for states without progress, and for caches that lose what is still needed.

`cases` are small fabrics, `search` tries every way in which frames can come (crates/p4-fabric's
explore.rs does the work), and makes a film of what it finds.
"""

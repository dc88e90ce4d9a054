"""Pictures of a running fabric, in notebooks and as pages.

`film` records a leaf slot by slot and says what happens, `leaf` shows that, `rack` shows all leaves
with their loads, `page` writes either as a file that needs nothing else. All states come from the
simulator (crates/p4-fabric/src/snapshot.rs); nothing here knows how a fabric works.
"""

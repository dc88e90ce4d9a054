"""Random programs on this engine and on the real bmv2, packet by packet (docs/fuzzing.md)."""

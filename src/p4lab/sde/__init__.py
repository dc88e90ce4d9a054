"""The SDE's example programs and their tests, run against our switch (docs/tofino-examples.md)."""

//! What a control plane can change: tables, counters, meters, registers, groups; atomic write batches.

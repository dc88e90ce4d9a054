//! The flat, architecture-free IR: lowering and the reference interpreter with traces.

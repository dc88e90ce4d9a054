//! The Simple Test Framework: its language and its runner.

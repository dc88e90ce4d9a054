//! Maps and sets for the parts of a program.
//!
//! Programs may be hostile, so the hash function is seeded anew for each process and each map:
//! nobody can prepare names that all meet in one bucket. It does not withstand an attacker who
//! learns the seeds by timing many answers of one process, as SipHash does; a compiler gives one
//! answer, and SipHash was a quarter of its work.

use foldhash::fast::RandomState;

pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
pub type HashSet<T> = std::collections::HashSet<T, RandomState>;

//! `cargo run --release -p p4-io --example veth` (as root): packets per second of 64 bytes that a
//! switch which does nothing forwards between two veth pairs. What a program costs shows as a ratio
//! to this.

use std::time::Duration;

use p4_io::{bench, Patch};

fn main() {
    for _ in 0..3 {
        match bench::measure(Patch(0, 1), vec![0x5A; 64], Duration::from_secs(2)) {
            Ok(measured) => println!(
                "{:>9.0} packets/s forwarded of {:>9.0} offered",
                measured.packets_per_second(),
                measured.offered as f64 / measured.seconds
            ),
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }
}

//! `cargo run --release -p p4-io --example veth` (as root): packets per second of 64 bytes that a
//! switch which does nothing forwards between two veth pairs, by each way to the interfaces, next to a
//! bare loop. What a program costs shows as a ratio to this.

use std::time::Duration;

use p4_io::bench::{measure, Contestant, Load};
use p4_io::{Backend, IoError, Patch};

fn main() -> Result<(), IoError> {
    for _ in 0..3 {
        show("nothing", Contestant::Nothing)?;
        for backend in Backend::ALL {
            let device = Box::new(Patch(0, 1));
            let backend = Some(backend);
            let name = backend.map_or("", Backend::name);
            show(name, Contestant::Switch { device, backend })?;
        }
    }
    Ok(())
}

fn show(name: &str, contestant: Contestant) -> Result<(), IoError> {
    let load = Load {
        frame: vec![0x5A; 64],
        rate: None,
        duration: Duration::from_secs(1),
    };
    let found = measure(contestant, load)?;
    let rate = |frames: u64| frames as f64 / found.seconds;
    println!(
        "{name:12} {:>9.0} packets/s of {:>9.0} offered, {:4.0} ns of processor time each",
        rate(found.forwarded),
        rate(found.offered),
        found.busy.unwrap_or_default() * 1e9 / found.forwarded.max(1) as f64
    );
    Ok(())
}

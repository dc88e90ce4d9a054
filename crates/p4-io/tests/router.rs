//! TCP between real hosts through a router in P4, by each way to the interfaces.

mod common;
#[path = "common/router.rs"]
mod router;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use common::*;
use p4_io::namespace::ip;
use p4_io::IoError;
use router::Router;

/// The MAC address of an interface in a host.
fn mac(host: &Host, interface: &'static str, mac: u64) -> Result<(), IoError> {
    let text: Vec<String> = mac.to_be_bytes()[2..]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    host.run(move || {
        let address = ["address", &text.join(":")];
        ip(
            interface,
            &[&["link", "set", "dev", interface][..], &address[..]].concat(),
        )
    })
}

/// Everything outside of the host's own network goes to the router.
fn default_route(host: &Host, interface: &'static str, via: &'static str) -> Result<(), IoError> {
    host.neighbour(interface, via, 0xFE)?;
    host.run(move || {
        ip(
            interface,
            &["route", "add", "default", "via", via, "dev", interface],
        )
    })
}

// If this fails a lab with real hosts stalls as soon as somebody uses TCP: the router computes on
// checksums that are not there yet, or meets "packets" of 64 kB.
#[test]
fn tcp_passes_a_router_in_p4_with_offloads_as_the_kernel_sets_them() {
    for_each_backend(|backend| {
        const MACS: [u64; 2] = [0x0200_0000_0001, 0x0200_0000_0002];
        let left = Host::at("s1", "h1", "10.1.0.1/24")?;
        let right = Host::at("s2", "h2", "10.2.0.1/24")?;
        for ((host, interface, via), address) in
            [(&left, "h1", "10.1.0.254"), (&right, "h2", "10.2.0.254")]
                .into_iter()
                .zip(MACS)
        {
            mac(host, interface, address)?;
            default_route(host, interface, via)?;
        }
        let routes = [
            ([10, 1, 0, 0], 24, MACS[0], 1),
            ([10, 2, 0, 0], 24, MACS[1], 2),
        ];
        let switch = start(backend, &[(1, "s1"), (2, "s2")], Router::new(&routes))?;
        let listener = right.run(|| TcpListener::bind("10.2.0.1:5001").unwrap());
        let arrived = right.begin(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all
        });
        let data: Vec<u8> = (0..3_000_000u32).map(|at| (at ^ at >> 11) as u8).collect();
        let sent = data.clone();
        left.run(move || {
            let mut stream = TcpStream::connect("10.2.0.1:5001").unwrap();
            stream.write_all(&sent).unwrap();
        });
        let arrived = arrived.recv_timeout(PATIENCE).expect("it arrives in time");
        assert!(arrived == data, "{} of {} bytes", arrived.len(), data.len());
        let stats = switch.stop()?.1;
        let frames = stats.port(2).unwrap().sent.frames;
        assert!(frames >= data.len() as u64 / 1460, "{frames} frames");
        Ok(())
    });
}

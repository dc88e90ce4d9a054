//! Captures, judged by tshark where it is installed.

use std::io::Write;
use std::process::{Command, Stdio};

use p4_net::{Device, End, LinkConfig, Network, Out};
use p4_time::Time;

struct Sink;

impl Device for Sink {
    fn receive(&mut self, _: Time, _: u16, _: &[u8], _: &mut Out) {}
}

// If this fails `--pcap` writes files that Wireshark cannot read, or with wrong times.
#[test]
fn tshark_reads_interfaces_times_and_bytes() {
    let installed = Command::new("tshark").arg("--version").output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let mut network = Network::new(0);
    let switch = network.add_switch("r1", Sink, None);
    let host = network.add_host("h1", [2, 0, 0, 0, 0, 1]);
    let (a, b) = (
        End {
            node: host,
            port: 0,
        },
        End {
            node: switch,
            port: 3,
        },
    );
    let delay = Time::from_nanos(1_234_567_891);
    let link = network
        .connect(
            a,
            b,
            LinkConfig {
                delay,
                ..LinkConfig::default()
            },
        )
        .unwrap();
    network.capture(link).unwrap();
    for millis in [0, 1] {
        let frame = [&[0xFF; 6][..], &[2, 0, 0, 0, 0, 1, 0x88, 0xB5], &[0x5A; 51]].concat();
        network
            .send_at(host, Time::from_millis(millis), &frame)
            .unwrap();
    }
    network.run_until(Time::from_secs(9));
    let file = network.drain_capture(link);
    assert!(network.drain_capture(link).is_empty());

    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.len",
        "eth.type",
    ];
    let mut tshark = Command::new("tshark")
        .args(["-r", "-", "-T", "fields"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tshark.stdin.take().unwrap().write_all(&file).unwrap();
    let output = tshark.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = "1.234567891\th1:0 > r1:3\t65\t0x88b5\n1.235567891\th1:0 > r1:3\t65\t0x88b5\n";
    assert_eq!(
        text,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

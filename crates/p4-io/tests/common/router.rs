//! An IPv4 router in P4, on our engine, as a device for interfaces.
#![allow(dead_code)] // each test file uses its part

use std::path::Path;
use std::sync::Arc;

use num_bigint::BigUint;
use p4_arch::v1model::{Config, Image, Switch, V1Model};
use p4_net::{Device, Out};
use p4_state::{ActionSpec, Args, Entry, EntryKey, Match, Target, Update};
use p4_syntax::{FileProvider, Options};
use p4_time::Time;

/// A route: network, prefix length, MAC address of the next hop, port.
pub type Route = ([u8; 4], u32, u64, u16);

pub struct Router(Switch);

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let path = Path::new(path);
        let read = || std::fs::read_to_string(path).map_err(|error| error.to_string());
        path.is_file().then(read)
    }
}

impl Router {
    pub fn new(routes: &[Route]) -> Router {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4-arch/benches/route.p4");
        let parsed = p4_syntax::parse(&path.to_string_lossy(), &Disk, &Options::default());
        let checked = p4_check::check(&parsed.program);
        let program = p4_ir::lower::lower(&checked, &V1Model).expect("the program is right");
        let image = Image::new(Arc::new(program)).expect("the program runs on v1model");
        let mut switch = Switch::new(Arc::new(image), Config::default()).expect("a switch");
        let updates: Vec<Update> = routes.iter().map(insert).collect();
        switch.write(&updates).expect("entries");
        Router(switch)
    }
}

fn insert((network, length, mac, port): &Route) -> Update {
    let value = BigUint::from(u32::from_be_bytes(*network));
    let prefix = Match::Lpm {
        value,
        length: *length,
    };
    Update::Insert(Entry {
        key: EntryKey {
            table: "routes".into(),
            matches: vec![("hdr.ipv4.dst".into(), prefix)],
            priority: 0,
        },
        target: Target::Action(ActionSpec {
            name: "forward".into(),
            args: Args::InOrder(vec![(*mac).into(), (*port).into()]),
        }),
    })
}

impl Device for Router {
    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out) {
        let mut sink = |port: u16, data: &[u8]| out(port, 0, data);
        self.0.process(now, port, data, &mut sink);
    }
}

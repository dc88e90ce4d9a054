//! A network in virtual time, with entries that somebody has worked out, and frames to be followed.

use crate::compile::{built, rendered, Source};
use crate::trace::{hex, packets};
use crate::update::batch;
use p4_arch::v1model::Config;
use p4_arch::{Image, Switch, Trace};
use p4_net::{Device, End, Event, LinkConfig, Network, NodeId, Out};
use p4_syntax::SourceMap;
use p4_time::Time;
use serde::Deserialize;
use serde_json::{json, Value};

/// A program, a network of switches that all run it, and frames. Times are picoseconds.
#[derive(Deserialize)]
pub struct Scene {
    program: Source,
    switches: Vec<SwitchOf>,
    hosts: Vec<HostOf>,
    links: Vec<LinkOf>,
    frames: Vec<FrameOf>,
    /// When the scene ends
    until: u64,
}

#[derive(Deserialize)]
struct SwitchOf {
    name: String,
    seed: u64,
    cpu_port: Option<u16>,
    entries: Vec<Value>,
}

#[derive(Deserialize)]
struct HostOf {
    name: String,
    /// 12 hexadecimal digits
    mac: String,
}

/// Ends are the name of a node and a port.
#[derive(Deserialize)]
struct LinkOf {
    a: (String, u16),
    b: (String, u16),
    /// Bits per second; none: no time
    rate: Option<u64>,
    delay: u64,
}

#[derive(Deserialize)]
struct FrameOf {
    host: String,
    time: u64,
    /// Hexadecimal digits
    data: String,
}

/// All arrivals at switches, in order of time: `switch`, `port`, `time`, `data`, `packets`. The error
/// is what the compiler or a switch says.
pub fn run(scene: &Scene) -> Result<Value, String> {
    let built = built(&scene.program);
    let Some(image) = &built.image else {
        return Err(rendered(&built));
    };
    let mut network = Network::new(0);
    let mut nodes = Vec::new();
    for switch in &scene.switches {
        let device = Traced::new(image, switch)?;
        let node = network.add_switch(&switch.name, device, switch.cpu_port);
        nodes.push((switch.name.as_str(), node));
    }
    for host in &scene.hosts {
        nodes.push((&host.name, network.add_host(&host.name, mac(&host.mac)?)));
    }
    for link in &scene.links {
        let config = LinkConfig {
            rate: link.rate,
            delay: Time::from_picos(link.delay),
            ..LinkConfig::default()
        };
        let end = |(name, port): &(String, u16)| {
            Ok::<_, String>(End {
                node: find(&nodes, name)?,
                port: *port,
            })
        };
        network
            .connect(end(&link.a)?, end(&link.b)?, config)
            .map_err(|error| error.to_string())?;
    }
    for frame in &scene.frames {
        let (host, time) = (find(&nodes, &frame.host)?, Time::from_picos(frame.time));
        network
            .send_at(host, time, &bytes(&frame.data)?)
            .map_err(|error| error.to_string())?;
    }
    pass(&mut network, Time::from_picos(scene.until))?;
    arrivals(&mut network, &nodes[..scene.switches.len()], &built.sources)
}

/// Lets time pass. Frames for the controller have nobody to go to.
fn pass(network: &mut Network<Traced>, until: Time) -> Result<(), String> {
    loop {
        match network.run_until(until) {
            Event::Reached => return Ok(()),
            Event::Exhausted(_) => {
                return Err("too many frames: very likely they run in a loop".into())
            }
            Event::PacketIn { .. } | Event::HostFrame { .. } => {}
        }
    }
}

fn arrivals(
    network: &mut Network<Traced>,
    switches: &[(&str, NodeId)],
    sources: &SourceMap,
) -> Result<Value, String> {
    let mut found = Vec::new();
    for (name, node) in switches {
        let device = network
            .device_mut(*node)
            .map_err(|error| error.to_string())?;
        let program = device.switch.program();
        for arrival in &device.arrivals {
            found.push((
                arrival.time,
                json!({
                    "switch": name,
                    "port": arrival.port,
                    "time": arrival.time.picos(),
                    "data": hex(&arrival.data),
                    "packets": packets(program, sources, &arrival.trace),
                }),
            ));
        }
    }
    found.sort_by_key(|(time, _)| *time);
    Ok(found.into_iter().map(|(_, arrival)| arrival).collect())
}

struct Arrival {
    time: Time,
    port: u16,
    data: Vec<u8>,
    trace: Trace,
}

/// A switch that keeps the traces of what arrives.
struct Traced {
    switch: Switch,
    arrivals: Vec<Arrival>,
}

/// Arrivals that a switch keeps; those after them are lost.
const MOST_ARRIVALS: usize = 1000;

impl Traced {
    fn new(image: &Image, given: &SwitchOf) -> Result<Traced, String> {
        let config = Config {
            seed: given.seed,
            ..Config::default()
        };
        let mut switch = Switch::new(image, config).map_err(|error| error.to_string())?;
        switch.set_cpu_port(given.cpu_port);
        let named = |error: String| format!("{}: {error}", given.name);
        switch
            .write(&batch(&given.entries).map_err(named)?)
            .map_err(|error| named(error.to_string()))?;
        Ok(Traced {
            switch,
            arrivals: Vec::new(),
        })
    }
}

impl Device for Traced {
    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out) {
        let mut sink = |port: u16, data: &[u8]| out(port, 0, data);
        if self.arrivals.len() == MOST_ARRIVALS {
            return self.switch.process(now, port, data, &mut sink);
        }
        let trace = self.switch.process_traced(now, port, data, &mut sink);
        self.arrivals.push(Arrival {
            time: now,
            port,
            data: data.to_vec(),
            trace,
        });
    }

    fn next_departure(&self) -> Option<Time> {
        self.switch.next_departure()
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        let mut sink = |port: u16, data: &[u8]| out(port, 0, data);
        self.switch.advance(now, &mut sink);
    }
}

fn find(nodes: &[(&str, NodeId)], name: &str) -> Result<NodeId, String> {
    let node = nodes.iter().find(|(known, _)| *known == name);
    node.map(|(_, node)| *node)
        .ok_or_else(|| format!("there is no switch or host {name:?}"))
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let bytes = bytes(text)?;
    bytes
        .try_into()
        .map_err(|_| format!("{text:?} is no MAC address of 12 hexadecimal digits"))
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let pair = |at: usize| {
        text.get(at..at + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    (0..text.len())
        .step_by(2)
        .map(pair)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{text:?} are not bytes in hexadecimal digits"))
}

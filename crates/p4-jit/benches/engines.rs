//! The interpreter and native code on the same packets: `cargo bench -p p4-jit`. The two take turns
//! and what is compared is runs that follow each other, since other programs disturb both.

#[path = "../../p4-arch/tests/support/subject.rs"]
#[allow(dead_code)] // what tests need
mod subject;

use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::{Port, Time};
use p4_ir::interp::{self, Halt, Host, Lookup, Machine, Outcome, Plain};
use p4_ir::ir::{CallId, Pc, TableId};
use p4_ir::native::Native;
use p4_ir::trace::{NoTrace, Tracer};
use p4_net::{Device, End, Flow, LinkConfig, Network, Out, Stream, Workspace};
use p4_state::Update;
use std::hint::black_box;
use std::sync::Arc;
use subject::{bier_packet, compile, ipv4_packet};

const ROUNDS: usize = 21;
const ROUND: u64 = 20_000;

/// A program with entries, and its native code.
struct Subject {
    image: Arc<Image>,
    updates: Vec<Update>,
    code: Arc<dyn Native>,
}

impl Subject {
    fn new(image: Arc<Image>, updates: Vec<Update>) -> Subject {
        let code = p4_jit::compile(image.prepared()).expect("native code");
        let code = Arc::new(code);
        Subject {
            image,
            updates,
            code,
        }
    }

    fn switch(&self, is_native: bool) -> Switch {
        let image = Arc::clone(&self.image);
        let mut switch = Switch::new(image, Config::default()).expect("a switch");
        let code = is_native.then(|| Arc::clone(&self.code));
        switch.set_native(code).expect("its own code");
        switch.write(&self.updates).expect("entries");
        switch
    }
}

fn nanoseconds(switch: &mut Switch, packet: &[u8], expected: u64) -> f64 {
    let mut sent = 0;
    let began = processor_time();
    for i in 0..ROUND {
        let mut sink = |port: Port, data: &[u8]| {
            black_box((port, data));
            sent += 1;
        };
        switch.process(Time::from_nanos(i), 1, black_box(packet), &mut sink);
    }
    let time = (processor_time() - began) / ROUND as f64;
    assert_eq!(sent, expected * ROUND);
    time
}

/// Of this thread, in nanoseconds
fn processor_time() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists and the place to write to is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The median, and between what all lie.
fn spread(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (least, most) = (values[0], values[values.len() - 1]);
    let median = values[values.len() / 2];
    format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
}

fn measure(name: &str, subject: &Subject, packet: &[u8], expected: u64) {
    let mut switches = [false, true].map(|is_native| subject.switch(is_native));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (switch, times) in switches.iter_mut().zip(&mut times) {
            times.push(nanoseconds(switch, packet, expected));
        }
    }
    report(name, &times);
}

fn report(name: &str, times: &[Vec<f64>; 2]) {
    let ratios = times[0].iter().zip(&times[1]).map(|(a, b)| a / b);
    println!(
        "{name:40} interpreter {} ns, native {} ns, ratio {}",
        spread(times[0].clone(), 0),
        spread(times[1].clone(), 0),
        spread(ratios.collect(), 2)
    );
}

fn routing() {
    let (image, updates) = subject::router();
    let subject = Subject::new(image, updates);
    measure("IPv4 routing with checksums", &subject, &ipv4_packet(64), 1);
}

fn bier(bsl: u32, next_hops: u32) -> Subject {
    let (image, updates) = subject::bier(bsl, next_hops);
    Subject::new(image, updates)
}

/// A host that answers at once: what is left is the blocks themselves.
struct Answers {
    /// For each table the action and its words
    found: Vec<(u32, Vec<u64>)>,
}

impl Answers {
    /// Each table gives the action of one of these names.
    fn new(image: &Image, named: &[(&str, Vec<u64>)]) -> Answers {
        let program = image.program();
        let answer = |table: &p4_ir::ir::Table| {
            let mut actions = table.actions.iter().enumerate();
            let found = actions.find_map(|(index, listed)| {
                let name = &program.actions[listed.action as usize].name;
                let (_, words) = named.iter().find(|(end, _)| name.ends_with(end))?;
                Some((index as u32, words.clone()))
            });
            found.unwrap_or((u32::MAX, Vec::new()))
        };
        Answers {
            found: program.tables.iter().map(answer).collect(),
        }
    }
}

impl Host for Answers {
    fn lookup_plain(&mut self, table: TableId, _: &[u64]) -> Option<Plain<'_>> {
        let (action, data) = &self.found[table as usize];
        Some(Plain {
            hit: true,
            action: *action,
            data,
        })
    }

    fn lookup(&mut self, table: TableId, _: &[u64]) -> Lookup<'_> {
        let (action, data) = &self.found[table as usize];
        Lookup {
            hit: true,
            action: *action,
            data,
            entry: None,
        }
    }

    fn call<T: Tracer>(&mut self, _: CallId, _: &mut Machine, _: &mut T) -> Result<(), Halt> {
        Ok(())
    }

    fn in_value_set(&mut self, _: u32, _: &[u64]) -> bool {
        false
    }
}

/// The six blocks of the BIER program alone, without what is between them.
fn blocks(bsl: u32) {
    let image = compile("p4/bier/v1model.p4", &[("BSL", &bsl.to_string())]);
    let code = p4_jit::compile(image.prepared()).expect("native code");
    let mut fbm = vec![u64::MAX; bsl as usize / 64];
    fbm.push(2);
    let answers = [("forward", fbm), ("rewrite", vec![1, 2])];
    let mut host = Answers::new(&image, &answers);
    let entries: Vec<Pc> = image.program().blocks.iter().map(|b| b.entry).collect();
    let mut machine = Machine::new(image.prepared());
    machine.packet.load(&bier_packet(bsl, &[0, 3]));
    let mut interpreted = |machine: &mut Machine| {
        for entry in &entries {
            let ended = interp::run(image.prepared(), *entry, machine, &mut host, &mut NoTrace);
            assert_eq!(ended, Outcome::Done);
        }
    };
    let mut host = Answers::new(&image, &answers);
    let mut native = |machine: &mut Machine| {
        let ended = code.run_all(&entries, machine, &mut host);
        assert_eq!(ended, (entries.len() - 1, Outcome::Done));
    };
    let mut runs: [&mut dyn FnMut(&mut Machine); 2] = [&mut interpreted, &mut native];
    let mut outputs = [Vec::new(), Vec::new()];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for ((run, times), output) in runs.iter_mut().zip(&mut times).zip(&mut outputs) {
            let began = processor_time();
            for _ in 0..ROUND {
                machine.packet.rewind();
                run(black_box(&mut machine));
            }
            times.push((processor_time() - began) / ROUND as f64);
            output.clear();
            output.extend_from_slice(machine.packet.output());
        }
    }
    assert_eq!(outputs[0], outputs[1]);
    report(&format!("BIER {bsl}, blocks alone"), &times);
}

/// A switch in a network.
struct Router(Switch);

impl Device for Router {
    fn receive(&mut self, now: Time, port: Port, data: &[u8], out: &mut Out) {
        let mut sink = |port: Port, data: &[u8]| out(port, 0, data);
        self.0.process(now, port, data, &mut sink);
    }

    fn receive_in(
        &mut self,
        shared: &mut Workspace,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut Out,
    ) {
        let mut sink = |port: Port, data: &[u8]| out(port, 0, data);
        match shared.get() {
            Some(shared) => self.0.process_in(shared, now, port, data, &mut sink),
            None => self.0.process(now, port, data, &mut sink),
        }
    }
}

/// Probes through a chain of BIER routers: nanoseconds of a packet at one router, links included.
fn chain(routers: Vec<Switch>, frame: &[u8]) -> f64 {
    let link = LinkConfig {
        rate: Some(100_000_000_000),
        delay: Time::from_nanos(500),
        ..LinkConfig::default()
    };
    let hops = routers.len() as u64;
    let mut net = Network::new(1);
    let source = net.add_host("from", [2, 0, 0, 0, 0, 1]);
    let mut end = End {
        node: source,
        port: 0,
    };
    for switch in routers {
        let node = net.add_switch("router", Router(switch), None);
        let own = End { node, port: 1 };
        net.connect(end, own, link.clone()).expect("free ports");
        end = End { node, port: 2 };
    }
    let sink = net.add_host("to", [2, 0, 0, 0, 0, 2]);
    net.set_promiscuous(sink, true).expect("a host");
    let own = End {
        node: sink,
        port: 0,
    };
    net.connect(end, own, link).expect("free ports");
    let stream = Stream {
        template: frame.to_vec(),
        flow: Flow { flow: 1, sender: 1 },
        start: Time::ZERO,
        interval: Time::from_nanos(1000),
        count: ROUND,
    };
    net.start_stream(source, stream).expect("a stream");
    let began = processor_time();
    net.run_until(Time::from_nanos((ROUND + 100) * 1000));
    let time = processor_time() - began;
    let reports = net.report(sink).expect("a host");
    let received: u64 = reports.iter().map(|report| report.received).sum();
    assert_eq!(received, ROUND);
    time / (ROUND * hops) as f64
}

fn chains() {
    // Room behind the packet for the trailer of a probe
    let mut frame = bier_packet(64, &[0, 3]);
    frame.resize(frame.len() + 24, 0);
    let subject = bier(64, 1);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (is_native, times) in [false, true].into_iter().zip(&mut times) {
            let routers = (0..10).map(|_| subject.switch(is_native));
            times.push(chain(routers.collect(), &frame));
        }
    }
    report("BIER 64, one hop of a chain of ten", &times);
}

fn main() {
    chains();
    routing();
    blocks(64);
    blocks(256);
    for bsl in [64, 256] {
        let name = |what: &str| format!("BIER {bsl}, {what}");
        let packet = bier_packet(bsl, &[0, 3]);
        measure(&name("one next hop"), &bier(bsl, 1), &packet, 1);
        let packet = bier_packet(bsl, &[0, 1, 2, 3]);
        measure(&name("four copies"), &bier(bsl, 4), &packet, 4);
    }
}

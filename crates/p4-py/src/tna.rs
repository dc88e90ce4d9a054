//! What the control plane sets of a TNA switch besides tables, from the classes of `p4lab.model.tna`,
//! and what it reads.

use crate::classes::{class_of, field, made, misplaced, Class};
use p4_arch::tna::{
    App, Coalescing, Direction, Lag, LpfConfig, MirrorSession, Mode, Node, Pruning, Switch,
    Trigger, WredConfig,
};
use p4_arch::Digest;
use p4_ir::ir::Program;
use p4_time::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySequence};

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

const MOST_MIRRORS: u16 = 1024;
const MOST_LAGS: u16 = 256;
const MOST_EXCLUSIONS: u16 = 512;
const MOST_APPS: u16 = 8;
/// Bytes of a pipe's packet buffer
const MOST_PACKET: usize = 16 * 1024;
const PORTS: u16 = 512;

/// One setting, read in full before any is applied.
pub enum Setting {
    Multicast(u16, Option<Vec<Vec<Node>>>),
    Lag(u16, Lag),
    Prune(u16, Pruning),
    GlobalRid(Option<u16>),
    Mirror(u16, Option<MirrorSession>),
    Generator(Box<App>),
    NoGenerator(u8, u8),
    PortMetadata(u16, u64),
    Lpf(String, Option<u64>, Option<LpfConfig>),
    Wred(String, Option<u64>, Option<WredConfig>),
}

/// Reads settings; errors name the index of the setting and the field.
pub fn settings(given: &Bound<'_, PySequence>) -> PyResult<Vec<Setting>> {
    let convert = |(index, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        item.and_then(|item| setting(&item)).map_err(|error| {
            let message = error.value(given.py());
            wrong(format!("setting {}: {message}", index + 1))
        })
    };
    given.try_iter()?.enumerate().map(convert).collect()
}

/// Applies settings to a switch, up to one with a name that is not the program's.
pub fn apply(switch: &mut Switch, now: Time, settings: Vec<Setting>) -> PyResult<()> {
    let refused = |error: p4_arch::ArchError| wrong(error.to_string());
    for setting in settings {
        match setting {
            Setting::Lpf(name, cell, config) => {
                switch.set_lpf(&name, cell, config).map_err(refused)?
            }
            Setting::Wred(name, cell, config) => {
                switch.set_wred(&name, cell, config).map_err(refused)?
            }
            Setting::Multicast(group, nodes) => switch.set_group(group, nodes),
            Setting::Lag(id, lag) => switch.set_lag(id, lag),
            Setting::Prune(exclusion, pruning) => switch.set_pruning(exclusion, pruning),
            Setting::GlobalRid(rid) => switch.set_global_rid(rid),
            Setting::Mirror(id, session) => switch.set_mirror(id, session),
            Setting::Generator(app) => switch.set_generator(now, *app),
            Setting::NoGenerator(pipe, id) => switch.remove_generator(pipe, id),
            Setting::PortMetadata(port, bits) => switch.set_port_metadata(port, bits),
        }
    }
    Ok(())
}

fn wrong(message: String) -> PyErr {
    PyValueError::new_err(message)
}

fn setting(item: Object<'_, '_>) -> PyResult<Setting> {
    Ok(match class_of(item)? {
        Some(Class::Multicast) => {
            let nodes = made!(item, nodes, |nodes| optional(nodes, |nodes| list(
                nodes,
                alternatives
            )));
            Setting::Multicast(field!(item, group), nodes)
        }
        Some(Class::Lag) => {
            let lag = Lag {
                ports: made!(item, ports, ports),
                ..Lag::default()
            };
            let id = made!(item, lag, |lag| below(lag, MOST_LAGS, "LAG"));
            Setting::Lag(id, lag)
        }
        Some(Class::Prune) => {
            let ports = made!(item, ports, ports);
            let exclusion = |id: Object<'_, '_>| below(id, MOST_EXCLUSIONS, "exclusion id");
            Setting::Prune(made!(item, exclusion, exclusion), Pruning { ports })
        }
        Some(Class::GlobalRid) => Setting::GlobalRid(field!(item, rid)),
        Some(Class::Mirror) => {
            let id = made!(item, session, |id| below(
                id,
                MOST_MIRRORS,
                "mirror session"
            ));
            let session = made!(item, to, |to| optional(to, mirror));
            if let Some(session) = &session {
                session.check(id).map_err(wrong)?;
            }
            Setting::Mirror(id, session)
        }
        Some(Class::Generator) => {
            let pipe = made!(item, pipe, |pipe| below(pipe, 4, "pipe")) as u8;
            let id = made!(item, app, |id| below(id, MOST_APPS, "application")) as u8;
            let app = made!(item, application, |own| optional(own, |own| app(
                pipe, id, own
            )));
            match app {
                Some(app) => Setting::Generator(Box::new(app)),
                None => Setting::NoGenerator(pipe, id),
            }
        }
        Some(Class::PortMetadata) => Setting::PortMetadata(field!(item, port), field!(item, bits)),
        Some(Class::Lpf) => {
            let config = made!(item, config, |own| optional(own, low_pass));
            Setting::Lpf(field!(item, name), field!(item, cell), config)
        }
        Some(Class::Wred) => {
            let config = made!(item, config, |own| optional(own, early_drop));
            Setting::Wred(field!(item, name), field!(item, cell), config)
        }
        _ => return Err(misplaced(item, "a setting")),
    })
}

/// What is made of an object, unless it is None.
fn optional<T>(
    given: Object<'_, '_>,
    make: impl FnOnce(Object<'_, '_>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    match given.is_none() {
        true => Ok(None),
        false => make(given).map(Some),
    }
}

fn list<T>(
    given: Object<'_, '_>,
    each: impl Fn(Object<'_, '_>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    given.try_iter()?.map(|item| each(&item?)).collect()
}

/// An object of just this class.
fn expect(given: Object<'_, '_>, class: Class, what: &str) -> PyResult<()> {
    match class_of(given)? == Some(class) {
        true => Ok(()),
        false => Err(misplaced(given, what)),
    }
}

fn below(value: Object<'_, '_>, end: u16, what: &str) -> PyResult<u16> {
    let number: u16 = value.extract()?;
    match number < end {
        true => Ok(number),
        false => Err(wrong(format!(
            "{what} {number} does not exist; there are 0 to {}",
            end - 1
        ))),
    }
}

fn ports(value: Object<'_, '_>) -> PyResult<Vec<u16>> {
    list(value, |port| below(port, PORTS, "port"))
}

/// A node, or a tuple of nodes of which one is picked.
fn alternatives(value: Object<'_, '_>) -> PyResult<Vec<Node>> {
    match class_of(value)? {
        Some(_) => Ok(vec![node(value)?]),
        None => list(value, node),
    }
}

fn node(own: Object<'_, '_>) -> PyResult<Node> {
    expect(own, Class::Node, "a node")?;
    Ok(Node {
        rid: field!(own, rid),
        ports: made!(own, ports, ports),
        xid: field!(own, xid),
        lags: field!(own, lags),
    })
}

fn mirror(own: Object<'_, '_>) -> PyResult<MirrorSession> {
    expect(own, Class::MirrorSession, "a mirror session")?;
    Ok(MirrorSession {
        enabled: field!(own, enabled),
        direction: made!(own, direction, direction),
        port: made!(own, port, |port| optional(port, |port| below(
            port, PORTS, "port"
        ))),
        queue: made!(own, queue, |queue| below(queue, 32, "queue")) as u8,
        groups: made!(own, groups, groups),
        hashes: field!(own, hashes),
        exclusions: field!(own, exclusions),
        rid: field!(own, rid),
        copy_to_cpu: field!(own, copy_to_cpu),
        max_length: field!(own, max_length),
        coalescing: made!(own, coalescing, |own| optional(own, coalescing)),
    })
}

fn groups(given: Object<'_, '_>) -> PyResult<[Option<u16>; 2]> {
    let groups: Vec<u16> = given.extract()?;
    match groups.len() {
        0..=2 => Ok([groups.first().copied(), groups.get(1).copied()]),
        _ => Err(wrong("a mirror session has at most two groups".to_string())),
    }
}

/// A header that is longer than any is left to [`MirrorSession::check`].
fn coalescing(own: Object<'_, '_>) -> PyResult<Coalescing> {
    expect(own, Class::Coalescing, "coalescing")?;
    let bytes: Vec<u8> = field!(own, header);
    let mut made = Coalescing {
        header_length: u8::try_from(bytes.len()).unwrap_or(u8::MAX),
        timeout: field!(own, timeout),
        extracted: field!(own, extracted),
        ..Coalescing::default()
    };
    for (to, from) in made.header.iter_mut().zip(bytes) {
        *to = from;
    }
    Ok(made)
}

fn direction(name: Object<'_, '_>) -> PyResult<Direction> {
    match name.extract()? {
        "ingress" => Ok(Direction::Ingress),
        "egress" => Ok(Direction::Egress),
        "both" => Ok(Direction::Both),
        other => Err(wrong(format!(
            "a direction is \"ingress\", \"egress\" or \"both\", not {other:?}"
        ))),
    }
}

fn app(pipe: u8, id: u8, own: Object<'_, '_>) -> PyResult<App> {
    expect(own, Class::Application, "an application")?;
    Ok(App {
        pipe,
        id,
        trigger: made!(own, trigger, trigger),
        packet: made!(own, packet, packet),
        source: made!(own, source, |port| below(port, 72, "port of a pipe")),
        next_source: field!(own, next_source),
        batches: field!(own, batches),
        packets_per_batch: field!(own, packets_per_batch),
        batch_gap: field!(own, batch_gap),
        packet_gap: field!(own, packet_gap),
        batch_jitter: field!(own, batch_jitter),
        packet_jitter: field!(own, packet_jitter),
    })
}

fn packet(given: Object<'_, '_>) -> PyResult<Vec<u8>> {
    let packet: Vec<u8> = given.extract()?;
    match packet.len() <= MOST_PACKET {
        true => Ok(packet),
        false => Err(wrong(format!(
            "the packet of an application has at most {MOST_PACKET} bytes"
        ))),
    }
}

fn trigger(own: Object<'_, '_>) -> PyResult<Trigger> {
    Ok(match class_of(own)? {
        Some(Class::Once) => Trigger::Once(field!(own, after)),
        Some(Class::Periodic) => match field!(own, period) {
            0 => return Err(wrong("a period is at least 1 nanosecond".to_string())),
            nanos => Trigger::Periodic(nanos),
        },
        Some(Class::PortDown) => Trigger::PortDown,
        Some(Class::Recirculation) => Trigger::Recirculation {
            pattern: field!(own, pattern),
            mask: field!(own, mask),
        },
        _ => return Err(misplaced(own, "a trigger")),
    })
}

fn low_pass(own: Object<'_, '_>) -> PyResult<LpfConfig> {
    expect(own, Class::LowPass, "a filter's configuration")?;
    Ok(LpfConfig {
        mode: made!(own, mode, mode),
        rise: field!(own, rise),
        fall: field!(own, fall),
        scale_down: field!(own, scale_down),
    })
}

fn mode(given: Object<'_, '_>) -> PyResult<Mode> {
    match given.extract()? {
        "rate" => Ok(Mode::Rate),
        "sample" => Ok(Mode::Sample),
        other => Err(wrong(format!(
            "a filter takes a \"rate\" or a \"sample\", not {other:?}"
        ))),
    }
}

fn early_drop(own: Object<'_, '_>) -> PyResult<WredConfig> {
    expect(own, Class::EarlyDrop, "a configuration of early drops")?;
    let probability: f64 = field!(own, probability);
    Ok(WredConfig {
        time_constant: field!(own, time_constant),
        least: field!(own, least),
        most: field!(own, most),
        probability: (probability.clamp(0.0, 1.0) * 65536.0) as u32,
    })
}

/// What an application of the packet generator has counted: `triggers`, `batches`, `packets`.
pub fn generator_counts<'py>(
    py: Python<'py>,
    switch: &Switch,
    pipe: u8,
    id: u8,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(counts) = switch.generator_counts(pipe, id) else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    dict.set_item("triggers", counts.triggers)?;
    dict.set_item("batches", counts.batches)?;
    dict.set_item("packets", counts.packets)?;
    Ok(Some(dict))
}

/// Digests as (name, fields in order): those of TNA have the name of their instance, those of
/// v1model of the type of their data. A field is (name, value).
pub fn digest_list<'py>(
    py: Python<'py>,
    program: &Program,
    digests: Vec<Digest>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for digest in digests {
        let Some(call) = program.calls.get(digest.call as usize) else {
            continue;
        };
        let instance = call.instance.and_then(|id| {
            let instance = program.instances.get(id as usize)?;
            Some((&instance.name, instance.types.first()?))
        });
        let Some((name, shape)) = instance.or(call.types.first().map(|t| (&t.name, t))) else {
            continue;
        };
        let fields = PyList::empty(py);
        // The data of a digest of headers is a list of their fields.
        let fields_alone = digest.fields.len() < shape.leaves.len();
        let named = shape.leaves.iter().filter(|(name, ..)| {
            let is_valid = name.rsplit('.').next() == Some("$valid");
            !(fields_alone && is_valid)
        });
        for ((field, ..), words) in named.zip(&digest.fields) {
            let digits: Vec<u32> = words
                .iter()
                .flat_map(|word| [*word as u32, (*word >> 32) as u32])
                .collect();
            fields.append((&**field, num_bigint::BigUint::new(digits)))?;
        }
        list.append((&**name, fields))?;
    }
    Ok(list)
}

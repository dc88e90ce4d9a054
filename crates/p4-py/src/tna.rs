//! What the control plane sets of a TNA switch besides tables, from plain Python tuples, and what it
//! reads:
//!
//! ```text
//! ("multicast", group, [node | [node, ...]] | None)    of a list level1_mcast_hash picks one
//! ("lag", id, [port])
//! ("prune", exclusion id, [port])
//! ("global_rid", rid | None)
//! ("mirror", session, {field: value} | None)
//! ("generator", pipe, app, {field: value} | None)
//! ("port_metadata", port, bits)
//! ("lpf", name, cell | None, (mode, rise, fall, scale down) | None)
//! ("wred", name, cell | None, (time constant, least, most, probability) | None)
//! ```
//!
//! A node is `(rid, [port])`, `(rid, [port], xid | None)` or `(rid, [port], xid | None, [lag])`.

use p4_arch::tna::{
    App, Coalescing, Direction, Lag, LpfConfig, MirrorSession, Mode, Node, Pruning, Switch,
    Trigger, WredConfig,
};
use p4_arch::Digest;
use p4_ir::ir::Program;
use p4_time::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySequence, PyTuple};

const MOST_MIRRORS: u16 = 1024;
const MOST_LAGS: u16 = 256;
const MOST_EXCLUSIONS: u16 = 512;
const MOST_APPS: u8 = 8;
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

/// Reads settings; errors name the index of the setting.
pub fn settings(given: &Bound<'_, PySequence>) -> PyResult<Vec<Setting>> {
    let convert = |(index, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        setting(&item?.cast_into::<PyTuple>()?).map_err(|error| {
            wrong(format!(
                "setting {}: {}",
                index + 1,
                error.value(given.py())
            ))
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

fn setting(tuple: &Bound<'_, PyTuple>) -> PyResult<Setting> {
    let kind: String = tuple.get_item(0)?.extract()?;
    let at = |index: usize| tuple.get_item(index);
    Ok(match kind.as_str() {
        "multicast" => {
            let nodes: Option<Vec<Bound<'_, PyAny>>> = at(2)?.extract()?;
            let nodes = nodes.map(|nodes| nodes.iter().map(alternatives).collect());
            Setting::Multicast(at(1)?.extract()?, nodes.transpose()?)
        }
        "lag" => {
            let ports = ports(&at(2)?)?;
            let lag = Lag {
                ports,
                ..Lag::default()
            };
            Setting::Lag(below(&at(1)?, MOST_LAGS, "LAG")?, lag)
        }
        "prune" => {
            let id = below(&at(1)?, MOST_EXCLUSIONS, "exclusion id")?;
            let ports = ports(&at(2)?)?;
            Setting::Prune(id, Pruning { ports })
        }
        "global_rid" => Setting::GlobalRid(at(1)?.extract()?),
        "mirror" => {
            let fields: Option<Bound<'_, PyDict>> = at(2)?.extract()?;
            let session = fields.map(|fields| mirror(&fields)).transpose()?;
            let id = below(&at(1)?, MOST_MIRRORS, "mirror session")?;
            if let Some(session) = &session {
                session.check(id).map_err(wrong)?;
            }
            Setting::Mirror(id, session)
        }
        "generator" => {
            let pipe = below(&at(1)?, 4, "pipe")? as u8;
            let id = below(&at(2)?, MOST_APPS.into(), "application")? as u8;
            match at(3)?.extract::<Option<Bound<'_, PyDict>>>()? {
                Some(fields) => Setting::Generator(Box::new(app(pipe, id, &fields)?)),
                None => Setting::NoGenerator(pipe, id),
            }
        }
        "lpf" => {
            let config: Option<(String, u64, u64, u8)> = at(3)?.extract()?;
            let config = config.map(|(mode, rise, fall, scale_down)| {
                let mode = match mode.as_str() {
                    "rate" => Mode::Rate,
                    "sample" => Mode::Sample,
                    _ => {
                        return Err(wrong(format!(
                            "a filter takes a \"rate\" or a \"sample\", not {mode:?}"
                        )))
                    }
                };
                Ok(LpfConfig {
                    mode,
                    rise,
                    fall,
                    scale_down,
                })
            });
            Setting::Lpf(at(1)?.extract()?, at(2)?.extract()?, config.transpose()?)
        }
        "wred" => {
            let config: Option<(u64, u32, u32, f64)> = at(3)?.extract()?;
            let config = config.map(|(time_constant, least, most, probability)| WredConfig {
                time_constant,
                least,
                most,
                probability: (probability.clamp(0.0, 1.0) * 65536.0) as u32,
            });
            Setting::Wred(at(1)?.extract()?, at(2)?.extract()?, config)
        }
        "port_metadata" => Setting::PortMetadata(at(1)?.extract()?, at(2)?.extract()?),
        _ => return Err(wrong(format!("there is no setting called {kind:?}"))),
    })
}

fn below(value: &Bound<'_, PyAny>, end: u16, what: &str) -> PyResult<u16> {
    let number: u16 = value.extract()?;
    match number < end {
        true => Ok(number),
        false => Err(wrong(format!(
            "{what} {number} does not exist; there are 0 to {}",
            end - 1
        ))),
    }
}

fn ports(value: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
    let each = |port: PyResult<Bound<'_, PyAny>>| below(&port?, PORTS, "port");
    value.try_iter()?.map(each).collect()
}

/// A node, or a list of nodes of which one is picked.
fn alternatives(value: &Bound<'_, PyAny>) -> PyResult<Vec<Node>> {
    match value.cast::<PyList>() {
        Ok(list) => list.iter().map(|one| node(&one)).collect(),
        Err(_) => Ok(vec![node(value)?]),
    }
}

fn node(value: &Bound<'_, PyAny>) -> PyResult<Node> {
    let tuple = value.cast::<PyTuple>()?;
    let optional = |index: usize| (index < tuple.len()).then(|| tuple.get_item(index));
    let xid = optional(2).transpose()?;
    let lags = optional(3).transpose()?;
    Ok(Node {
        rid: tuple.get_item(0)?.extract()?,
        ports: ports(&tuple.get_item(1)?)?,
        xid: xid.map_or(Ok(None), |xid| xid.extract())?,
        lags: lags.map_or(Ok(Vec::new()), |lags| lags.extract())?,
    })
}

fn mirror(fields: &Bound<'_, PyDict>) -> PyResult<MirrorSession> {
    let mut session = MirrorSession::default();
    for (name, value) in fields {
        match name.extract::<String>()?.as_str() {
            "enabled" => session.enabled = value.extract()?,
            "direction" => session.direction = direction(&value.extract::<String>()?)?,
            "port" => {
                let port: Option<Bound<'_, PyAny>> = value.extract()?;
                session.port = port.map(|port| below(&port, PORTS, "port")).transpose()?;
            }
            "queue" => session.queue = below(&value, 32, "queue")? as u8,
            "groups" => {
                let groups: Vec<u16> = value.extract()?;
                if groups.len() > 2 {
                    return Err(wrong("a mirror session has at most two groups".to_string()));
                }
                session.groups = [groups.first().copied(), groups.get(1).copied()];
            }
            "hashes" => session.hashes = value.extract()?,
            "exclusions" => session.exclusions = value.extract()?,
            "rid" => session.rid = value.extract()?,
            "copy_to_cpu" => session.copy_to_cpu = value.extract()?,
            "max_length" => session.max_length = value.extract()?,
            "coalescing" => {
                let fields: Option<Bound<'_, PyDict>> = value.extract()?;
                session.coalescing = fields.map(|fields| coalescing(&fields)).transpose()?;
            }
            other => return Err(wrong(format!("a mirror session has no field {other:?}"))),
        }
    }
    Ok(session)
}

/// A header that is longer than any is left to [`MirrorSession::check`].
fn coalescing(fields: &Bound<'_, PyDict>) -> PyResult<Coalescing> {
    let mut own = Coalescing::default();
    for (name, value) in fields {
        match name.extract::<String>()?.as_str() {
            "header" => {
                let bytes = value.cast::<PyBytes>()?.as_bytes();
                own.header_length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
                for (to, from) in own.header.iter_mut().zip(bytes) {
                    *to = *from;
                }
            }
            "timeout" => own.timeout = value.extract()?,
            "extracted" => own.extracted = value.extract()?,
            other => return Err(wrong(format!("coalescing has no field {other:?}"))),
        }
    }
    Ok(own)
}

fn direction(name: &str) -> PyResult<Direction> {
    match name {
        "ingress" => Ok(Direction::Ingress),
        "egress" => Ok(Direction::Egress),
        "both" => Ok(Direction::Both),
        _ => Err(wrong(format!(
            "a direction is \"ingress\", \"egress\" or \"both\", not {name:?}"
        ))),
    }
}

fn app(pipe: u8, id: u8, fields: &Bound<'_, PyDict>) -> PyResult<App> {
    let mut app = App {
        pipe,
        id,
        trigger: Trigger::PortDown,
        packet: Vec::new(),
        source: 68,
        next_source: false,
        batches: 1,
        packets_per_batch: 1,
        batch_gap: 0,
        packet_gap: 0,
        batch_jitter: 0,
        packet_jitter: 0,
    };
    let mut triggered = false;
    for (name, value) in fields {
        match name.extract::<String>()?.as_str() {
            "trigger" => {
                app.trigger = trigger(&value.cast_into::<PyTuple>()?)?;
                triggered = true;
            }
            "packet" => app.packet = value.cast::<PyBytes>()?.as_bytes().to_vec(),
            "source" => app.source = below(&value, 72, "port of a pipe")?,
            "next_source" => app.next_source = value.extract()?,
            "batches" => app.batches = value.extract()?,
            "packets_per_batch" => app.packets_per_batch = value.extract()?,
            "batch_gap" => app.batch_gap = value.extract()?,
            "packet_gap" => app.packet_gap = value.extract()?,
            "batch_jitter" => app.batch_jitter = value.extract()?,
            "packet_jitter" => app.packet_jitter = value.extract()?,
            other => return Err(wrong(format!("an application has no field {other:?}"))),
        }
    }
    if !triggered {
        return Err(wrong("an application needs a trigger".to_string()));
    }
    if app.packet.len() > MOST_PACKET {
        return Err(wrong(format!(
            "the packet of an application has at most {MOST_PACKET} bytes"
        )));
    }
    Ok(app)
}

fn trigger(tuple: &Bound<'_, PyTuple>) -> PyResult<Trigger> {
    let kind: String = tuple.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "once" => Trigger::Once(tuple.get_item(1)?.extract()?),
        "periodic" => match tuple.get_item(1)?.extract()? {
            0 => return Err(wrong("a period is at least 1 nanosecond".to_string())),
            nanos => Trigger::Periodic(nanos),
        },
        "port_down" => Trigger::PortDown,
        "recirculation" => Trigger::Recirculation {
            pattern: tuple.get_item(1)?.extract()?,
            mask: tuple.get_item(2)?.extract()?,
        },
        _ => return Err(wrong(format!("there is no trigger called {kind:?}"))),
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

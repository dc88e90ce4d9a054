//! What `Network` takes from Python and gives to it: nodes, ports, links, counts, reports, events.

use p4_arch::tna::{Arbitration, LoopConfig, LoopStats};
use p4_net::{
    Count, End, Event, Exhausted, FlowReport, LinkConfig, Mac, NetError, NodeId, WireStats,
};
use p4_time::Time;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

pub fn node(index: u32) -> NodeId {
    NodeId::from_index(index)
}

pub fn end((index, port): (u32, u16)) -> End {
    End {
        node: node(index),
        port,
    }
}

pub fn mac_address(mac: u64) -> PyResult<Mac> {
    match mac.to_be_bytes() {
        [0, 0, mac @ ..] => Ok(mac),
        _ => Err(PyValueError::new_err(format!(
            "{mac:#x} has more than the 48 bits of a MAC address"
        ))),
    }
}

/// Units as in `_engine.pyi`; `None` for the default.
pub fn link_config(
    rate: Option<u64>,
    delay: u64,
    jitter: u64,
    loss: f64,
    queue: Option<u64>,
    overhead: Option<u32>,
) -> LinkConfig {
    let default = LinkConfig::default();
    LinkConfig {
        rate,
        delay: Time::from_picos(delay),
        jitter: Time::from_picos(jitter),
        loss,
        queue: queue.unwrap_or(default.queue),
        overhead: overhead.unwrap_or(default.overhead),
    }
}

pub fn refused(error: NetError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// `frames`, `bytes`, `probes`
pub fn count_dict<'py>(py: Python<'py>, count: &Count) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("frames", count.frames)?;
    dict.set_item("bytes", count.bytes)?;
    dict.set_item("probes", count.probes)?;
    Ok(dict)
}

pub fn wire_dict<'py>(py: Python<'py>, wire: &WireStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("offered", count_dict(py, &wire.offered)?)?;
    dict.set_item("sent", count_dict(py, &wire.sent)?)?;
    dict.set_item("delivered", count_dict(py, &wire.delivered)?)?;
    let drops = PyDict::new(py);
    drops.set_item("queue_full", wire.drops.queue_full)?;
    drops.set_item("link_down", wire.drops.link_down)?;
    drops.set_item("cut", wire.drops.cut)?;
    drops.set_item("loss", wire.drops.loss)?;
    dict.set_item("drops", drops)?;
    dict.set_item("queued", wire.queued)?;
    dict.set_item("in_flight", wire.in_flight)?;
    dict.set_item("peak_queue", wire.peak_queue)?;
    Ok(dict)
}

pub fn flow_dict<'py>(py: Python<'py>, report: &FlowReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("flow", report.flow.flow)?;
    dict.set_item("sender", report.flow.sender)?;
    dict.set_item("sent", report.sent)?;
    dict.set_item("received", report.received)?;
    dict.set_item("duplicates", report.duplicates)?;
    dict.set_item("missing", report.missing)?;
    dict.set_item("out_of_order", report.out_of_order)?;
    dict.set_item("unwanted", report.unwanted)?;
    dict.set_item("unreadable", report.unreadable)?;
    let trouble = report.trouble.map(|why| why.to_string());
    dict.set_item("trouble", trouble.unwrap_or_default())?;
    dict.set_item("first", report.first.map(Time::picos))?;
    dict.set_item("last", report.last.map(Time::picos))?;
    Ok(dict)
}

/// `None` for the default.
pub fn loop_config(
    rate: Option<u64>,
    queue: Option<u64>,
    overhead: Option<u64>,
    latency: u64,
    arbitration: &str,
) -> PyResult<LoopConfig> {
    let default = LoopConfig::default();
    Ok(LoopConfig {
        rate,
        queue: queue.unwrap_or(default.queue),
        overhead: overhead.unwrap_or(default.overhead),
        latency,
        arbitration: Arbitration::named(arbitration).map_err(PyValueError::new_err)?,
    })
}

/// What a looped port has counted: packets, bytes, and `peak`.
pub fn loop_dict<'py>(py: Python<'py>, stats: &LoopStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("offered", stats.offered),
        ("offered_bytes", stats.offered_bytes),
        ("dropped", stats.dropped),
        ("dropped_bytes", stats.dropped_bytes),
        ("returned", stats.returned),
        ("returned_bytes", stats.returned_bytes),
        ("peak", stats.peak),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// What `run_until` gives, or raises.
pub fn event_tuple<'py>(py: Python<'py>, event: Event) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let (kind, node, time, data) = match event {
        Event::Reached => return Ok(None),
        Event::PacketIn {
            node, data, time, ..
        } => ("packet_in", node, time, data),
        Event::HostFrame { node, data, time } => ("host_frame", node, time, data),
        Event::Exhausted(bound) => {
            let what = match bound {
                Exhausted::Events => "events",
                Exhausted::Frames => "frames under way",
            };
            let message = format!("too many {what}: very likely frames run in a loop");
            return Err(PyRuntimeError::new_err(message));
        }
    };
    let data = PyBytes::new(py, &data);
    let tuple = (kind, node.index(), time.picos(), data).into_pyobject(py)?;
    Ok(Some(tuple))
}

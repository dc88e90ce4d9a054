//! Hosts with a TCP and their transfers: Python's words for them.

use p4_net::{Congestion, Mac, TcpConfig, Transferred};
use p4_time::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `address` is a 32-bit number.
pub fn config(address: u32, mtu: usize, rate: Option<u64>, gateway: Option<Mac>) -> TcpConfig {
    let address = address.to_be_bytes();
    TcpConfig {
        address,
        mtu,
        rate,
        gateway,
    }
}

pub fn congestion(name: &str) -> PyResult<Congestion> {
    match name {
        "none" => Ok(Congestion::Unlimited),
        "reno" => Ok(Congestion::Reno),
        "cubic" => Ok(Congestion::Cubic),
        _ => Err(PyValueError::new_err(format!(
            "congestion control is \"none\", \"reno\" or \"cubic\", not {name:?}"
        ))),
    }
}

/// See `Network.transferred`.
pub fn transferred_dict<'py>(
    py: Python<'py>,
    report: &Transferred,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("written", report.written),
        ("acknowledged", report.acknowledged),
        ("delivered", report.delivered),
        ("wrong", report.wrong),
        ("segments", report.segments),
        ("retransmitted", report.retransmitted),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("first", report.first.map(Time::picos))?;
    dict.set_item("last", report.last.map(Time::picos))?;
    for (name, [sent, received]) in [
        ("sender", report.sender_frames),
        ("receiver", report.receiver_frames),
    ] {
        dict.set_item(format!("{name}_sent"), sent)?;
        dict.set_item(format!("{name}_received"), received)?;
    }
    dict.set_item("done", report.done)?;
    Ok(dict)
}

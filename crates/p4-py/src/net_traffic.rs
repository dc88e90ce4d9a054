//! Traffic sources and measurements of a network: Python's words for them.

use p4_net::{
    FlowMeasures, Generated, Histogram, Layer, Measured, Pattern, PortConfig, QueueConfig,
    QueueStats, Shaper, Spread, Window, PERCENTILE_ERROR,
};
use p4_time::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Frames to send: one, or several with weights.
#[derive(FromPyObject)]
pub enum Template {
    One(Vec<u8>),
    Mix(Vec<(Vec<u8>, u32)>),
}

impl Template {
    pub fn frames(self) -> Vec<(Vec<u8>, u32)> {
        match self {
            Template::One(frame) => vec![(frame, 1)],
            Template::Mix(frames) => frames,
        }
    }
}

pub fn pattern(name: &str, on: Option<u64>, off: Option<u64>, phases: &str) -> PyResult<Pattern> {
    let spread = match phases {
        "exponential" => Spread::Exponential,
        "fixed" => Spread::Fixed,
        _ => {
            return Err(PyValueError::new_err(format!(
                "phases are \"exponential\" or \"fixed\", not {phases:?}"
            )))
        }
    };
    match (name, on, off) {
        ("constant", None, None) => Ok(Pattern::Constant),
        ("poisson", None, None) => Ok(Pattern::Poisson),
        ("on-off", Some(on), Some(off)) => Ok(Pattern::OnOff {
            on: Time::from_picos(on),
            off: Time::from_picos(off),
            spread,
        }),
        ("on-off", ..) => Err(PyValueError::new_err(
            "the pattern \"on-off\" needs `on` and `off`, the mean lengths of its phases",
        )),
        ("constant" | "poisson", ..) => Err(PyValueError::new_err(format!(
            "`on` and `off` belong to the pattern \"on-off\", not to {name:?}"
        ))),
        _ => Err(PyValueError::new_err(format!(
            "a pattern is \"constant\", \"poisson\" or \"on-off\", not {name:?}"
        ))),
    }
}

pub fn layer(number: u8) -> PyResult<Layer> {
    match number {
        1 => Ok(Layer::One),
        2 => Ok(Layer::Two),
        _ => Err(PyValueError::new_err(format!(
            "a rate counts layer 1 (with preamble and gap) or layer 2 (frames alone), not {number}"
        ))),
    }
}

/// Size in bytes, rate in bits per second and burst in bytes of a queue.
pub type Queue = (u64, Option<u64>, Option<u64>);

pub fn port_config(
    queues: &[Queue],
    rate: Option<u64>,
    burst: Option<u64>,
) -> PyResult<PortConfig> {
    let queues = queues.iter().map(|&(size, rate, burst)| {
        let shaper = shaper(rate, burst)?;
        Ok(QueueConfig { size, shaper })
    });
    Ok(PortConfig {
        queues: queues.collect::<PyResult<_>>()?,
        shaper: shaper(rate, burst)?,
    })
}

fn shaper(rate: Option<u64>, burst: Option<u64>) -> PyResult<Option<Shaper>> {
    match (rate, burst) {
        (None, None) => Ok(None),
        (Some(rate), Some(burst)) => Ok(Some(Shaper { rate, burst })),
        _ => Err(PyValueError::new_err(
            "a shaper needs a rate (bits per second) and a burst (bytes), or neither",
        )),
    }
}

pub fn queue_dict<'py>(py: Python<'py>, stats: &QueueStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("offered", stats.offered),
        ("offered_bytes", stats.offered_bytes),
        ("sent", stats.sent),
        ("sent_bytes", stats.sent_bytes),
        ("dropped", stats.dropped),
        ("dropped_bytes", stats.dropped_bytes),
        ("waiting", stats.waiting),
        ("waiting_bytes", stats.waiting_bytes),
        ("peak_bytes", stats.peak_bytes),
        ("wait_max", stats.wait_max.picos()),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("byte_time", stats.byte_time)?;
    dict.set_item("wait_sum", stats.wait_sum)?;
    Ok(dict)
}

pub fn generated_dict<'py>(py: Python<'py>, sent: &Generated) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("frames", sent.frames)?;
    dict.set_item("bytes", sent.bytes)?;
    dict.set_item("wire_bytes", sent.wire_bytes)?;
    dict.set_item("done", sent.done)?;
    Ok(dict)
}

/// Turns frames and bytes into bits per second on layers 1 and 2.
struct Rates {
    overhead: u64,
}

impl Rates {
    fn set(&self, dict: &Bound<'_, PyDict>, all: Window, duration: Time) -> PyResult<()> {
        dict.set_item("frames", all.frames)?;
        dict.set_item("bytes", all.bytes)?;
        dict.set_item("wire_bytes", self.wire_bytes(all))?;
        dict.set_item("rate_l1", rate(self.wire_bytes(all), duration))?;
        dict.set_item("rate_l2", rate(all.bytes, duration))
    }

    /// Of complete windows: what came in each.
    fn windows(
        &self,
        dict: &Bound<'_, PyDict>,
        windows: &[Window],
        complete: usize,
        duration: Time,
    ) -> PyResult<()> {
        let nothing = Window::default();
        let whole = || (0..complete).map(|i| windows.get(i).copied().unwrap_or(nothing));
        let frames: Vec<u64> = whole().map(|window| window.frames).collect();
        let l1: Vec<f64> = whole()
            .map(|w| rate(self.wire_bytes(w), duration))
            .collect();
        let l2: Vec<f64> = whole().map(|w| rate(w.bytes, duration)).collect();
        dict.set_item("window_frames", frames)?;
        dict.set_item("window_rates_l1", l1)?;
        dict.set_item("window_rates_l2", l2)
    }

    fn wire_bytes(&self, window: Window) -> u64 {
        window.bytes + window.frames * self.overhead
    }
}

/// Bits per second; 0 in no time.
fn rate(bytes: u64, duration: Time) -> f64 {
    match duration {
        Time::ZERO => 0.0,
        duration => bytes as f64 * 8.0 / duration.as_secs_f64(),
    }
}

/// See `Network.measured`.
pub fn measured_dict<'py>(
    py: Python<'py>,
    measured: &Measured,
    now: Time,
    percentiles: &[f64],
) -> PyResult<Bound<'py, PyDict>> {
    if let Some(wrong) = percentiles.iter().find(|p| !(0.0..=100.0).contains(*p)) {
        let message = format!("a percentile is a number from 0 to 100, not {wrong}");
        return Err(PyValueError::new_err(message));
    }
    let rates = Rates {
        overhead: measured.overhead.into(),
    };
    let duration = now - measured.since;
    let windows = duration.picos().checked_div(measured.window.picos());
    // No series is longer than what a sink keeps; beyond it there is nothing to show.
    let complete = windows.unwrap_or(0).min(p4_net::MOST_WINDOWS) as usize;
    let dict = PyDict::new(py);
    dict.set_item("since", measured.since.picos())?;
    dict.set_item("until", now.picos())?;
    dict.set_item("window", measured.window.picos())?;
    dict.set_item("overhead", measured.overhead)?;
    rates.set(&dict, measured.total.all, duration)?;
    rates.windows(&dict, &measured.total.windows, complete, measured.window)?;
    let flows: PyResult<Vec<_>> = measured
        .flows
        .iter()
        .map(|(flow, measures)| {
            let dict = PyDict::new(py);
            dict.set_item("flow", flow.flow)?;
            dict.set_item("sender", flow.sender)?;
            rates.set(&dict, measures.arrivals.all, duration)?;
            let windows = &measures.arrivals.windows;
            let complete = if windows.is_empty() { 0 } else { complete };
            rates.windows(&dict, windows, complete, measured.window)?;
            flow_measures(&dict, measures, percentiles)?;
            Ok(dict)
        })
        .collect();
    dict.set_item("flows", flows?)?;
    Ok(dict)
}

fn flow_measures(
    dict: &Bound<'_, PyDict>,
    measures: &FlowMeasures,
    percentiles: &[f64],
) -> PyResult<()> {
    dict.set_item("received", measures.received)?;
    dict.set_item("duplicates", measures.duplicates)?;
    dict.set_item("reordered", measures.reordered)?;
    dict.set_item("lost", measures.lost)?;
    dict.set_item("first", measures.first.picos())?;
    dict.set_item("last", measures.last.picos())?;
    dict.set_item("variation", measures.variation)?;
    dict.set_item("jitter", measures.jitter)?;
    dict.set_item(
        "latency",
        latency_dict(dict.py(), &measures.latency, percentiles)?,
    )
}

/// None if no time of sending is known.
fn latency_dict<'py>(
    py: Python<'py>,
    latency: &Histogram,
    percentiles: &[f64],
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some((least, most)) = latency.range() else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    dict.set_item("count", latency.count())?;
    dict.set_item("mean", latency.mean().map(Time::picos))?;
    dict.set_item("min", least.picos())?;
    dict.set_item("max", most.picos())?;
    dict.set_item("error", PERCENTILE_ERROR)?;
    let found = PyDict::new(py);
    for percent in percentiles {
        found.set_item(percent, latency.percentile(*percent).map(Time::picos))?;
    }
    dict.set_item("percentiles", found)?;
    Ok(Some(dict))
}

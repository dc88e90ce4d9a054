//! The server-rack fabric (`p4-fabric`), for `src/p4lab/systems/fabric`.

use p4_fabric::{
    Class, Explored, Flow, Outcome, Parameters, Place, Policies, PortId, Reach, Setup, Spacing,
    Time, VoqDrop, Wait,
};
use p4_net::partition::Rounds;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::num::NonZeroUsize;

/// The file of all parameters, with the source of each.
#[pyfunction]
pub fn fabric_parameters() -> &'static str {
    p4_fabric::DEFAULTS
}

/// Leaves and spines in virtual time; times are picoseconds, ports leaf x 8 + place.
#[pyclass(module = "p4lab._engine")]
pub struct Fabric {
    fabric: p4_fabric::Fabric,
}

#[pymethods]
impl Fabric {
    /// `parameters` is TOML with what differs from `fabric_parameters`, over what a `scenario` sets.
    /// ValueError with the line of `parameters`, as "line 3: ...", for what is not possible.
    #[new]
    #[pyo3(signature = (leaves, *, parameters = "", scenario = "", seed = 1, warm = 0, interval = 50_000_000, watched = 0))]
    fn new(
        leaves: usize,
        parameters: &str,
        scenario: &str,
        seed: u64,
        warm: u64,
        interval: u64,
        watched: usize,
    ) -> PyResult<Fabric> {
        let setup = Setup {
            parameters: Parameters::over(scenario, parameters).map_err(refused)?,
            leaves,
            seed,
            warm: Time::from_picos(warm),
            interval: Time::from_picos(interval),
            watched,
        };
        let fabric = p4_fabric::Fabric::new(setup).map_err(refused)?;
        Ok(Fabric { fabric })
    }

    /// Adds a flow; its number. `tree` has the sender first, and for each port that makes copies where
    /// they go. ValueError for what is not a tree.
    #[pyo3(signature = (tree, bytes, mbps, *, lossless = false, poisson = false, start = 0, stop = u64::MAX))]
    #[allow(clippy::too_many_arguments)] // all are named, on Python's side
    fn add(
        &mut self,
        tree: Vec<(PortId, Vec<PortId>)>,
        bytes: u64,
        mbps: u64,
        lossless: bool,
        poisson: bool,
        start: u64,
        stop: u64,
    ) -> PyResult<u32> {
        let class = if lossless {
            Class::Lossless
        } else {
            Class::Lossy
        };
        let spacing = if poisson {
            Spacing::Poisson
        } else {
            Spacing::Even
        };
        let (start, stop) = (Time::from_picos(start), Time::from_picos(stop));
        let flow = Flow {
            class,
            bytes,
            mbps,
            spacing,
            start,
            stop,
            tree,
        };
        self.fabric.add(flow).map_err(refused)
    }

    /// Tables in the place of what the parameters say: `suspend` is 0 or 1 for each cell ahead, of a
    /// VOQ that is not suspended and then of one that is; `drop` has for a frame's buffer units what
    /// is dropped by those that wait, 0 nothing, 1 the new copy, 2 the oldest; `notify` has weights.
    /// ValueError for tables of another size.
    #[pyo3(signature = (*, suspend = None, drop = Vec::new(), notify = None))]
    fn decide_by(
        &mut self,
        suspend: Option<Vec<u8>>,
        drop: Vec<(u64, Vec<u8>)>,
        notify: Option<Vec<u16>>,
    ) -> PyResult<()> {
        let mut policies = Policies::default();
        if let Some(table) = suspend {
            let table = table.into_iter().map(|one| one != 0).collect();
            policies.suspend(table).map_err(refused)?;
        }
        for (units, table) in drop {
            let table = table.into_iter().map(|one| match one {
                0 => VoqDrop::Off,
                1 => VoqDrop::Tail,
                _ => VoqDrop::Head,
            });
            policies.drop(units, table.collect()).map_err(refused)?;
        }
        if let Some(weights) = notify {
            policies.notify(weights).map_err(refused)?;
        }
        self.fabric.decide_by(policies);
        Ok(())
    }

    /// Lets time pass until `end`, or for so many events and those of the same window: "reached",
    /// "paused" or "deadlock". What happens does not depend on `threads`.
    #[pyo3(signature = (end, events = u64::MAX, *, threads = NonZeroUsize::MIN))]
    fn run(
        &mut self,
        py: Python<'_>,
        end: u64,
        events: u64,
        threads: NonZeroUsize,
    ) -> &'static str {
        let (fabric, end) = (&mut self.fabric, Time::from_picos(end));
        let crew = |rounds: &dyn Rounds| p4_parallel::carry_out(rounds, threads);
        match py.detach(|| fabric.run_by(end, events, crew)) {
            Outcome::Reached => "reached",
            Outcome::Paused => "paused",
            Outcome::Deadlock => "deadlock",
        }
    }

    /// RuntimeError if packets, cells or credits do not add up.
    fn audit(&self) -> PyResult<()> {
        self.fabric.audit().map_err(|found| {
            let text = format!("{}: {}, not {}", found.what, found.counted, found.expected);
            PyRuntimeError::new_err(text)
        })
    }

    #[getter]
    fn now(&self) -> u64 {
        self.fabric.now().picos()
    }

    #[getter]
    fn fingerprint(&self) -> u64 {
        self.fabric.fingerprint()
    }

    /// What each receiver got of each flow: a dict of numbers, `series` in bytes an interval.
    fn sinks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let (measures, now) = (self.fabric.measures(), self.fabric.now());
        for (number, sink) in measures.sinks.iter().enumerate() {
            let dict = PyDict::new(py);
            dict.set_item("flow", sink.flow)?;
            dict.set_item("port", sink.port)?;
            dict.set_item("level", sink.level)?;
            dict.set_item("frames", sink.frames)?;
            dict.set_item("gbps", measures.gbps(number, now))?;
            dict.set_item(
                "delay",
                sink.delays
                    .checked_div(sink.frames.into())
                    .map(|ps| ps as u64),
            )?;
            dict.set_item("missing", sink.missing)?;
            dict.set_item("disordered", sink.disordered)?;
            dict.set_item("series", &sink.series)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// Counters of the whole run, by name.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.fabric.totals().named() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Frames, mean and 99th percentile of the delay in ps, by the surrogates that were passed.
    fn delays(&self) -> Vec<(u64, Option<u64>, Option<u64>)> {
        let histograms = self.fabric.measures().delays;
        let picos = |time: Option<Time>| time.map(Time::picos);
        histograms
            .iter()
            .map(|one| (one.count(), picos(one.mean()), picos(one.percentile(99.0))))
            .collect()
    }

    /// Lines in use of the watched leaf's cache, one number an interval.
    fn cache(&self) -> Vec<u32> {
        self.fabric.measures().cache
    }

    /// Ports that hold something, as leaf and place.
    fn stuck(&self) -> Vec<(usize, usize)> {
        self.fabric.stuck()
    }

    /// A leaf at this moment: dicts of its VOQs and ports, the cells in its cache (flow, port, number,
    /// cell, copies to come), cells that have passed a spine and not yet its crossbar, and lines that
    /// its cache has evicted. ValueError if there is no such leaf.
    fn snapshot<'py>(&self, py: Python<'py>, leaf: usize) -> PyResult<Bound<'py, PyDict>> {
        let Some(state) = self.fabric.snapshot(leaf) else {
            return Err(PyValueError::new_err(format!("there is no leaf {leaf}")));
        };
        let (voqs, ports, dict) = (PyList::empty(py), PyList::empty(py), PyDict::new(py));
        for voq in &state.voqs {
            let one = PyDict::new(py);
            one.set_item("number", voq.number)?;
            one.set_item("from", voq.from)?;
            one.set_item("to", voq.to)?;
            one.set_item("lane", voq.lane)?;
            one.set_item("queued", voq.queued)?;
            one.set_item("backlog", voq.backlog)?;
            one.set_item("asked", voq.asked)?;
            one.set_item("granted", voq.granted)?;
            one.set_item("first", voq.first)?;
            one.set_item("sent", voq.sent)?;
            one.set_item("cached", voq.cached)?;
            one.set_item("direct", voq.direct)?;
            one.set_item("suspended", voq.suspended)?;
            one.set_item("ahead", voq.ahead)?;
            voqs.append(one)?;
        }
        for port in &state.ports {
            let one = PyDict::new(py);
            one.set_item("payload", port.payload)?;
            one.set_item("headers", port.headers)?;
            one.set_item("egress_free", port.egress_free)?;
            one.set_item("stopping", port.stopping)?;
            one.set_item("busy", port.busy)?;
            one.set_item("cam", &port.cam)?;
            ports.append(one)?;
        }
        dict.set_item("voqs", voqs)?;
        dict.set_item("ports", ports)?;
        dict.set_item("cache", state.cache)?;
        dict.set_item("waiting", state.waiting)?;
        dict.set_item("evicted", state.evicted)?;
        Ok(dict)
    }

    /// What each leaf has carried: cells within it, into links and out of links, bytes to servers and
    /// back into surrogates. And the cells that have crossed each spine.
    #[allow(clippy::type_complexity)] // a table, to Python
    fn loads(&self) -> (Vec<(u64, u64, u64, u64, u64)>, Vec<u64>) {
        let (leaves, spines) = self.fabric.loads();
        let row =
            |one: &p4_fabric::LeafLoad| (one.local, one.up, one.down, one.delivered, one.looped);
        (leaves.iter().map(row).collect(), spines)
    }

    /// The server of a flow sends a frame now; False if it cannot.
    fn offer(&mut self, flow: u32) -> PyResult<bool> {
        if flow as usize >= self.fabric.flows().count() {
            return Err(PyValueError::new_err(format!("there is no flow {flow}")));
        }
        Ok(self.fabric.offer(flow))
    }

    /// Who waits for whom: (who, whom, flow, number of the frame); each place is ("voq", from, to,
    /// lane), or ("egress" or "pool", port, port, lane).
    fn waits(&self) -> Vec<Waiting> {
        let waits = self.fabric.waits();
        waits.iter().map(|one| self.waiting(one)).collect()
    }

    /// A shortest circle of those that wait, in order; empty if there is none.
    fn circle(&self) -> Vec<Waiting> {
        let found = p4_fabric::circle(&self.fabric.waits()).unwrap_or_default();
        found.iter().map(|one| self.waiting(one)).collect()
    }

    /// Tries all ways in which up to so many frames can come, from here until the fabric is empty; with
    /// `runs`, so many random ones. ValueError for a fabric that sends by itself or draws.
    #[pyo3(signature = (frames, step, states, *, runs = 0, seed = 1))]
    fn explore<'py>(
        &self,
        py: Python<'py>,
        frames: u32,
        step: u64,
        states: u64,
        runs: u64,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let step = Time::from_picos(step);
        let reach = Reach {
            frames,
            step,
            states,
        };
        let fabric = &self.fabric;
        let mut signal = None; // Ctrl-C
        let mut stops = || {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_some()
        };
        let found = py.detach(|| match runs {
            0 => fabric.explore(reach, &mut stops),
            _ => fabric.wander(reach, runs, seed, &mut stops),
        });
        if let Some(error) = signal {
            return Err(error);
        }
        let Explored {
            states,
            ends,
            complete,
            stuck,
            evicted,
            thrashing,
            timeouts,
        } = found.map_err(refused)?;
        let dict = PyDict::new(py);
        dict.set_item("states", states)?;
        dict.set_item("ends", ends)?;
        dict.set_item("complete", complete)?;
        dict.set_item("stuck", stuck)?;
        dict.set_item("evicted", evicted)?;
        dict.set_item("thrashing", thrashing)?;
        dict.set_item("timeouts", timeouts)?;
        Ok(dict)
    }
}

/// What a place is, its two ports, and its lane
type Named = (&'static str, PortId, PortId, u8);
type Waiting = (Named, Named, u32, u64);

impl Fabric {
    fn waiting(&self, one: &Wait) -> Waiting {
        (
            self.named(one.who),
            self.named(one.whom),
            one.flow,
            one.number,
        )
    }

    fn named(&self, place: Place) -> Named {
        match place {
            Place::Voq(number) => {
                let (from, to, lane) = self.fabric.voq_of(number).unwrap_or_default();
                ("voq", from, to, lane)
            }
            Place::Egress(port, lane) => ("egress", port, port, lane),
            Place::Pool(port, lane) => ("pool", port, port, lane),
        }
    }
}

fn refused(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

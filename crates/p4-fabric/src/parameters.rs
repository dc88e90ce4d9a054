//! What a fabric is made of: every number of `parameters.toml`, and what may not be.

use crate::settings::{read, Fault, Setting, Value};

/// The file with all values and where each is from
pub const DEFAULTS: &str = include_str!("../parameters.toml");

/// Defines the parameters: the field, its type, and the name in the file.
macro_rules! parameters {
    ($($section:ident { $($field:ident: $kind:ty = $key:literal),* $(,)? })*) => {
        /// All parameters; docs and sources are in `parameters.toml`. Times are picoseconds.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Parameters { $($(pub $field: $kind,)*)* }

        impl Parameters {
            /// Takes one setting in; false if there is none of that name.
            pub(crate) fn take(&mut self, setting: &Setting) -> Result<bool, Fault> {
                match setting.key.as_str() {
                    $($(concat!(stringify!($section), ".", $key) => {
                        self.$field = <$kind>::read(setting)?;
                    })*)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn blank() -> Parameters {
                Parameters { $($($field: Default::default(),)*)* }
            }
        }
    };
}

parameters! {
    line { line_gbps: u64 = "gbps", overhead: u64 = "overhead", frame_most: u64 = "frame_most" }
    cell { cell: u64 = "bytes", slot: u64 = "slot_ps", headers_a_slot: u64 = "headers" }
    latency {
        request_local: u64 = "request_local_ps", request_remote: u64 = "request_remote_ps",
        cell_remote: u64 = "cell_remote_ps",
    }
    link {
        link_gbps: u64 = "gbps", links: u64 = "count", cable: u64 = "cable_ps",
        ahead: u64 = "ahead", spray: Spray = "spray", hop_credits: u64 = "credits",
    }
    spine { speedup: u64 = "speedup", spine_output: u64 = "output" }
    cache { cache_lines: u64 = "lines", cache_spare: u64 = "spare" }
    sync {
        sync: bool = "on", sync_entries: u64 = "entries", block: u64 = "block",
        resume: u64 = "resume", sync_timeout: u64 = "timeout_ps",
    }
    voq {
        window: u64 = "window", voq_drop: VoqDrop = "drop", voq_most: u64 = "most",
        voq_order: VoqOrder = "order",
    }
    lossy { lossy_payload: u64 = "payload" }
    headers {
        header_order: HeaderOrder = "order", headers_high: u64 = "high",
        headers_low: u64 = "low", header_probability: f64 = "probability",
    }
    lossless {
        lossless_payload: u64 = "payload", stop: u64 = "stop", go: u64 = "go",
        server_cable: u64 = "cable_ps",
    }
    lanes { increment: bool = "increment" }
    egress { egress_buffer: u64 = "buffer", quantum: u64 = "quantum" }
    errors { frame_loss: f64 = "frame_loss", retransmit: u64 = "timeout_ps" }
    qcn {
        qcn: CongestionPoints = "points", marking: Marking = "marking",
        equilibrium_in: u64 = "equilibrium_in", equilibrium_out: u64 = "equilibrium_out",
        qcn_weight: u64 = "weight", qcn_sample: u64 = "sample", cnm: u64 = "cnm_ps",
        byte_reset: u64 = "byte_reset", time_reset: u64 = "time_reset_ps",
        stages: u64 = "threshold", active_mbps: u64 = "active_mbps",
        hyper_mbps: u64 = "hyper_mbps", least_mbps: u64 = "least_mbps",
    }
    watchdog { quiet: u64 = "quiet_ps" }
}

/// A type that a setting can have.
trait Kind: Sized {
    fn read(setting: &Setting) -> Result<Self, Fault>;
}

fn wrong<T>(setting: &Setting, wanted: &str) -> Result<T, Fault> {
    let message = format!("{} is {wanted}", setting.key);
    Err(Fault {
        line: setting.line,
        message,
    })
}

impl Kind for u64 {
    fn read(setting: &Setting) -> Result<u64, Fault> {
        match setting.value {
            Value::Number(n) if n >= 0.0 && n.fract() == 0.0 && n < 9e15 => Ok(n as u64),
            _ => wrong(setting, "a whole number, not below 0"),
        }
    }
}

impl Kind for f64 {
    fn read(setting: &Setting) -> Result<f64, Fault> {
        match setting.value {
            Value::Number(n) if (0.0..=1.0).contains(&n) => Ok(n),
            _ => wrong(setting, "a probability from 0 to 1"),
        }
    }
}

impl Kind for bool {
    fn read(setting: &Setting) -> Result<bool, Fault> {
        match setting.value {
            Value::Truth(truth) => Ok(truth),
            _ => wrong(setting, "true or false"),
        }
    }
}

/// Defines a choice of words; the first is the default of the type.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$own:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$own])* $variant),* }

        impl Kind for $name {
            fn read(setting: &Setting) -> Result<$name, Fault> {
                match &setting.value {
                    $(Value::Word(word) if word == $word => Ok($name::$variant),)*
                    _ => wrong(setting, concat!("one of", $(" \"", $word, "\""),*)),
                }
            }
        }
    };
}

choice! {
    /// How a leaf chooses the link of a cell
    Spray { #[default] RoundRobin = "round-robin", Random = "random" }
}
choice! {
    /// What a VOQ of a lossy class does whose backlog has reached its threshold
    VoqDrop { #[default] Off = "off", Tail = "tail", Head = "head" }
}
choice! {
    /// In which order a VOQ sends
    VoqOrder {
        /// That of arrival
        #[default] Arrival = "arrival",
        /// The latest of those that no request was made for. A wrong variant: it can deadlock
        Newest = "newest",
    }
}
choice! {
    /// In which order the copies of a frame ask for a header
    HeaderOrder { #[default] Fixed = "fixed", Random = "random" }
}
choice! {
    /// Where queues are measured for QCN
    CongestionPoints { #[default] Off = "off", Inputs = "inputs", Outputs = "outputs" }
}
choice! {
    /// Which flow is notified when an input's queue is too long
    Marking {
        /// That of the frame that has just come
        #[default] Standard = "standard",
        /// That of a random occupied buffer unit
        Random = "random",
        /// That with the most buffer units
        Largest = "largest",
    }
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters::read("").unwrap_or_else(|_| Parameters::blank())
    }
}

impl Parameters {
    /// The defaults with what `text` sets otherwise. The first fault, with its line in `text`.
    pub fn read(text: &str) -> Result<Parameters, Fault> {
        Parameters::over("", text)
    }

    /// The same over what a scenario sets. A fault has a line only if it is the text's.
    pub fn over(scenario: &str, text: &str) -> Result<Parameters, Fault> {
        let mut base = Parameters::blank();
        base.take_all(&read(DEFAULTS)?)?;
        base.take_all(&read(scenario)?)?;
        let mut found = base.clone();
        let own = read(text)?;
        found.take_all(&own)?;
        match found.broken() {
            None => Ok(found),
            Some(rule) => Err(rule.fault(&base, &own)),
        }
    }

    fn take_all(&mut self, settings: &[Setting]) -> Result<(), Fault> {
        for setting in settings {
            if !self.take(setting)? {
                return wrong(setting, "not a parameter; parameters.toml has them all");
            }
        }
        Ok(())
    }

    /// Buffer units, which are cells, of so many bytes.
    pub(crate) fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.cell.max(1)) // also before the rules refuse a cell of 0
    }

    /// Picoseconds that so many bytes take on a line to a server.
    pub(crate) fn on_line(&self, bytes: u64) -> u64 {
        (bytes + self.overhead) * 8_000 / self.line_gbps
    }

    /// Picoseconds that a cell takes on a link between leaf and spine.
    pub(crate) fn on_link(&self) -> u64 {
        self.cell * 8_000 / self.link_gbps
    }

    /// Buffer units that still come once STOP is sent: what is on the cable in both directions, the
    /// frame that the server is sending, and the one that has just filled the pool.
    pub fn head_room(&self) -> u64 {
        let cable = (2 * self.server_cable).saturating_mul(self.line_gbps) / 8_000;
        self.units(cable) + 2 * self.units(self.frame_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails every run begins with an error, or the file has a number that nothing reads.
    #[test]
    fn the_defaults_are_complete_and_allowed() {
        let found = Parameters::read("").unwrap();
        assert_eq!(
            (found.cache_lines, found.block, found.resume),
            (128, 18, 10)
        );
        let mut blank = Parameters::blank();
        for setting in read(DEFAULTS).unwrap() {
            assert!(blank.take(&setting).unwrap(), "{}", setting.key);
        }
        assert_eq!(blank, found);
    }
}

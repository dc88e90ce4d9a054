//! Two programs: do they send the same?

use crate::explore::Explorer;
use crate::journey::{fields, Leg, RECIRCULATED, RESUBMITTED};
use crate::path::{Shared, Solver, Stop};
use crate::run::Target;
use crate::tna;
use crate::world::{Bounds, Entry};
use num_bigint::BigUint;
use p4_arch::v1model::{Call, Image};
use std::collections::BTreeMap;

/// Values with which two programs differ.
#[derive(Clone, Debug, Default)]
pub struct Counterexample {
    /// When the packet comes, in microseconds
    pub now: u64,
    pub port: u16,
    pub packet: Vec<u8>,
    pub entries: Vec<Entry>,
    /// Number and port
    pub sessions: Vec<(u16, u16)>,
    pub group: u16,
    /// Ports with their replication ids
    pub copies: Vec<(u16, u16)>,
    /// Register, leaf, index, value
    pub cells: Vec<(String, u64, BigUint)>,
    /// Cells of registers that may differ afterwards: register and index
    pub after: Vec<(String, u64)>,
    /// Cells of counters that have counted other packets: counter and index
    pub counts: Vec<(String, u64)>,
    /// What the two programs send by this model: port and bytes
    pub sent: [Vec<(u16, Vec<u8>)>; 2],
    /// The reference has come to the end, and the other program goes on for many passes more; what
    /// that one sends is not known.
    pub is_endless: bool,
    /// The programs differ only where what P4 leaves undefined is not zero; what they send then, noise
    /// has to show.
    pub is_undefined: bool,
    /// Passes through ingress in both
    pub passes: [u32; 2],
}

#[derive(Debug)]
pub enum Verdict {
    /// On all paths within the bounds
    Equal,
    Different(Box<Counterexample>),
    /// The text says why.
    Undecided(String),
}

/// What was done.
#[derive(Debug)]
pub struct Coverage {
    pub leg: Leg,
    pub entries: u32,
    pub passes: u32,
    /// All paths have been walked but those beyond a bound, and the programs agreed.
    pub is_whole: bool,
    /// Paths on which both programs came to the end
    pub paths: u64,
    /// Paths that were given up, by the bound that they went beyond
    pub beyond: BTreeMap<&'static str, u64>,
    pub questions: u64,
    pub terms: u64,
    pub left: u64,
}

impl Coverage {
    fn new(leg: Leg, bounds: &Bounds, passes: u32) -> Coverage {
        Coverage {
            leg,
            entries: bounds.entries,
            passes,
            is_whole: false,
            paths: 0,
            beyond: BTreeMap::new(),
            questions: 0,
            terms: 0,
            left: 0,
        }
    }
}

/// Compares the programs; `Err` if the student's does not fit the reference's entries.
///
/// First what they do with a packet that arrives. Then, if both keep the same fields, what they do with
/// one that comes back, with any values in these fields: if they agree on that, they agree on all
/// journeys. Else journeys are followed, pass by pass.
pub fn compare(
    both: [Target<'_>; 2],
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
) -> Result<(Verdict, Vec<Coverage>), String> {
    if let [Target::V1Model(_), Target::Tna(_)] | [Target::Tna(_), Target::V1Model(_)] = both {
        return Err("the programs are made for different architectures".into());
    }
    let solver = Shared::new(solver);
    let mut stages = Vec::new();
    let mut verdict = journeys(both, bounds, &solver, has_time, &mut stages)?;
    if matches!(verdict, Verdict::Equal) && bounds.has_notes() {
        verdict = tna::notes(both, bounds, &solver, has_time, &mut stages)?;
    }
    Ok((verdict, stages))
}

fn journeys(
    both: [Target<'_>; 2],
    bounds: &Bounds,
    solver: &Shared<'_>,
    has_time: &dyn Fn() -> bool,
    stages: &mut Vec<Coverage>,
) -> Result<Verdict, String> {
    let mut explorer = Explorer::new(both, bounds, Leg::Whole, solver, has_time)?;
    explorer.resume();
    if let Some(verdict) = stage(&mut explorer, Leg::First, bounds, 1, stages) {
        return Ok(verdict);
    }
    if !explorer.is_done() && explorer.inside == 0 {
        if let Some(legs) = legs(both) {
            let mut all_equal = true;
            for leg in legs {
                let mut later = Explorer::new(both, bounds, leg, solver, has_time)?;
                later.resume();
                let verdict = stage(&mut later, leg, bounds, 1, stages);
                all_equal = verdict.is_none() && later.is_sure() && later.inside == 0;
                if !all_equal {
                    break;
                }
            }
            explorer.resume();
            if all_equal {
                if let Err(stop) = explorer.forget_alike() {
                    return Ok(undecided(stop));
                }
            }
        }
    }
    for passes in 2..=bounds.passes {
        if explorer.is_done() {
            break;
        }
        if let Some(verdict) = stage(&mut explorer, Leg::Whole, bounds, passes, stages) {
            return Ok(verdict);
        }
    }
    let verdict = match (explorer.doubt, explorer.open()) {
        (Some(doubt), _) => Verdict::Undecided(doubt.into()),
        (None, 0) => Verdict::Equal,
        (None, open) => Verdict::Undecided(format!("{open} questions are open")),
    };
    Ok(verdict)
}

/// Follows the packet up to the end of pass `passes`; a verdict if that ends the comparison.
pub(crate) fn stage(
    explorer: &mut Explorer<'_, '_>,
    leg: Leg,
    bounds: &Bounds,
    passes: u32,
    stages: &mut Vec<Coverage>,
) -> Option<Verdict> {
    let mut coverage = Coverage::new(leg, bounds, passes);
    let found = explorer.run(passes, &mut coverage);
    let is_equal = matches!(found, Ok(None)) && explorer.is_sure();
    coverage.is_whole = is_equal && (leg == Leg::Whole || explorer.inside == 0);
    stages.push(coverage);
    match found {
        Ok(None) => None,
        Ok(Some(example)) => Some(Verdict::Different(Box::new(example))),
        Err(stop) => Some(undecided(stop)),
    }
}

fn undecided(stop: Stop) -> Verdict {
    Verdict::Undecided(match stop {
        Stop::Budget => "the time is up".into(),
        Stop::Unsupported(what) => format!("the prover does not follow {what}"),
        Stop::Bound(name) => format!("the bound of {name} was met"),
    })
}

fn legs(both: [Target<'_>; 2]) -> Option<Vec<Leg>> {
    match both {
        [Target::V1Model(reference), Target::V1Model(student)] => later_legs(reference, student),
        [Target::Tna(reference), Target::Tna(student)] => tna::later_legs(reference, student),
        _ => None,
    }
}

/// The legs of which all journeys consist behind their first pass, if both programs keep the same
/// fields and registers.
fn later_legs(reference: &Image, student: &Image) -> Option<Vec<Leg>> {
    let registers = |image: &Image| {
        let instances = image.program().instances.iter();
        let registers = instances.filter(|instance| &*instance.extern_type == "register");
        let described = registers.map(|own| (own.name.clone(), own.types.clone()));
        let mut all: Vec<_> = described.collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    if registers(reference) != registers(student) {
        return None;
    }
    let lists = |image: &Image| image.field_lists().collect::<Vec<u32>>();
    if lists(reference) != lists(student) {
        return None;
    }
    let names = |image: &Image, list: u32| -> Vec<(String, u32)> {
        let fields = fields(image, list).into_iter();
        fields.map(|field| (field.name, field.width)).collect()
    };
    let mut legs = Vec::new();
    for list in lists(reference) {
        if names(reference, list) != names(student, list) {
            return None;
        }
        let calls = [reference, student].into_iter().flat_map(Image::calls);
        for call in calls {
            let leg = match call {
                Call::Recirculate { .. } => Leg::Later(RECIRCULATED, list),
                Call::Resubmit { .. } => Leg::Later(RESUBMITTED, list),
                _ => continue,
            };
            if !legs.contains(&leg) {
                legs.push(leg);
            }
        }
    }
    Some(legs)
}

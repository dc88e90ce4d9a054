//! Which program runs in which pipe, and which parser of it at which ports.

use super::metadata::Metadata;
use super::ports::{local_port, pipe};
use super::stages::{egress, ingress, Around, Stages};
use crate::Port;
use p4_ir::ir::Program;

pub(super) const PIPES: usize = 4;
/// Parsers of a pipe, each for four ports
const PARSERS: usize = 18;

/// The segments of one pipeline, by the parsers of ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipeline {
    /// Packets with errors reach ingress.
    pub is_lenient: bool,
    arriving: [usize; PARSERS],
    resubmitted: [usize; PARSERS],
    leaving: [usize; PARSERS],
}

impl Pipeline {
    /// The pipeline that the package got as `param`; `part` counts those that differ.
    fn of(program: &Program, param: &str, part: usize, stages: &mut Stages) -> Option<Pipeline> {
        let block = |role: &str| {
            let role = format!("{param}.{role}");
            let at = program
                .blocks
                .iter()
                .position(|block| *block.role == *role)?;
            u32::try_from(at).ok()
        };
        // A parser that is not given is the first one.
        let parsers = |one: &str, several: &str| -> Option<[u32; PARSERS]> {
            let first = block(one).or_else(|| block(&format!("{several}.prsr0")))?;
            let own = |i| block(&format!("{several}.prsr{i}")).unwrap_or(first);
            Some(std::array::from_fn(own))
        };
        let key = match part {
            0 => String::new(),
            _ => format!("{param}."),
        };
        let metadata = Metadata::new(program, &key, part);
        let mut segments = |parsers: [u32; PARSERS], behind: [u32; 2], around: Around| {
            let mut made = [0; PARSERS];
            for (at, parser) in parsers.iter().enumerate() {
                let same = parsers[..at].iter().position(|other| other == parser);
                made[at] = match same {
                    Some(same) => made[same],
                    None => stages.add(program, [*parser, behind[0], behind[1]], &around),
                };
            }
            made
        };
        let in_parsers = parsers("ingress_parser", "ig_prsr")?;
        let in_blocks = [block("ingress")?, block("ingress_deparser")?];
        let out_parsers = parsers("egress_parser", "eg_prsr")?;
        let out_blocks = [block("egress")?, block("egress_deparser")?];
        Some(Pipeline {
            is_lenient: metadata.reads_parser_error,
            arriving: segments(in_parsers, in_blocks, ingress(&metadata, false)),
            resubmitted: segments(in_parsers, in_blocks, ingress(&metadata, true)),
            leaving: segments(out_parsers, out_blocks, egress(&metadata)),
        })
    }

    /// The segment of packets that come in at a port.
    pub fn ingress(&self, port: Port, was_resubmitted: bool) -> usize {
        match was_resubmitted {
            true => self.resubmitted[parser(port)],
            false => self.arriving[parser(port)],
        }
    }

    /// The segment of packets that leave by a port.
    pub fn egress(&self, port: Port) -> usize {
        self.leaving[parser(port)]
    }
}

fn parser(port: Port) -> usize {
    (usize::from(local_port(port)) / 4).min(PARSERS - 1)
}

/// The pipelines of a chip. One alone runs in all pipes; of several each has its own.
#[derive(Clone, Debug)]
pub(super) struct Pipes {
    pipelines: Vec<Pipeline>,
    names: Vec<String>,
    of: [Option<usize>; PIPES],
}

impl Pipes {
    /// `None` if the package has no pipelines.
    pub fn of(program: &Program, stages: &mut Stages) -> Option<Pipes> {
        let mut pipelines = Vec::new();
        let mut names = Vec::new();
        let mut of: Vec<Option<usize>> = Vec::new();
        for i in 0..PIPES {
            let param = format!("pipe{i}");
            let same = program.same.iter().find(|(other, _)| **other == *param);
            let number = |first: &str| first.strip_prefix("pipe")?.parse::<usize>().ok();
            of.push(match same {
                Some((_, first)) => number(first).and_then(|n| *of.get(n)?),
                None => Pipeline::of(program, &param, pipelines.len(), stages).map(|pipeline| {
                    pipelines.push(pipeline);
                    let name = program.inner.iter().find(|(role, _)| **role == *param);
                    names.push(name.map_or(param.clone(), |(_, name)| name.to_string()));
                    pipelines.len() - 1
                }),
            });
        }
        let alone = of.iter().flatten().count() == 1;
        let of = std::array::from_fn(|i| if alone { Some(0) } else { of[i] });
        (!pipelines.is_empty()).then_some(Pipes {
            pipelines,
            names,
            of,
        })
    }

    /// Chooses what runs in each pipe, by the names of pipelines; `None`: nothing.
    pub fn place(&mut self, names: &[Option<String>; PIPES]) -> Result<(), String> {
        let mut of = [None; PIPES];
        for (own, wanted) in of.iter_mut().zip(names) {
            let Some(wanted) = wanted else { continue };
            let found = self.names.iter().position(|name| name == wanted);
            let missing = || {
                format!(
                    "there is no pipeline {wanted}, but {}",
                    self.names.join(", ")
                )
            };
            *own = Some(found.ok_or_else(missing)?);
        }
        self.of = of;
        Ok(())
    }

    /// The pipelines that run, by name, each with its pipes.
    pub fn placed(&self) -> Vec<(String, Vec<u8>)> {
        let pipes = |pipeline: usize| {
            let pipes = (0..).zip(&self.of);
            let own = pipes.filter(move |(_, own)| **own == Some(pipeline));
            own.map(|(pipe, _)| pipe).collect::<Vec<u8>>()
        };
        let placed = self.names.iter().enumerate();
        let placed = placed.map(|(number, name)| (name.clone(), pipes(number)));
        placed.filter(|(_, pipes)| !pipes.is_empty()).collect()
    }

    /// Whether a pipeline runs in a pipe.
    pub fn runs_in(&self, pipe: usize) -> bool {
        self.of.get(pipe).is_some_and(Option::is_some)
    }

    /// What runs in the pipe of a port.
    pub fn at(&self, port: Port) -> Option<&Pipeline> {
        let own = *self.of.get(usize::from(pipe(port)))?;
        self.pipelines.get(own?)
    }
}

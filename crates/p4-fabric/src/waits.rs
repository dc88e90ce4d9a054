//! Who waits for whom: siblings, credits, buffers. Where this has a circle and nothing moves, it is
//! a deadlock.

use std::collections::BTreeMap;

use crate::arbiter::bits;
use crate::fabric::Fabric;
use crate::leaf::Leaf;
use crate::scenario::{PortId, PORTS};
use crate::slab::NONE;
use crate::state::{leaf_of, place_of, Voq};

/// Something that waits, or is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Voq(u32),
    /// The egress buffer of a port and lane, which gives credits
    Egress(PortId, u8),
    /// The ingress pool of a port and lane, which is full and has said STOP
    Pool(PortId, u8),
}

/// One waits for another because of a frame: its flow and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub who: Place,
    pub whom: Place,
    pub flow: u32,
    pub number: u64,
}

impl Fabric {
    /// All that wait for something but time to pass, once for each pair: for the first of its frames.
    pub fn waits(&self) -> Vec<Wait> {
        let mut found = BTreeMap::new();
        let mut keep = |wait: Wait| {
            let kept = found.entry((wait.who, wait.whom)).or_insert(wait);
            if (wait.number, wait.flow) < (kept.number, kept.flow) {
                *kept = wait;
            }
        };
        for leaf in &self.leaves {
            let waiting = leaf.voqs.iter().filter(|voq| leaf.is_held_back(voq));
            let waiting: Vec<_> = waiting.map(|voq| Place::Voq(voq.number)).collect();
            let leads = leaf.leads().into_iter();
            leads
                .filter(|wait| waiting.contains(&wait.who))
                .for_each(&mut keep);
        }
        for leaf in &self.leaves {
            self.waits_for_credits(leaf).into_iter().for_each(&mut keep);
        }
        for leaf in &self.leaves {
            self.holds_room(leaf).into_iter().for_each(&mut keep);
        }
        found.into_values().collect()
    }

    /// Every VOQ that has begun a frame which another VOQ has not, with that VOQ. Section 3.1: as long
    /// as VOQs send in the order of arrival, this has no circle.
    pub fn leads(&self) -> Vec<Wait> {
        self.leaves.iter().flat_map(Leaf::leads).collect()
    }

    /// VOQs whose requests are at an arbiter of a leaf.
    fn waits_for_credits(&self, leaf: &Leaf) -> Vec<Wait> {
        let asking = leaf.ends.iter().filter(|end| !end.requests.is_empty());
        let first = asking.filter_map(|end| {
            let near = &self.leaves[usize::from(end.leaf)];
            let voq = &near.voqs[end.voq as usize];
            // None if all that it has asked for was dropped meanwhile
            let header = voq.list.each(&near.headers);
            let header = *header.get(near.credited(voq).len())?;
            Some(near.wait(
                header,
                Place::Voq(voq.number),
                Place::Egress(end.to, end.vl),
            ))
        });
        first.collect()
    }

    /// Who has credits, buffers or memory that others wait for, and cannot go on.
    fn holds_room(&self, leaf: &Leaf) -> Vec<Wait> {
        let mut found = Vec::new();
        let far = |to: PortId| &self.leaves[leaf_of(to)].ports[place_of(to)];
        for voq in &leaf.voqs {
            let who = Place::Voq(voq.number);
            let end = Place::Egress(voq.to, voq.vl);
            let wanted = !far(voq.to).egress[usize::from(voq.vl)].arbiter.is_empty();
            let credited = leaf.credited(voq).into_iter().filter(|_| wanted);
            found.extend(credited.map(|header| leaf.wait(header, end, who)));
        }
        for (header, own) in leaf.headers.iter() {
            let frame = &leaf.frames[own.frame];
            let pool = &leaf.ports[place_of(frame.port)].pools[usize::from(frame.vl)];
            if pool.stopping && own.sent < frame.units {
                let pool = Place::Pool(frame.port, frame.vl);
                let voq = Place::Voq(leaf.voqs[own.voq as usize].number);
                found.push(leaf.wait(header, pool, voq));
            }
        }
        for (place, port) in leaf.ports.iter().enumerate() {
            let number = (usize::from(leaf.number) * PORTS + place) as PortId;
            for (vl, egress) in port.egress.iter().enumerate() {
                let (end, pool) = (
                    Place::Egress(number, vl as u8),
                    Place::Pool(number, vl as u8),
                );
                if egress.stopped && !egress.arbiter.is_empty() {
                    let stopped = egress.queue.iter().map(|arrival| Wait {
                        who: end,
                        whom: pool,
                        flow: leaf.nodes[arrival.target as usize].flow,
                        number: arrival.number,
                    });
                    found.extend(stopped);
                }
            }
        }
        found
    }

    /// From where to where a VOQ goes, and its lane.
    pub fn voq_of(&self, number: u32) -> Option<(PortId, PortId, u8)> {
        let own = self.voq_at(*self.voqs.get(number as usize)?);
        Some((own.from, own.to, own.vl))
    }
}

impl Leaf {
    fn wait(&self, header: u32, who: Place, whom: Place) -> Wait {
        let frame = &self.frames[self.headers[header].frame];
        Wait {
            who,
            whom,
            flow: frame.flow,
            number: frame.number,
        }
    }

    /// Whether a VOQ is suspended and does not have to end a frame.
    fn is_held_back(&self, voq: &Voq) -> bool {
        let first = voq.list.first;
        voq.suspended && (first == NONE || self.headers[first].sent == 0)
    }

    fn leads(&self) -> Vec<Wait> {
        let mut found = Vec::new();
        for (header, own) in self.headers.iter() {
            let frame = &self.frames[own.frame];
            if frame.begun >> own.place & 1 == 1 {
                continue;
            }
            let behind = Place::Voq(self.voqs[own.voq as usize].number);
            for place in bits(frame.begun.into()) {
                let ahead = self.nodes[frame.node as usize].voqs[usize::from(place)];
                let ahead = Place::Voq(self.voqs[ahead as usize].number);
                found.push(self.wait(header, ahead, behind));
            }
        }
        found
    }
}

/// A shortest circle among those that wait, each with the one that it waits for.
pub fn circle(waits: &[Wait]) -> Option<Vec<Wait>> {
    let mut onward: BTreeMap<Place, Vec<&Wait>> = BTreeMap::new();
    for wait in waits {
        onward.entry(wait.who).or_default().push(wait);
    }
    let starts = onward.keys();
    let circles = starts.filter_map(|start| shortest(*start, &onward));
    circles.min_by_key(Vec::len)
}

/// The shortest way from a place back to it, breadth first.
fn shortest(start: Place, onward: &BTreeMap<Place, Vec<&Wait>>) -> Option<Vec<Wait>> {
    let mut came: BTreeMap<Place, Wait> = BTreeMap::new();
    let mut next = std::collections::VecDeque::from([start]);
    while let Some(place) = next.pop_front() {
        for wait in onward.get(&place).into_iter().flatten() {
            if came.contains_key(&wait.whom) {
                continue;
            }
            came.insert(wait.whom, **wait);
            if wait.whom == start {
                return Some(back(start, &came));
            }
            next.push_back(wait.whom);
        }
    }
    None
}

fn back(start: Place, came: &BTreeMap<Place, Wait>) -> Vec<Wait> {
    let mut way = vec![came[&start]];
    while way[way.len() - 1].who != start {
        way.push(came[&way[way.len() - 1].who]);
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a deadlock is shown that there is not, or one is not explained.
    #[test]
    fn a_circle_is_found_where_there_is_one() {
        let wait = |(who, whom)| Wait {
            who: Place::Voq(who),
            whom: Place::Voq(whom),
            flow: 0,
            number: 0,
        };
        let open: Vec<_> = [(1, 2), (2, 3), (1, 3), (4, 1)].map(wait).into();
        assert_eq!(circle(&open), None);
        let closed: Vec<_> = [(1, 2), (2, 3), (3, 4), (4, 1), (3, 1)].map(wait).into();
        let found = circle(&closed).unwrap();
        assert_eq!(found, [(1, 2), (2, 3), (3, 1)].map(wait));
    }
}

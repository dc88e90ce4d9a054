//! Who waits for whom: siblings, credits, buffers. Where this has a circle and nothing moves, it is
//! a deadlock.

use std::collections::BTreeMap;

use crate::arbiter::bits;
use crate::fabric::Fabric;
use crate::scenario::PortId;
use crate::slab::NONE;

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
    /// All that wait for something but time to pass, once for each pair.
    pub fn waits(&self) -> Vec<Wait> {
        let mut found = BTreeMap::new();
        for wait in self.leads() {
            let Place::Voq(voq) = wait.who else { continue };
            let own = &self.voqs[voq as usize];
            let first = own.list.first;
            if own.suspended && (first == NONE || self.headers[first].sent == 0) {
                found.entry((wait.who, wait.whom)).or_insert(wait);
            }
        }
        for wait in self.waits_for_room() {
            found.entry((wait.who, wait.whom)).or_insert(wait);
        }
        found.into_values().collect()
    }

    /// Every VOQ that has begun a frame which another VOQ has not, with that VOQ. Section 3.1: as long
    /// as VOQs send in the order of arrival, this has no circle.
    pub fn leads(&self) -> Vec<Wait> {
        let mut found = Vec::new();
        for (_, header) in self.headers.iter() {
            let frame = &self.frames[header.frame];
            if frame.begun >> header.place & 1 == 1 {
                continue;
            }
            for place in bits(frame.begun.into()) {
                let ahead = self.nodes[frame.node as usize].voqs[usize::from(place)];
                found.push(Wait {
                    who: Place::Voq(ahead),
                    whom: Place::Voq(header.voq),
                    flow: frame.flow,
                    number: frame.number,
                });
            }
        }
        found
    }

    fn waits_for_room(&self) -> Vec<Wait> {
        let mut found = Vec::new();
        for (number, voq) in self.voqs.iter().enumerate() {
            if voq.waiting > 0 {
                let frame = &self.frames[self.headers[voq.first_open].frame];
                found.push(Wait {
                    who: Place::Voq(number as u32),
                    whom: Place::Egress(voq.to, voq.vl),
                    flow: frame.flow,
                    number: frame.number,
                });
            }
        }
        for (_, header) in self.headers.iter() {
            let frame = &self.frames[header.frame];
            let voq = &self.voqs[header.voq as usize];
            let wait = |who, whom| Wait {
                who,
                whom,
                flow: frame.flow,
                number: frame.number,
            };
            let unsent = header.sent < frame.units && !header.done;
            let egress = &self.ports[voq.to as usize].egress[usize::from(voq.vl)];
            let end = Place::Egress(voq.to, voq.vl);
            if header.granted && !header.left && !egress.arbiter.is_empty() {
                if unsent {
                    found.push(wait(end, Place::Voq(header.voq)));
                } else if egress.stopped {
                    found.push(wait(end, Place::Pool(voq.to, voq.vl)));
                }
            }
            let pool = &self.ports[frame.port as usize].pools[usize::from(frame.vl)];
            if pool.stopping && unsent {
                let pool = Place::Pool(frame.port, frame.vl);
                found.push(wait(pool, Place::Voq(header.voq)));
            }
        }
        found
    }

    /// From where to where a VOQ goes, and its lane.
    pub fn voq_of(&self, number: u32) -> Option<(PortId, PortId, u8)> {
        let own = self.voqs.get(number as usize)?;
        Some((own.from, own.to, own.vl))
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
